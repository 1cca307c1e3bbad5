"""The table of what the gate costs, and the client that measures it."""

from __future__ import annotations

import asyncio
import socket

import pytest

from serving.bench.fake import FakeEngine, event
from serving.bench.load import stream
from serving.bench.overhead import MARKS, Row, between_marks, table
from tests.unit.serving.driving import ask, chat, run
from tests.unit.serving.gateway.test_forward import listening

CHAT = "/v1/chat/completions"


def test_a_table_has_a_line_a_row() -> None:
    made = table([Row("added", "", "1 ms", "2 ms", "<= 2 ms"), Row("rate", "9", "8", "7")])
    assert made.splitlines()[2:] == ["| added |  | 1 ms | 2 ms | <= 2 ms |", "| rate | 9 | 8 | 7 |  |"]


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = f"# Before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n"
    assert between_marks(page, "new\n") == f"# Before\n{MARKS[0]}\nnew\n{MARKS[1]}\nafter\n"
    with pytest.raises(ValueError, match="the page has no"):
        between_marks("# Before\n", "new\n")


def test_every_event_of_every_stream_is_timed() -> None:
    async def work() -> None:
        async with listening(FakeEngine(100, 16)) as url:
            told = await stream(url, CHAT, [chat(output=7) for _ in range(5)])
            assert len(told.delays) == 35
            assert all(0 <= delay <= told.seconds for delay in told.delays)

    run(work())


def test_a_stream_that_breaks_off_is_an_error() -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + event(1))
        writer.close()
        await writer.wait_closed()

    async def work() -> None:
        server = await asyncio.start_server(broken, "127.0.0.1", 0, family=socket.AF_INET)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            with pytest.raises(ConnectionError, match="ended early"):
                await stream(url, CHAT, [chat()])

    run(work())


def test_the_engine_writes_what_was_asked_and_says_so() -> None:
    async def work() -> None:
        words: list[str] = []
        answer = await ask(FakeEngine(100, 16, words.append), CHAT, chat(output=9))
        assert answer.json()["usage"]["completion_tokens"] == 9
        assert words == ["began", "served"]

    run(work())
