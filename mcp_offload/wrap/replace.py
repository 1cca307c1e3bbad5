"""Stores a large result and says, in its place, what it is and how to read it."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_offload.errors import OffloadError
from mcp_offload.models import Monitor, StoreManyResult, StoreResult
from mcp_offload.wire.messages import JsonObject
from mcp_offload.wire.scrub import scrub_text
from mcp_offload.wrap.names import artifact_name
from mcp_offload.wrap.results import Piece, read_result

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

#: What all that stands for a result may cost, and how many of its parts are told in detail.
NOTICE_TOKENS: Final = 600
DETAILED: Final = 3
#: Below this a part is told in one line.
LEAST_TOKENS: Final = 120
#: Text this long is not counted to learn that it is too long.
CERTAINLY_LARGE_BYTES: Final = 4 << 20
#: A text that costs no more stays as it is, beside what is stored.
SHORT_TOKENS: Final = 50
SHORT_BYTES: Final = 1_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that was answered; ``meta`` is what its request said for programs."""

    tool: str
    arguments: Mapping[str, object]
    meta: Mapping[str, object] = field(default_factory=dict[str, object])


class Replaced(NamedTuple):
    """A result to send instead, and what it stands for."""

    result: JsonObject
    stored: tuple[StoreResult, ...]


def model_tokens(service: OffloadService, line: bytes, result: JsonObject) -> int:
    """What a model pays for a result, whose message ``line`` is; pictures and other bytes count nothing."""
    texts = (piece.text for piece in read_result(line.decode("utf-8", "replace"), result).pieces)
    return sum(service.count_tokens(text) for text in texts if text)


class Replacer:
    """Replaces results that cost more than they may. Thread-safe.

    ``hint`` gives, as a phrase, by which tools handles are read.
    """

    def __init__(self, hint: Callable[[], str], *, keep_all: bool) -> None:
        self._hint = hint
        self._keep_all = keep_all

    def replaced(
        self,
        service: OffloadService,
        call: ToolCall,
        line: bytes,
        result: JsonObject,
        monitor: Monitor,
        *,
        most_tokens: int,
        notice_tokens: int = NOTICE_TOKENS,
    ) -> Replaced | None:
        """The result to send instead, or None where it costs no more than ``most_tokens``.

        What cannot be stored is shown whole, and said so: nothing is ever lost.
        """
        if "content" not in result and "structuredContent" not in result:
            return None
        reading = read_result(line.decode("utf-8", "replace"), result)
        pieces = [piece for piece in reading.pieces if piece.data]
        passes = not pieces or _tokens(service, pieces, most_tokens) <= most_tokens
        if passes and not (pieces and self._keep_all):
            return None
        try:
            short = [] if passes or not most_tokens else _short(service, pieces)
            stored = [_store(service, call, piece, monitor) for piece in pieces if piece not in short]
            if passes:
                return None
            notice = self._notice(service, stored, notice_tokens)
        except OffloadError as exc:
            _log.warning("a result of %s was not stored: %s", call.tool, exc)
            return Replaced(shown_whole(result, exc), ())
        rest = {key: value for key, value in result.items() if key != "structuredContent"}
        content = [*(piece.block for piece in short), notice, *reading.shown]
        return Replaced({**rest, "content": content}, tuple(stored))

    def _notice(self, service: OffloadService, stored: Sequence[StoreResult], max_tokens: int) -> JsonObject:
        head = f"Stored, not shown; read parts {self._hint()}:"
        return _text(scrub_text("\n".join([head, *_told(service, stored, max_tokens)])))


def _tokens(service: OffloadService, pieces: Sequence[Piece], enough: int) -> int:
    """What the pieces cost together, or any number above ``enough`` where they cost more."""
    tokens = 0
    for piece in pieces:
        if len(piece.data) > CERTAINLY_LARGE_BYTES:
            return enough + 1
        text = base64.b64encode(piece.data).decode() if piece.text is None else piece.text
        tokens += service.count_tokens(text)
        if tokens > enough:
            break
    return tokens


def _short(service: OffloadService, pieces: Sequence[Piece]) -> list[Piece]:
    """Texts that say more than any card of theirs could: they stay as they are."""
    texts = [piece for piece in pieces if piece.block is not None and len(piece.data) <= SHORT_BYTES]
    short = [piece for piece in texts if service.count_tokens(piece.text or "") <= SHORT_TOKENS]
    return short if len(short) < len(pieces) else []


def _store(service: OffloadService, call: ToolCall, piece: Piece, monitor: Monitor) -> StoreResult:
    name = artifact_name(call.tool, call.arguments, piece)
    result = service.store(content=piece.data, name=name, monitor=monitor)
    assert not isinstance(result, StoreManyResult)
    return result


def _told(service: OffloadService, stored: Sequence[StoreResult], max_tokens: int) -> list[str]:
    """A few lines about each artifact, a single one for those beyond the first or where room is short."""
    from mcp_offload.service.notice import stored_line, stored_text

    share = max_tokens // max(1, min(len(stored), DETAILED))
    detailed = DETAILED if share >= LEAST_TOKENS else 0
    lines = [stored_text(service, result, share) for result in stored[:detailed]]
    return [*lines, *(stored_line(result) for result in stored[detailed:])]


def shown_whole(result: JsonObject, error: OffloadError) -> JsonObject:
    """A result that should have been replaced, and why it was not."""
    note = f"Shown whole, because it could not be stored: {error}"
    content = result.get("content")
    return {**result, "content": [_text(scrub_text(note)), *(content if isinstance(content, list) else [])]}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
