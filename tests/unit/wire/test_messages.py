"""Each line is a message, an answer, or nothing; none is dropped that asked something."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.wire.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Message,
    Rejected,
    encode,
    read_line,
)


def _error(line: bytes) -> tuple[object, object]:
    """The id and the code of the error that answers ``line``."""
    judged = read_line(line)
    assert isinstance(judged, Rejected)
    assert judged.answer is not None
    error = judged.answer["error"]
    assert isinstance(error, dict)
    return judged.answer["id"], error["code"]


@pytest.mark.parametrize("line", [b"", b"\r", b"  \t ", b"\xef\xbb\xbf"])
def test_blank_lines_are_nothing(line: bytes) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1} trailing',
        b"[" * 100_000,
        b"9" * 5_000,
        b"Content-Length: 12",
    ],
)
def test_what_is_not_json_is_a_parse_error(line: bytes) -> None:
    assert _error(line) == (None, PARSE_ERROR)


@pytest.mark.parametrize(
    ("line", "answer_id", "code"),
    [
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST),
        (b"[]", None, INVALID_REQUEST),
        (b'"ping"', None, INVALID_REQUEST),
        (b"null", None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, INVALID_REQUEST),
        (b'{"id":7,"method":"ping"}', 7, INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', "a", INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7}', 7, INVALID_REQUEST),
        (b"{}", None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 7, INVALID_PARAMS),
    ],
)
def test_what_is_json_but_no_request_is_refused_with_its_id(
    line: bytes, answer_id: object, code: int
) -> None:
    assert _error(line) == (answer_id, code)


def test_a_malformed_notification_is_not_answered() -> None:
    judged = read_line(b'{"jsonrpc":"2.0","method":"notifications/x","params":[1]}')
    assert isinstance(judged, Rejected)
    assert judged.answer is None


@pytest.mark.parametrize(
    ("line", "method", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":0,"method":"ping"}', "ping", 0),
        (b'{"jsonrpc":"2.0","id":"","method":"ping","params":null}', "ping", ""),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":"x","method":"ping"}\r', "ping", "x"),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', "notifications/initialized", None),
        (b'{"jsonrpc":"2.0","id":3,"result":{}}', None, None),
        (b'{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}', None, None),
    ],
)
def test_messages_are_recognised(line: bytes, method: str | None, request_id: object) -> None:
    judged = read_line(line)
    assert isinstance(judged, Message)
    assert (judged.method, judged.request_id) == (method, request_id)


def test_lone_surrogates_and_bad_bytes_become_replacement_characters() -> None:
    judged = read_line(
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\\ud83d","b":"\xff","c":"\\ud83d\\ude00"}}'
    )
    assert isinstance(judged, Message)
    assert judged.params == {"a": "\ufffd", "b": "\ufffd", "c": "😀"}


@given(st.binary())
def test_no_line_raises(line: bytes) -> None:
    judged = read_line(line)
    assert judged is None or isinstance(judged, Message | Rejected)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_what_is_encoded_is_one_line_and_reads_back(value: object) -> None:
    line = encode(value)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == value


def test_what_is_not_json_is_not_encoded() -> None:
    for value in (float("nan"), {1, 2}, "\ud800"):
        with pytest.raises((ValueError, TypeError)):
            encode(value)
