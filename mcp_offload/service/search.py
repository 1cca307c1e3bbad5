"""Searching one or many artifacts within a reply's budget, with handles for the hits left out.

Hits come in the order of the artifacts and their lines. From the first hit that does not fit on, the
search only asks which artifacts have further hits and where these begin; past a limit of bytes it
names the remaining artifacts unsearched. Searching again in the handles of ``more`` gives exactly the
hits left out.

Of a binary artifact the bytes are searched but never shown: it gives one hit, its first match, whose
handle names the matching bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from mcp_offload.errors import CorruptBlobError, HandleGoneError
from mcp_offload.handle import BytesSelector, LinesSelector, Selector, format_selector
from mcp_offload.models import Hit, Monitor, SearchResult, SkippedFile, Span
from mcp_offload.service.pattern import Matcher
from mcp_offload.service.rg import search_view
from mcp_offload.service.scan import LineHit, scan, span_of_lines
from mcp_offload.service.tally import Tally
from mcp_offload.service.view import View
from mcp_offload.service.window import Budget, Display
from mcp_offload.tokens import decode_bytewise

#: How much is searched, once a reply is full, only to tell where further hits begin.
PROBE_BYTES: Final = 256 * 1024 * 1024

_MORE_LINE_TOKENS: Final = 16
_MORE_HANDLE_TOKENS: Final = 12
_MORE_HANDLES_SHOWN: Final = 8
_BYTES_PER_TOKEN_OF_HANDLES: Final = 4
_SMALLEST_TOKENS: Final = 16
_SMALLEST_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """One artifact to search, or some of its lines.

    Attributes:
        handle: of the artifact with the version searched, without a selector.
        open: opens the view of that version; a binary artifact's view is its stored bytes.
        size_bytes: of the view, for progress.
        first_line, last_line: the lines to search; ``last_line`` None = to the end.
    """

    handle: str
    name: str
    open: Callable[[], AbstractContextManager[View]]
    size_bytes: int
    first_line: int = 1
    last_line: int | None = None
    binary: bool = False

    def part(self, selector: Selector) -> str:
        """The printed handle of a part of the artifact."""
        return f"{self.handle}#{format_selector(selector)}"

    def from_line(self, line: int) -> str:
        """The printed handle of what is left of the target from ``line`` on."""
        if line == 1 and self.last_line is None:
            return self.handle
        return self.part(LinesSelector(line, self.last_line))


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a search is run and shown.

    Attributes:
        limit: the most hits in one reply.
        rg_path: absolute path of ripgrep, or None to search in process.
    """

    limit: int
    budget: Budget
    display: Display
    rg_path: str | None = None
    probe_bytes: int = PROBE_BYTES


def search_targets(
    targets: Sequence[SearchTarget], matcher: Matcher, options: SearchOptions, monitor: Monitor
) -> SearchResult:
    """Search the targets in order.

    An artifact that is gone or damaged is skipped with the reason, unless it is the only one.

    Raises:
        HandleGoneError, CorruptBlobError: the only target cannot be read.
        SpanOutOfRangeError: a target has no such lines.
        OperationCancelledError: the monitor asked to stop.
    """
    found = _Findings(options, several=len(targets))
    total = sum(target.size_bytes for target in targets)
    done = 0
    for target in targets:
        if found.full and found.probed_bytes + target.size_bytes > options.probe_bytes:
            found.more.append(target.from_line(target.first_line))
        else:
            try:
                _search_target(target, matcher, found, _PartMonitor(monitor, done, total))
            except (HandleGoneError, CorruptBlobError) as error:
                if len(targets) == 1:
                    raise
                found.skipped.append(SkippedFile(target.handle, str(error)))
        done += target.size_bytes
    return SearchResult(
        hits=tuple(found.hits),
        more=tuple(found.more),
        searched=found.searched,
        skipped=tuple(found.skipped),
        names=tuple(found.names.items()),
    )


@dataclass(frozen=True, slots=True)
class _PartMonitor:
    """Reports the progress of one target as part of that of all."""

    monitor: Monitor
    before: int
    total: int

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        """Report progress; see :class:`mcp_offload.models.Monitor`."""
        self.monitor.advance(min(self.before + done, self.total), self.total, message)


