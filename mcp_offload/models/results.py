"""What the operations of the service answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_offload.models.cards import CardChange, CardResult
from mcp_offload.models.core import Status


@dataclass(frozen=True, slots=True)
class FailureEntry:
    """One failure of a digest; reading ``handle`` (``t7#!3``) gives its block of the log.

    ``file`` and ``line`` are as the tool printed them; ``log_line`` is the line of the log that shows
    ``message``. ``symbol`` is the symbol of a stored source at that place, where one is known.
    """

    handle: str
    name: str
    kind: str
    file: str | None
    line: int | None
    message: str
    log_line: int
    symbol: str | None = None


@dataclass(frozen=True, slots=True)
class CauseEntry:
    """Failures that share one explanation."""

    message: str
    count: int
    first_handle: str


@dataclass(frozen=True, slots=True)
class DigestResult:
    """The digest of a log or test run.

    ``verdict`` is passed, failed, error, incomplete or unknown. ``complete`` is False where the run
    was cut, killed or timed out. ``totals`` holds what the log states or shows; an absent key is
    unknown. ``tokens`` is what ``text``, the digest as shown to a model, costs.
    """

    verdict: str
    complete: bool
    tools: tuple[str, ...]
    totals: Mapping[str, int]
    failures: tuple[FailureEntry, ...]
    causes: tuple[CauseEntry, ...]
    notes: tuple[str, ...]
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class StoreResult:
    """One stored artifact version.

    ``new`` is False where the bytes were already stored as this version. ``tokens`` is None above
    4 MB until somebody asks, and for binary content.
    """

    handle: str
    name: str
    kind: str
    version: int
    bytes: int
    lines: int
    tokens: int | None
    blake3: str
    language: str | None
    path: str | None
    new: bool
    binary: bool = False
    digest: DigestResult | None = None
    card: CardResult | None = None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file of a directory or glob that was not stored, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class StoreManyResult:
    """What storing a directory or glob did, in one transaction."""

    stored: tuple[StoreResult, ...]
    skipped: tuple[SkippedFile, ...]


@dataclass(frozen=True, slots=True)
class SymbolEntry:
    """One line of an outline; ``name`` is qualified (``Invoice.total``).

    ``detail`` is the size, version or the like of a part of a build artifact, None for symbols.
    """

    handle: str
    name: str
    kind: str
    start_line: int
    end_line: int
    tokens: int | None
    near_error: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class OutlineResult:
    """The outline of one artifact or of one of its symbols.

    ``omitted`` counts symbols left out for the token budget; ``rest`` is the handle whose outline
    shows them.
    """

    handle: str
    name: str
    language: str | None
    parsed: bool
    reason: str | None
    symbols: tuple[SymbolEntry, ...]
    bytes: int
    lines: int
    tokens: int | None
    omitted: int = 0
    rest: str | None = None
    digest: DigestResult | None = None
    card: CardResult | None = None


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One file of a directory's map, with the names of its outermost symbols as far as they fit."""

    handle: str
    name: str
    language: str | None
    lines: int
    bytes: int
    binary: bool
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MapResult:
    """A directory as a map, in path order.

    ``omitted`` counts files left out for the token budget, all stored; ``rest`` is the first of them.
    """

    files: tuple[MapEntry, ...]
    omitted: int
    rest: str | None
    skipped: tuple[SkippedFile, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """What did not fit a reply: ``handle`` resolves to exactly that. ``tokens`` None = not counted."""

    handle: str
    lines: int
    bytes: int
    tokens: int | None


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The text a handle names.

    Attributes:
        handle: with the version whose bytes ``text`` is.
        name: the artifact's display name.
        text: decoded for display; bytes that are not text appear as U+FFFD.
        start_line, end_line: of ``text`` in the view.
        tokens: of ``text``.
        truncated: True where ``rest`` names what is left.
        status: of the handle against the newest content; see :class:`Status`.
        now: where the symbol is now, or the candidates, where ``status`` is not ``same``.
        base: the version the status is told against, as a handle, where it differs.
    """

    handle: str
    name: str
    text: str
    start_line: int
    end_line: int
    tokens: int
    truncated: bool
    status: Status
    kind: str | None = None
    now: tuple[str, ...] = ()
    base: str | None = None
    rest: Rest | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One matching line; ``text`` is that line (shortened around the match where very long)."""

    handle: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits in artifact and line order.

    ``more`` lists handles which, searched again with the same pattern, give the hits left out.
    ``names`` pairs each artifact's handle with its name.
    """

    hits: tuple[Hit, ...]
    more: tuple[str, ...]
    searched: int
    skipped: tuple[SkippedFile, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolHits:
    """Symbols found by name, best match first."""

    symbols: tuple[SymbolEntry, ...]
    omitted: int
    searched: int


@dataclass(frozen=True, slots=True)
class EditResult:
    """What an edit made.

    Attributes:
        handle: of the edited symbol or lines in the new version.
        version: the new version's number.
        base: handle of the version the edit started from.
        path: the file written, or None for a store-only version.
        start_line, end_line: where the new text stands now.
        tokens: of the new text.
        syntax_error_line: first line near a syntax error that the edit introduced, or None.
        indented: columns of indentation added to the text to fit its place.
    """

    handle: str
    name: str
    version: int
    base: str
    path: str | None
    start_line: int
    end_line: int
    tokens: int
    syntax_error_line: int | None = None
    indented: int = 0


@dataclass(frozen=True, slots=True)
class SymbolChange:
    """A symbol-level difference: ``change`` is added, removed, changed, moved or renamed?."""

    change: str
    name: str
    kind: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RunTest:
    """A test in a comparison of runs; ``handle`` reads its failure, None where it has none."""

    name: str
    handle: str | None


@dataclass(frozen=True, slots=True)
class RunDiff:
    """What changed between two runs of the same tests.

    ``missing`` failed before and do not occur in the later run. ``flaky`` differ within the reruns of
    one run. Seconds are total times as the logs state them, None where they do not.
    """

    before: str
    after: str
    newly_failing: tuple[RunTest, ...]
    fixed: tuple[RunTest, ...]
    still_failing: tuple[RunTest, ...]
    newly_skipped: tuple[RunTest, ...]
    flaky: tuple[RunTest, ...]
    missing: tuple[RunTest, ...]
    before_seconds: float | None
    after_seconds: float | None


@dataclass(frozen=True, slots=True)
class DiffResult:
    """The difference of two contents.

    ``text`` is a unified diff, cut to the budget at a hunk's edge; ``rest`` then names the
    whole diff stored as an artifact, from the first line left out. Two runs of tests are compared by
    test instead, in ``runs``; their lines are not, and the counts of lines are None. Where build
    artifacts differ by their parts, ``changes`` has these and ``text`` begins with a line for each.
    """

    before: str
    after: str
    identical: bool
    added_lines: int | None
    removed_lines: int | None
    symbols: tuple[SymbolChange, ...]
    text: str
    truncated: bool
    rest: Rest | None = None
    runs: RunDiff | None = None
    changes: tuple[CardChange, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportResult:
    """Bytes written to a path."""

    handle: str
    path: str
    bytes: int
    blake3: str


@dataclass(frozen=True, slots=True)
class ArtifactEntry:
    """One line of a listing."""

    handle: str
    name: str
    kind: str
    version: int
    bytes: int
    lines: int
    tokens: int | None
    language: str | None
    pinned: bool
    created_at: float
    used_at: float


@dataclass(frozen=True, slots=True)
class ListResult:
    """Artifacts of the workspace, most recently used first."""

    workspace: str
    artifacts: tuple[ArtifactEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """Handles whose bytes were released (or pinned, unpinned) and the bytes freed."""

    handles: tuple[str, ...]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class GcResult:
    """What a collection removed."""

    expired: int
    evicted: int
    orphans: int
    freed_bytes: int
