"""Every request is answered once, whoever answers first."""

from __future__ import annotations

import json
import logging
import os

import pytest

from mcp_offload.wire.link import FULL_BYTES, Inbox, Link
from mcp_offload.wire.messages import Message, encode, error_answer, result_answer
from mcp_offload.wire.outbox import Outbox


class _Wire:
    """A link whose lines can be read back."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        self.link = Link(Outbox(self.write_fd, lambda: None), lambda: None)
        self.link.outbox.start()

    def sent(self) -> list[object]:
        assert self.link.outbox.drain(5)
        os.close(self.write_fd)
        with os.fdopen(self.read_fd, "rb") as lines:
            return [json.loads(line) for line in lines]


def _request(number: int, method: str = "tools/list", size_bytes: int = 1) -> Message:
    body: dict[str, object] = {"jsonrpc": "2.0", "id": number, "method": method}
    return Message(body, method, number, b"x" * size_bytes)


def test_the_second_answer_to_an_early_answered_request_is_dropped() -> None:
    wire = _Wire()
    wire.link.answer_early(1, result_answer(1, {"early": True}))
    wire.link.pass_on(_request(1))
    wire.link.deliver(1, encode(result_answer(1, {"late": True})), error=False)
    wire.link.deliver(2, encode(result_answer(2, {})), error=False)
    assert wire.sent() == [result_answer(1, {"early": True}), result_answer(2, {})]


def test_an_id_used_again_is_answered_again() -> None:
    wire = _Wire()
    wire.link.answer_early(1, result_answer(1, {"n": 1}))
    wire.link.pass_on(_request(1))
    wire.link.deliver(1, encode(result_answer(1, {"n": 1})), error=False)
    wire.link.pass_on(_request(1))
    wire.link.deliver(1, encode(result_answer(1, {"n": 2})), error=False)
    assert wire.sent() == [result_answer(1, {"n": 1}), result_answer(1, {"n": 2})]


def test_a_refusal_of_what_was_answered_early_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    wire = _Wire()
    wire.link.answer_early(1, result_answer(1, {}))
    wire.link.pass_on(_request(1, "initialize"))
    with caplog.at_level(logging.ERROR):
        wire.link.deliver(1, encode(error_answer(1, -32602, "no such thing")), error=True)
    assert wire.sent() == [result_answer(1, {})]
    assert "initialize" in caplog.text
    assert "no such thing" in caplog.text


def test_a_cancel_reaches_the_sdk_only_for_what_is_unanswered() -> None:
    wire = _Wire()
    wire.link.answer_early(1, result_answer(1, {}))
    wire.link.pass_on(_request(1))
    wire.link.pass_on(_request(2))
    assert not wire.link.cancel(1)
    assert wire.link.cancel(2)
    assert wire.link.close() == []
    wire.sent()


def test_closing_names_what_still_waits_and_lets_nothing_through() -> None:
    wire = _Wire()
    wire.link.answer_early(1, result_answer(1, {}))
    for number in (1, 2, 3):
        wire.link.pass_on(_request(number))
    wire.link.deliver(2, encode(result_answer(2, {})), error=False)
    assert wire.link.close() == [3]
    wire.link.deliver(3, encode(result_answer(3, {})), error=False)
    assert wire.sent() == [result_answer(1, {}), result_answer(2, {})]


def test_the_inbox_is_full_by_bytes_and_says_when_there_is_room() -> None:
    rooms: list[bool] = []
    inbox = Inbox(lambda: rooms.append(True))
    for number in range(5):
        inbox.put(_request(number, size_bytes=FULL_BYTES // 4))
    assert inbox.full
    taken = [inbox.take(), inbox.take()]
    assert not inbox.full
    assert rooms == []
    taken += [inbox.take(), inbox.take(), inbox.take()]
    assert rooms == [True]
    assert [message.request_id for message in taken if message] == [0, 1, 2, 3, 4]
    assert inbox.take() is None


def test_whoever_listens_is_woken_by_messages_and_by_the_end() -> None:
    woken: list[str] = []
    inbox = Inbox(lambda: None)
    inbox.put(_request(1))
    inbox.listen(lambda: woken.append("x"))
    inbox.put(_request(2))
    inbox.close()
    assert woken == ["x", "x"]
    assert inbox.closed
