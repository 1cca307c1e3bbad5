"""Artifacts, versions and outlines, and how a long operation is watched.

Spans are half-open byte ranges. Lines are 1-based and inclusive and count LF only. Byte offsets and
line numbers refer to an artifact's *view*: its bytes as stored, except for UTF-16 and legacy
encodings, whose view is a UTF-8 transcription kept beside the stored bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


MEMBER: Final = "member"
"""The kind of a symbol that an outline shows only where what holds it is outlined by its own handle."""

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
        tokens: exact o200k tokens of the whole view, or None where not counted.
    """

    language: str | None
    parsed: bool
    reason: str | None = None
    symbols: tuple[Symbol, ...] = ()
    tokens: int | None = None


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
        growing: True while bytes still arrive and nothing of it is in the catalog.
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
    growing: bool = False


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
        growing: True for content as far as it has come; ``blake3`` is then a stand-in that tells this
            size of it from any other, and any content from this.
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
    growing: bool = False

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
