"""Who sent a request: which agent, of which tenant and class."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from serving.compaction.dialects import Dialect

SESSION_HEADER: Final = "x-mcp-offload-session"
CLASS_HEADER: Final = "x-mcp-offload-class"
PRIORITY_HEADER: Final = "x-mcp-offload-priority"

SESSION_HEADERS: Final[tuple[tuple[str, str], ...]] = (
    (SESSION_HEADER, "header"),
    ("x-claude-code-session-id", "claude-code"),
    ("thread-id", "codex"),
    ("session-id", "codex"),
    ("session_id", "codex"),
    ("conversation_id", "codex"),
    ("x-opencode-session", "opencode"),
    ("x-session-affinity", "opencode"),
    ("x-session-id", "generic"),
    ("x-dynamo-session-id", "dynamo"),
)
"""Headers that name an agent's conversation, most certain first, and whose they are. Codex names the
session too, of which each agent's thread is a part.

Source: requests of Claude Code 2.1, Codex 0.171 and opencode 1.18 as they came; older names are kept.
"""

AGENTS: Final[tuple[tuple[str, str], ...]] = (
    ("claude-cli", "claude-code"),
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("opencode", "opencode"),
    ("cursor", "cursor"),
    ("qwencode", "qwen-code"),
    ("crewai", "crewai"),
    ("langchain", "langchain"),
    ("pydantic-ai", "pydantic-ai"),
    ("litellm", "litellm"),
    ("openai/python", "openai-python"),
    ("openai/js", "openai-js"),
    ("anthropic/python", "anthropic-python"),
)
"""What user agents contain, in lower case, and the agent class it stands for."""

_COPILOT_HEADER: Final = "x-initiator"
"""Sent by GitHub's Copilot CLI, whose user agent is the OpenAI SDK's."""
_SETUP_REPLY: Final = "Got it. Thanks for the context!"
"""What Qwen Code has the model say to a first message that tells of the folder, the same for every agent."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The sender of a request; ``source`` says how the session was known."""

    session_id: str
    source: str
    agent_class: str
    tenant: str
    priority: int = 0


def identify(
    dialect: Dialect, headers: Mapping[str, str], body: Mapping[str, Any], tenant: str = ""
) -> Identity:
    """Find out who sent a request.

    A header that names the conversation comes first, then what clients put into the body, then a hash of
    what stays the same from turn to turn: the model, the instructions and the first message of the user.

    Args:
        dialect: of the request.
        headers: by lower-case name.
        body: as decoded.
        tenant: from the key that the request was sent with.
    """
    session, source = _from_headers(headers) or _from_body(body) or _from_prefix(dialect, body)
    agent_class = headers.get(CLASS_HEADER) or _agent_class(headers, source)
    return Identity(f"{tenant}/{session}", source, agent_class, tenant, _priority(headers))


def _from_headers(headers: Mapping[str, str]) -> tuple[str, str] | None:
    for name, source in SESSION_HEADERS:
        value = headers.get(name)
        if value:
            agent = headers.get("x-claude-code-agent-id") if source == "claude-code" else None
            return (f"{value}:{agent}" if agent else value), source
    return None


def _from_body(body: Mapping[str, Any]) -> tuple[str, str] | None:
    key = body.get("prompt_cache_key")
    if isinstance(key, str) and key:
        return key, "prompt_cache_key"
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        user = cast("dict[str, Any]", metadata).get("user_id")
        if isinstance(user, str) and "session" in user:
            return _claude_session(user), "claude-code"
    conversation = body.get("conversation")
    if isinstance(conversation, str) and conversation:
        return conversation, "conversation"
    return None


def _claude_session(user_id: str) -> str:
    """Claude Code's user id holds its session, as JSON or after ``_session_``."""
    if user_id.startswith("{"):
        try:
            told = json.loads(user_id)
        except ValueError:
            return user_id
        return str(told.get("session_id", user_id))
    return user_id.rpartition("_session_")[2]


def _from_prefix(dialect: Dialect, body: Mapping[str, Any]) -> tuple[str, str]:
    kept: list[object] = [body.get("model")]
    if dialect is Dialect.COMPLETIONS:
        kept.append(str(body.get("prompt", ""))[:1024])
    elif dialect is Dialect.RESPONSES and isinstance(body.get("input"), str):
        kept += [body.get("instructions"), body.get("input")]
    else:
        kept += [body.get("system"), body.get("instructions")]
        listed = body.get("input") if dialect is Dialect.RESPONSES else body.get("messages")
        messages = cast("list[Any]", listed) if isinstance(listed, list) else []
        kept += _opening(messages)
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest(), "prefix"


def _opening(messages: list[Any]) -> list[Any]:
    opening: list[Any] = []
    for message in messages:
        opening.append(message)
        if _is_by_user(message) and not _is_setup(messages, len(opening)):
            break
    return opening


def _is_by_user(message: Any) -> bool:
    return isinstance(message, dict) and cast("dict[str, Any]", message).get("role") == "user"


def _is_setup(messages: list[Any], following: int) -> bool:
    """Whether the message before this place tells of the surroundings and asks for nothing yet."""
    reply = messages[following] if following < len(messages) else None
    return isinstance(reply, dict) and cast("dict[str, Any]", reply).get("content") == _SETUP_REPLY


def _agent_class(headers: Mapping[str, str], source: str) -> str:
    if _COPILOT_HEADER in headers:
        return "copilot"
    lowered = headers.get("user-agent", "").lower()
    for part, name in AGENTS:
        if part in lowered:
            return name
    return source if source in {name for _, name in AGENTS} else ""


def _priority(headers: Mapping[str, str]) -> int:
    try:
        return max(-10, min(10, int(headers.get(PRIORITY_HEADER, "0"))))
    except ValueError:
        return 0
