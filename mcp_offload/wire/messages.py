"""One line of JSON-RPC, judged: a message to pass on, an answer to give at once, or nothing.

The SDK drops a line it cannot read without a word; here every line that asks something gets an
answer. Standard library only.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple, NoReturn, cast

from mcp_offload.wire.scrub import replace_surrogates

# Source: JSON-RPC 2.0, section 5.1.
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
# Source: the implementation-defined band; the SDK answers so what is in flight when it shuts down.
CONNECTION_CLOSED: Final = -32000

RequestId = int | str
JsonObject = dict[str, object]

_BOM: Final = b"\xef\xbb\xbf"
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Message(NamedTuple):
    """A well-formed request, notification or response.

    Attributes:
        body: the parsed object.
        method: None for a response.
        request_id: None for a notification or a response.
        line: what it came in, without its line end.
    """

    body: JsonObject
    method: str | None
    request_id: RequestId | None
    line: bytes

    @property
    def size_bytes(self) -> int:
        """Of the line, for back-pressure."""
        return len(self.line)

    @property
    def params(self) -> JsonObject:
        """The parameters; empty where absent or null."""
        return cast("JsonObject", self.body.get("params") or {})


class Rejected(NamedTuple):
    """A line that goes no further. ``answer`` is the error to send, None where nobody asked."""

    reason: str
    answer: JsonObject | None


def error_answer(request_id: RequestId | None, code: int, text: str) -> JsonObject:
    """Build an error response; ``request_id`` None = it could not be determined."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def result_answer(request_id: RequestId, result: object) -> JsonObject:
    """Build a success response."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def encode(message: object) -> bytes:
    """One line of UTF-8 JSON with its line feed.

    Raises:
        ValueError, TypeError: it is not JSON, or holds a lone surrogate.
    """
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


def as_object(value: object) -> JsonObject | None:
    """The value as a JSON object, or None where it is none."""
    return cast("JsonObject", value) if isinstance(value, dict) else None


def as_request_id(value: object) -> RequestId | None:
    """The value as a request id (an integer or a string), or None where it is none."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _rejected(request_id: RequestId | None, code: int, text: str) -> Rejected:
    return Rejected(text, error_answer(request_id, code, text))


def read_line(line: bytes) -> Message | Rejected | None:
    """Judge one line, with or without its line end; None where it is blank.

    Never raises. A lone surrogate in a string becomes U+FFFD, as do bytes that are not UTF-8.
    """
    line = line.removeprefix(_BOM).strip(b" \t\r\n")
    if not line:
        return None
    try:
        value: object = json.loads(line.decode("utf-8", "replace"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _rejected(None, PARSE_ERROR, "Parse error: this line is not JSON")
    if _SURROGATE_ESCAPE.search(line) is not None:
        value = replace_surrogates(value)
    if isinstance(value, list):
        return _rejected(None, INVALID_REQUEST, "Invalid request: batches are not supported; send one a line")
    body = as_object(value)
    if body is None:
        return _rejected(None, INVALID_REQUEST, "Invalid request: a message is a JSON object")
    return _judge(body, line)


def _judge(body: JsonObject, line: bytes) -> Message | Rejected:
    request_id = as_request_id(body.get("id"))
    if "method" not in body:
        return _judge_response(body, request_id, line)
    if body.get("jsonrpc") != "2.0":
        return _rejected(request_id, INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0"')
    if "id" in body and request_id is None:
        return _rejected(None, INVALID_REQUEST, 'Invalid request: "id" must be a string or an integer')
    method = body["method"]
    if not isinstance(method, str):
        return _rejected(request_id, INVALID_REQUEST, 'Invalid request: "method" must be a string')
    if not isinstance(body.get("params"), dict | None):
        reason = 'Invalid params: "params" must be an object'
        return _rejected(request_id, INVALID_PARAMS, reason) if "id" in body else Rejected(reason, None)
    return Message(body, method, request_id, line)


def _judge_response(body: JsonObject, request_id: RequestId | None, line: bytes) -> Message | Rejected:
    if "result" in body or "error" in body:
        return Message(body, None, None, line)
    return _rejected(request_id, INVALID_REQUEST, 'Invalid request: "method" is missing')
