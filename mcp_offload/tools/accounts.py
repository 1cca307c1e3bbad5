"""What one answer brings into the ledger: its texts by handle, its artifacts, and what came in by it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mcp_offload.handle import ArtifactRef, parse_handle
from mcp_offload.lease import DeliveredText
from mcp_offload.models import (
    DiffResult,
    EditResult,
    ExportResult,
    OutlineResult,
    ReadResult,
    RunResult,
    StoreResult,
)
from mcp_offload.tools.arguments import ReadArguments, StoreArguments, ToolArguments
from mcp_offload.tools.perform import Result

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService
    from mcp_offload.store import NewContent


@dataclass(frozen=True, slots=True)
class Account:
    """``artifacts`` holds the tokens about each artifact by number."""

    texts: tuple[DeliveredText, ...] = ()
    artifacts: Mapping[int, int] = field(default_factory=dict[int, int])
    contents: tuple[NewContent, ...] = ()


NO_ACCOUNT: Final = Account()
MOST_BROUGHT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Accountant:
    """Keeps one session's accounts in this process.

    Attributes:
        tool: that is called.
        brought: handles whose content is known to have come into the session; looked up no more.
    """

    service: OffloadService
    tool: str
    brought: set[str]

    def entered(self, handles: Sequence[str]) -> tuple[NewContent, ...]:
        """What handles bring into the session for the first time, as far as this process knows."""
        found: list[NewContent] = []
        for handle in handles:
            whole = str(parse_handle(handle).select(None))
            content = None if whole in self.brought else self.service.entered(whole, self.tool)
            if content is not None:
                found.append(content)
                if len(self.brought) < MOST_BROUGHT:
                    self.brought.add(whole)
        return tuple(found)


def account_of(accountant: Accountant, given: ToolArguments, result: Result) -> Account:
    """The account of a result.

    Content that a model sent itself, an edit's text or a note it had stored, came through its context and
    was not kept out of it.
    """
    match result:
        case list():
            shown = [one for one in result if one.text]
            texts = tuple(DeliveredText(one.handle, one.tokens, stamp_of(one.text)) for one in shown)
            asked = given.handles if isinstance(given, ReadArguments) else ()
            # Rows bring nothing themselves; what they were taken from would have been read for them.
            sources = [handle for handle in asked if "#?" in handle]
            brought = accountant.entered([*sources, *(one.handle for one in result)])
            return Account(texts, _by_artifact(result), brought)
        case StoreResult():
            brought = accountant.entered([result.handle]) if _came_by_path(given) else ()
            return Account(artifacts=_about(result.handle), contents=brought)
        case OutlineResult() | RunResult():
            return Account(artifacts=_about(result.handle), contents=accountant.entered([result.handle]))
        case EditResult() | ExportResult():
            return Account(artifacts=_about(result.handle))
        case DiffResult():
            return Account(artifacts=_about(result.before))
        case _:
            return Account()


def stamp_of(text: str) -> str:
    """A short name that changes with the text."""
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _came_by_path(given: ToolArguments) -> bool:
    return isinstance(given, StoreArguments) and given.source is not None


def _about(handle: str) -> dict[int, int]:
    number = _number(handle)
    return {} if number is None else {number: 0}


def _by_artifact(results: Sequence[ReadResult]) -> dict[int, int]:
    tokens: dict[int, int] = {}
    for one in results:
        number = _number(one.handle)
        if number is not None:
            tokens[number] = tokens.get(number, 0) + one.tokens
    return tokens


def _number(handle: str) -> int | None:
    ref = parse_handle(handle).artifact
    return ref.number if isinstance(ref, ArtifactRef) else None
