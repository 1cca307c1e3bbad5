"""The values that travel between the layers: frozen, typed, without behaviour of their own.

Spans are half-open byte ranges. Lines are 1-based and inclusive and count LF only. Byte offsets and
line numbers refer to an artifact's *view*: its bytes as stored, except for UTF-16 and legacy
encodings, whose view is a UTF-8 transcription kept beside the stored bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, Protocol


class Kind(StrEnum):
    """What an artifact is; the letter its handles start with. Fixed for an artifact's life."""

    FILE = "f"
    LOG = "l"
    TEST = "t"
    BUILD = "b"


KIND_NAMES: Final[Mapping[Kind, str]] = {
    Kind.FILE: "file",
    Kind.LOG: "log",
    Kind.TEST: "test run",
    Kind.BUILD: "build artifact",
}


class Status(StrEnum):
    """How what a handle names stands against the newest content known (file on disk, else latest version).

    ``same``: identical text in the same place. ``moved``: identical text at other lines. ``changed``:
    same name, other text. ``renamed?``: the name is gone and identical text stands under one other
    name; offered, never assumed. ``ambiguous``: the name now fits several. ``gone``: no trace.
    """

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    RENAMED = "renamed?"
    AMBIGUOUS = "ambiguous"
    GONE = "gone"


Part = Literal["sig", "doc", "body", "head"]
PARTS: Final[tuple[Part, ...]] = ("sig", "doc", "body", "head")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of bytes of a view."""

    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition of an outline.

    Attributes:
        path: qualified name, outermost first, e.g. ``("Invoice", "total")``. Anonymous segments look
            like ``<lambda:on_click>``.
        kind: an LSP-style word: class, method, function, variable, ...
        span: the whole definition with decorators, attributes, leading doc comments and ``export``;
            from the start of its first line where only white space stands before it.
        start_line, end_line: the lines of ``span``.
        params: parameter list as written, without white space, or None where the kind has none.
        overloaded: True where ``path`` alone is not unique in the file, so that handles print
            ``params`` and, from 2, ``ordinal``.
        ordinal: 1-based rank among symbols with the same ``path`` and ``params``.
        sig, doc, body: sub-spans, None where the symbol has none.
        near_error: True where the definition overlaps or adjoins a syntax error.
        text_key: hash of the definition's text with white space folded; equal text, equal key.
        tokens: exact o200k tokens of the span, or None where not counted.
    """

    path: tuple[str, ...]
    kind: str
    span: Span
    start_line: int
    end_line: int
    params: str | None = None
    overloaded: bool = False
    ordinal: int = 1
    sig: Span | None = None
    doc: Span | None = None
    body: Span | None = None
    near_error: bool = False
    text_key: str = ""
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """The symbol table of one view.

    Attributes:
        language: the language the view was read as, or None where it is plain text.
        parsed: False where ``symbols`` are chunks by blank lines and indentation because the language
            has no parser here, or the parser was defeated; ``reason`` then says why.
        symbols: in source order, outer before inner.
    """

    language: str | None
    parsed: bool
    reason: str | None = None
    symbols: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """One stored thing; its versions hold the bytes.

    Attributes:
        workspace: key of the workspace it belongs to.
        number: integer of its handle, never reused in the workspace.
        name: display name (workspace-relative path, or the name given).
        source_path: absolute path it was read from, or None for content.
        latest: number of its newest version.
        pinned: never evicted or expired while True.
        created_at, used_at: POSIX seconds.
    """

    workspace: str
    number: int
    kind: Kind
    name: str
    source_path: str | None
    latest: int
    pinned: bool
    created_at: float
    used_at: float


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a file looked like when it was read: enough to see cheaply that it did not change since."""

    device: int
    inode: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    read_at_ns: int


@dataclass(frozen=True, slots=True)
class Version:
    """One immutable content of an artifact.

    Attributes:
        number: the artifact's integer; ``version`` counts from 1 within it.
        blake3: hex hash of the stored bytes.
        view_blake3: hash of the UTF-8 view where it differs from the stored bytes, else None.
        encoding: Python codec name of the stored bytes, or ``binary``.
        size_bytes: of the stored bytes.
        lines: of the view (a last line without LF counts).
        language: as detected or given, None where unknown.
        stamp: of the source file when it was read, None for content.
    """

    number: int
    version: int
    blake3: str
    view_blake3: str | None
    encoding: str
    size_bytes: int
    lines: int
    language: str | None
    created_at: float
    stamp: FileStamp | None = None

    @property
    def binary(self) -> bool:
        """True where the content is not text and is never printed."""
        return self.encoding == "binary"


class Monitor(Protocol):
    """What a long operation reports to, and is stopped by. Passed down as an argument; never kept."""

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        """Report progress in the operation's own unit.

        Called at least every ~100 ms by anything that can take over a second.

        Raises:
            OperationCancelledError: the client asked to stop; the operation lets it through.
        """
        ...


class SilentMonitor:
    """A monitor that listens to nobody and never cancels."""

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        """Do nothing."""


# --- results of the service ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FailureEntry:
    """One failure of a digest; reading ``handle`` (``t7#!3``) gives its block of the log.

    ``file`` and ``line`` are as the tool printed them; ``log_line`` is the line of the log that shows
    ``message``.
    """

    handle: str
    name: str
    kind: str
    file: str | None
    line: int | None
    message: str
    log_line: int


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
    """One line of an outline; ``name`` is qualified (``Invoice.total``)."""

    handle: str
    name: str
    kind: str
    start_line: int
    end_line: int
    tokens: int | None
    near_error: bool


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
class DiffResult:
    """The difference of two contents.

    ``text`` is a unified diff, cut to the budget at a hunk's edge; ``rest`` then names the
    whole diff stored as an artifact, from the first line left out.
    """

    before: str
    after: str
    identical: bool
    added_lines: int
    removed_lines: int
    symbols: tuple[SymbolChange, ...]
    text: str
    truncated: bool
    rest: Rest | None = None


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


@dataclass(frozen=True, slots=True)
class StatsResult:
    """What the store holds and what it promises. ``None`` = unknown, never an estimate."""

    store: str
    workspace: str
    workspace_path: str
    durability: str
    artifacts: int
    versions: int
    blobs: int
    stored_bytes: int
    quota_bytes: int
    ttl_seconds: int
    free_disk_bytes: int
    wal_bytes: int
    pinned: int
    details: Mapping[str, int | str | None] = field(default_factory=dict[str, int | str | None])
