"""What is answered in a wrapped server's place. Pure."""

from __future__ import annotations

import json
from typing import Final

from mcp_offload.wire.messages import (
    CONNECTION_CLOSED,
    JsonObject,
    RequestId,
    encode,
    error_answer,
    result_answer,
)
from mcp_offload.wire.scrub import scrub_text

WORDS_SHOWN: Final = 400
ENVELOPE_RESULT: Final = {"resultType": "complete"}
"""Source: MCP specification 2026-07-28, where every result says whether it is one."""


def tool_error(text: str, *, enveloped: bool) -> JsonObject:
    """The result of a call that failed, for the model to read."""
    result: JsonObject = {"content": [{"type": "text", "text": scrub_text(text)}], "isError": True}
    return {**result, **ENVELOPE_RESULT} if enveloped else result


def result_line(request_id: RequestId, result: JsonObject) -> bytes:
    """A result as one line."""
    return line_of(result_answer(request_id, result))


def failure_line(request_id: RequestId, text: str) -> bytes:
    """A protocol error as one line."""
    return line_of(error_answer(request_id, CONNECTION_CLOSED, scrub_text(text)))


def line_of(message: JsonObject) -> bytes:
    """One line of JSON; what is not UTF-8 leaves as escapes."""
    try:
        return encode(message)
    except ValueError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def ended_text(server: str, reason: str, words: str) -> str:
    """What happened to a call whose server ended."""
    return (
        f"{server} {reason} during this call, so whether it did anything is unknown. "
        f"The next call tries it again.{_words(words)}"
    )


def unanswered_text(server: str, reason: str) -> str:
    """Why a call has no answer although its server is there."""
    return f"{server} did not answer this call, so whether it did anything is unknown: {reason}"


def not_started_text(server: str, reason: str, words: str) -> str:
    """Why a request could not be passed on."""
    return f"{server} is not there: it {reason}.{_words(words)}"


def resting_text(server: str, wait_seconds: float, reason: str, words: str) -> str:
    """Why a server that keeps ending is left alone for a while."""
    return (
        f"{server} {reason} again and again; it is not started for the next {wait_seconds:.0f} s. "
        f"Do without it, or have its operator look.{_words(words)}"
    )


def silent_text(server: str, seconds: float) -> str:
    """Why a call was given up."""
    return (
        f"{server} gave no sign of life for {seconds:g} s, so this call was cancelled; whether it did "
        "anything is unknown. Ask for less, or do without it."
    )


def oversized_text(server: str, size_bytes: int, most_bytes: int) -> str:
    """Why an answer was dropped."""
    return (
        f"{server} answered with {size_bytes} bytes in one message; more than {most_bytes} are not taken, "
        "so nothing of it is kept. Ask for less at a time."
    )


def _words(words: str) -> str:
    """The last lines of what it printed, whole where they fit."""
    if not words:
        return ""
    shown = words[-WORDS_SHOWN:]
    if len(words) > WORDS_SHOWN and "\n" in shown:
        shown = shown.partition("\n")[2]
    return f" It printed last:\n{shown}"
