"""What stands in a context for a text that was stored: a card, a digest or an outline within a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_offload.models import StoreResult
from mcp_offload.service.render import outline_text, store_text

if TYPE_CHECKING:
    from mcp_offload.service.facade import OffloadService


def stored_text(service: OffloadService, stored: StoreResult, max_tokens: int) -> str:
    """What a stored text is, told in at most ``max_tokens`` o200k tokens or in one line, whichever is more.

    Of a log or test run this is its digest, of a build artifact or rows its card, of source its outline,
    and of anything else its handle and its lines; never a summary. The first line begins with the handle.

    Raises:
        OffloadError: it cannot be read any more.
    """
    if stored.binary or stored.digest is not None or stored.kind in ("l", "t"):
        return _fitting(service, store_text(stored), stored.handle, max_tokens)
    outline = service.outline(stored.handle, max_tokens=max_tokens)
    return _fitting(service, outline_text(outline), stored.handle, max_tokens)


def stored_line(stored: StoreResult) -> str:
    """The handle, name and size of a stored text, on one line."""
    return store_text(stored).split("\n", 1)[0]


def _fitting(service: OffloadService, text: str, handle: str, max_tokens: int) -> str:
    """The text, or as many of its lines as fit and where the rest is."""
    if service.count_tokens(text) <= max_tokens:
        return text
    lines = text.split("\n")
    while len(lines) > 1 and service.count_tokens("\n".join(lines)) > max_tokens:
        lines = lines[: max(1, len(lines) * 3 // 4)]
    return "\n".join([*lines, f"... more: outline {handle}"])