@dataclass(slots=True)
class _Findings:
    """What a search has found so far, and what it has cost."""

    options: SearchOptions
    several: int
    hits: list[Hit] = field(default_factory=list[Hit])
    more: list[str] = field(default_factory=list[str])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    names: dict[str, str] = field(default_factory=dict[str, str])
    searched: int = 0
    probed_bytes: int = 0
    full: bool = False
    tally: Tally = field(init=False)
    bytes_left: int = field(init=False)

    def __post_init__(self) -> None:
        more = _MORE_LINE_TOKENS + _MORE_HANDLE_TOKENS * min(self.several, _MORE_HANDLES_SHOWN)
        budget = self.options.budget
        self.tally = Tally(self.options.display.counter, max(_SMALLEST_TOKENS, budget.text_tokens - more))
        self.bytes_left = max(_SMALLEST_BYTES, budget.text_bytes - more * _BYTES_PER_TOKEN_OF_HANDLES)
        self.full = self.options.limit <= 0

    @property
    def wanted(self) -> int:
        """How many hits to look for: one more than fit, to know where the rest begins."""
        return 1 if self.full else self.options.limit - len(self.hits) + 1

    def add(self, target: SearchTarget, hit: Hit) -> bool:
        """Add a hit if it fits; the first one is cut to fit. Say whether it was added."""
        if self.full or len(self.hits) >= self.options.limit:
            self.full = True
            return False
        if not self._fits(target, hit):
            if self.hits:
                self.full = True
                return False
            hit = self._cut(target, hit)
            self._fits(target, hit)
        self.hits.append(hit)
        self.names[target.handle] = target.name
        return True

    def _fits(self, target: SearchTarget, hit: Hit) -> bool:
        heading = "" if target.handle in self.names else f"{target.handle} {target.name}\n"
        text = f"{heading}{hit.handle} {hit.text}\n"
        size = len(text.encode())
        fits = size <= self.bytes_left and self.tally.take(text)
        if fits:
            self.bytes_left -= size
        return fits

    def _cut(self, target: SearchTarget, hit: Hit) -> Hit:
        """Shorten a hit that alone is too long for the reply."""
        counter = self.options.display.counter
        frame = f"{target.handle} {target.name}\n{hit.handle} …\n"
        text = hit.text.encode()[: max(0, self.bytes_left - len(frame.encode()))].decode(errors="ignore")
        return replace(hit, text=text[: counter.fit(text, self.tally.left - counter.count(frame))] + "…")


def _search_target(target: SearchTarget, matcher: Matcher, found: _Findings, monitor: Monitor) -> None:
    """Search one target; where hits are left out, name the rest from the first of them on."""
    with target.open() as view:
        if found.full:
            found.probed_bytes += view.size_bytes
        if target.binary:
            _search_binary(target, view, matcher, found, monitor)
        else:
            _search_text(target, view, matcher, found, monitor)
    found.searched += 1


def _search_text(
    target: SearchTarget, view: View, matcher: Matcher, found: _Findings, monitor: Monitor
) -> None:
    span = span_of_lines(view, target.first_line, target.last_line)
    rg_path = found.options.rg_path
    for line in search_view(view, matcher, span, limit=found.wanted, monitor=monitor, rg_path=rg_path):
        if not found.add(target, _hit(target, line, found.options.display)):
            found.more.append(target.from_line(line.line))
            return


def _hit(target: SearchTarget, line: LineHit, display: Display) -> Hit:
    handle = target.part(LinesSelector(line.line, line.line))
    return Hit(handle, line.line, display.show(decode_bytewise(line.text)))


def _search_binary(
    target: SearchTarget, view: View, matcher: Matcher, found: _Findings, monitor: Monitor
) -> None:
    whole = Span(0, view.size_bytes)
    for line in scan(view, matcher, whole, limit=1, monitor=monitor):
        match = line.match
        handle = target.part(BytesSelector(match.start_byte, match.end_byte))
        hit = Hit(handle, line.line, f"binary match at byte {match.start_byte}")
        if not found.add(target, hit):
            found.more.append(target.handle)
