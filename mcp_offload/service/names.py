"""How the ledger calls a session that somebody named. Loads nothing: a server starts with it."""

from __future__ import annotations

from mcp_offload.errors import InvalidArgumentError

NAMED = "session:"
MOST_NAME_CHARS = 200


def session_name(name: str) -> str:
    """The session of a name that a client, an operator or the gateway gave.

    Raises:
        InvalidArgumentError: it is empty, too long or not printable.
    """
    if not (0 < len(name) <= MOST_NAME_CHARS and name.isprintable()):
        raise InvalidArgumentError(f"A session's name has 1 to {MOST_NAME_CHARS} printable characters.")
    return f"{NAMED}{name}"
