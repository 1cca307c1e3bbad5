"""What the three provider dialects call things: limits, usage, errors; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

Body = dict[str, Any]
"""A request or event as JSON decoded it."""


class Dialect(StrEnum):
    """A family of request and answer shapes.

    Source: https://platform.openai.com/docs/api-reference, https://docs.anthropic.com/en/api/messages and
    vLLM's ``entrypoints/{openai,anthropic}``, which serves all four.
    """

    CHAT = "chat"
    COMPLETIONS = "completions"
    RESPONSES = "responses"
    MESSAGES = "messages"


GENERATING: Final[Mapping[str, Dialect]] = {
    "/v1/chat/completions": Dialect.CHAT,
    "/v1/completions": Dialect.COMPLETIONS,
    "/v1/responses": Dialect.RESPONSES,
    "/v1/messages": Dialect.MESSAGES,
}
"""The routes whose requests take KV cache while they write, by path."""

UNLEASED: Final[frozenset[str]] = frozenset(
    {
        "/v1/chat/completions/batch",
        "/inference/v1/generate",
        "/generative_scoring",
        "/v1/systemone",
        "/v1/audio/transcriptions",
        "/v1/audio/translations",
        "/invocations",
    }
)
"""Routes that take KV cache too but whose need is not computed here.

Source: vLLM 0.32, ``@router.post`` throughout ``entrypoints/``."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer as the engine counted them; None is not told."""

    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None

    def updated(self, later: Usage) -> Usage:
        """This with what a later event tells."""
        return Usage(
            _later(self.prompt_tokens, later.prompt_tokens),
            _later(self.output_tokens, later.output_tokens),
            _later(self.cached_tokens, later.cached_tokens),
        )


def output_limit(dialect: Dialect, body: Mapping[str, Any]) -> int | None:
    """The tokens that the request lets the model write; None where it sets no limit."""
    if dialect is Dialect.CHAT:
        limit = _whole(body.get("max_completion_tokens"))
        return _whole(body.get("max_tokens")) if limit is None else limit
    if dialect is Dialect.RESPONSES:
        return _whole(body.get("max_output_tokens"))
    return _whole(body.get("max_tokens"))


def limit_output(dialect: Dialect, body: Body, tokens: int) -> Body:
    """The same request with its limit set to ``tokens``; the one given is not changed."""
    changed = dict(body)
    if dialect is Dialect.RESPONSES:
        changed["max_output_tokens"] = tokens
    elif dialect is Dialect.CHAT and body.get("max_completion_tokens") is not None:
        changed["max_completion_tokens"] = tokens
    else:
        changed["max_tokens"] = tokens
    return changed


def sequences(body: Mapping[str, Any]) -> int:
    """How many answers the engine writes at once for one prompt."""
    return max(1, _whole(body.get("n")) or 1, _whole(body.get("best_of")) or 1)


def usage_of(event: Mapping[str, Any]) -> Usage | None:
    """What an event or a whole answer says of tokens, in any dialect; None where it says nothing.

    An Anthropic stream tells the prompt in its first event and the output in its last.
    """
    for holder in (event, event.get("response"), event.get("message")):
        if isinstance(holder, dict):
            usage = cast("Body", holder).get("usage")
            if isinstance(usage, dict):
                return _usage(cast("Body", usage))
    return None


def error_body(dialect: Dialect | None, status: int, kind: str, message: str) -> bytes:
    """An error in the dialect's own shape; OpenAI's where the dialect is not known."""
    shape: Body
    if dialect is Dialect.MESSAGES:
        shape = {"type": "error", "error": {"type": kind, "message": message}}
    else:
        shape = {"error": {"message": message, "type": kind, "param": None, "code": status}}
    return json.dumps(shape, separators=(",", ":")).encode()


def error_event(dialect: Dialect, status: int, kind: str, message: str) -> bytes:
    """An error for a stream that has begun."""
    body = error_body(dialect, status, kind, message)
    if dialect in {Dialect.MESSAGES, Dialect.RESPONSES}:
        return b"event: error\ndata: " + body + b"\n\n"
    return b"data: " + body + b"\n\ndata: [DONE]\n\n"


def _usage(usage: Body) -> Usage:
    prompt = _first(usage, "prompt_tokens", "input_tokens")
    output = _first(usage, "completion_tokens", "output_tokens")
    cached: int | None = None
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = usage.get(name)
        if isinstance(details, dict):
            cached = _whole(cast("Body", details).get("cached_tokens"))
    if cached is None:
        cached = _whole(usage.get("cache_read_input_tokens"))
    return Usage(prompt, output, cached)


def _first(values: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        found = _whole(values.get(name))
        if found is not None:
            return found
    return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _later(before: int | None, after: int | None) -> int | None:
    return before if after is None else after
