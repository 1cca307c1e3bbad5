"""The error for a prompt that is over the context lease, in each API's own shape; pure."""

from __future__ import annotations

import json

from serving.compaction.dialects import Body, Dialect


def overrun_body(
    dialect: Dialect, message: str, *, kind: str = "context_length_exceeded", status: int = 400
) -> bytes:
    """An error as the API itself has it where a context is too long, so that clients know it.

    Anthropic's says so in its message alone; OpenAI's has a code.

    Source: https://docs.anthropic.com/en/api/errors, https://platform.openai.com/docs/guides/error-codes,
    and what Claude Code 2.1 and Codex 0.171 look for.
    """
    shape: Body
    if dialect is Dialect.MESSAGES:
        anthropic = "invalid_request_error" if status == 400 else kind
        shape = {"type": "error", "error": {"type": anthropic, "message": message}}
    else:
        param = "input" if dialect is Dialect.RESPONSES else "messages"
        shape = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": kind}}
    return json.dumps(shape, separators=(",", ":")).encode()
