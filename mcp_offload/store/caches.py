"""What is derived from content and kept beside it: outlines and token counts, by the view's hash."""

from __future__ import annotations

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.store.sql import Database

_HASH_CHARS = 64


def outline_get(db: Database, key: str) -> bytes | None:
    """The payload kept under a key."""
    row = db.row("SELECT payload FROM outline WHERE key = ?", key)
    return None if row is None else row[0]


def outline_put(db: Database, key: str, payload: bytes, names: str, now: float) -> None:
    """Keep a payload; a key starts with the hash of the view.

    Raises:
        InvalidArgumentError: it does not.
    """
    view_blake3 = key[:_HASH_CHARS]
    if len(view_blake3) != _HASH_CHARS or set(view_blake3) - set("0123456789abcdef"):
        raise InvalidArgumentError("The key of an outline starts with the hex BLAKE3 hash of its view.")
    db.run(
        "INSERT OR REPLACE INTO outline (key, view_blake3, payload, names, created_at)"
        " VALUES (?, ?, ?, ?, ?)",
        key,
        view_blake3,
        payload,
        names,
        now,
    )


def tokens_get(db: Database, blake3: str) -> int | None:
    """The count kept for a hash."""
    row = db.row("SELECT tokens FROM token_count WHERE blake3 = ?", blake3)
    return None if row is None else int(row[0])


def tokens_put(db: Database, blake3: str, tokens: int, now: float) -> None:
    """Keep a count."""
    db.run("INSERT OR REPLACE INTO token_count VALUES (?, ?, ?)", blake3, tokens, now)
