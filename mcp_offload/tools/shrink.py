"""Smaller forms of what was asked for, as a lease fills: heads and outlines, then cards.

Every form has the handle of the whole, and one sentence at the end says how to narrow. What is short
comes in full in every form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mcp_offload.errors import OffloadError
from mcp_offload.lease import Grant, Terms
from mcp_offload.models import (
    DiffResult,
    LeaseResult,
    MapResult,
    OutlineResult,
    ReadResult,
    Rest,
    SearchResult,
    SymbolHits,
)
from mcp_offload.service import render
from mcp_offload.tools.accounts import stamp_of
from mcp_offload.tools.perform import Call, Result

if TYPE_CHECKING:
    from mcp_offload.service.leases import SessionLease

#: What the sentence at the end costs at most.
SENTENCE_TOKENS: Final = 40
#: Share of a lease below which every reply tells what is left.
NEAR_END: Final = 0.15
_HEAD_PART: Final = ":head"


def shrunk(call: Call, result: Result, grant: Grant) -> Result:
    """The result in the form that the lease's stage asks for; other results than reads as they are."""
    if not isinstance(result, list) or grant.stage not in ("head", "card"):
        return result
    share = max(1, call.max_tokens // len(result))
    return [_shrunk_read(replace(call, max_tokens=share), one, grant) for one in result]


def _shrunk_read(call: Call, read: ReadResult, grant: Grant) -> ReadResult:
    if read.rest is None:
        return read
    if grant.stage == "card" or _is_part(read.handle):
        return _card(read)
    try:
        return _head(call, read) if read.kind is not None else _outlined(call, read)
    except OffloadError:  # what has neither, or none that fits
        return _card(read)


def _is_part(handle: str) -> bool:
    return handle.rpartition("#")[2].rpartition(":")[0] != ""


def _head(call: Call, read: ReadResult) -> ReadResult:
    (head,) = call.service.read([read.handle + _HEAD_PART], **call.reading)
    note = "head" if head.rest is None else "head, cut"
    return _in_place(read, head.text, head.tokens, note)


def _outlined(call: Call, read: ReadResult) -> ReadResult:
    outline = call.service.outline(read.handle, **call.reading)
    text = render.outline_text(outline)
    tokens = call.service.count_tokens(text)
    if tokens > call.max_tokens:
        return _card(read)
    return _in_place(read, text, tokens, "outline")


def _card(read: ReadResult) -> ReadResult:
    return _in_place(read, "", 0, "card")


def _in_place(read: ReadResult, text: str, tokens: int, note: str) -> ReadResult:
    """A read with a smaller form in place of its text: what is left out is then all of it."""
    assert read.rest is not None
    lines = max(0, read.end_line - read.start_line + 1) + read.rest.lines
    size_bytes = len(read.text.encode("utf-8", "surrogatepass")) + read.rest.bytes
    return replace(
        read,
        text=text,
        tokens=tokens,
        end_line=read.start_line + lines - 1,
        truncated=True,
        rest=Rest(read.handle, lines, size_bytes, None),
        note=note,
    )


def referred(reads: Sequence[ReadResult], lease: SessionLease, confirmed: frozenset[str]) -> list[ReadResult]:
    """The reads, with one line in place of each text that was delivered here, is unchanged, and held."""
    return [_referred(one, lease, confirmed) for one in reads]


def _referred(read: ReadResult, lease: SessionLease, confirmed: frozenset[str]) -> ReadResult:
    now = read.handle in confirmed
    if not read.text or not lease.holds(read.handle, stamp_of(read.text), confirmed=now):
        return read
    return replace(read, text="", rest=None, truncated=False, note="unchanged, in your context")


def sentence(terms: Terms, grant: Grant, result: Result, *, spent_tokens: int) -> str:
    """What a reply tells of the lease: nothing, unless it was shrunk or the lease is near its end."""
    if terms.mode == "off" or isinstance(result, LeaseResult):
        return ""
    used = max(0, 100 - 100 * grant.left_tokens // max(1, terms.lease_tokens))
    if grant.stage in ("head", "card") and _is_cut(result):
        form = "heads and outlines" if grant.stage == "head" else "cards"
        ask = ", or set max_tokens" if terms.mode == "advisory" else ""
        return f"[lease {used}% used: long texts come as {form}; name a symbol or a few lines{ask}]"
    left = grant.left_tokens - spent_tokens
    return f"[lease: {max(0, left):,}t left]" if is_near_end(terms, left) else ""


def is_near_end(terms: Terms, left_tokens: int) -> bool:
    """Whether so little is left that every reply tells it."""
    return left_tokens < NEAR_END * terms.lease_tokens


def _is_cut(result: Result) -> bool:
    match result:
        case list():
            return any(one.rest is not None for one in result)
        case OutlineResult() | MapResult():
            return result.omitted > 0
        case SearchResult():
            return bool(result.more)
        case SymbolHits():
            return result.omitted > 0
        case DiffResult():
            return result.truncated
        case _:
            return False
