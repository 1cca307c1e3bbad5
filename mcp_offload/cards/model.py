"""What a card holds, and how one is kept. Values and plain text only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_offload.handle import Selector, format_selector, parse_handle

CARD_VERSION: Final = 1
"""Changes whenever a card of the same bytes would; part of the key it is kept under."""

MAX_ENTRIES: Final = 5_000
MAX_NAME_CHARS: Final = 400
MAX_NOTES: Final = 8

Fact = bool | int | float | str | tuple[str, ...] | Mapping[str, int]

FACTS: Final[Mapping[str, str]] = {
    "arch": "machine the code is for",
    "bits": "32 or 64, or bits per pixel or sample of an image",
    "branch_percent": "share of branches taken, 0 to 100",
    "build_id": "what identifies the build: GNU build id, PDB GUID or Mach-O UUID, in hex",
    "built_by": "tool that wrote the file, as it states",
    "columns": "number of columns",
    "commands": "number of compile commands",
    "compilers": "how many commands each compiler runs",
    "debug_info": "true where the file carries debug information",
    "delimiter": "what separates the fields of a line",
    "encrypted": "number of encrypted members",
    "entry_point": "address where execution starts",
    "files": "number of files",
    "flags": "the most frequent compiler flags and how many commands have each",
    "height": "of an image, in pixels",
    "indexes": "number of indexes",
    "interpreter": "program that loads the executable",
    "java_version": "class file version, as the Java release",
    "lines_covered": "executable lines that ran",
    "lines_total": "executable lines",
    "malformed_rows": "rows that could not be read",
    "members": "number of files in the archive; directories are not counted",
    "needed": "libraries that must be found at run time",
    "packages": "number of packages; several versions of one count each",
    "packed_bytes": "what the members take in the archive",
    "page_bytes": "page size of a database",
    "partial": "true where counts are of what was seen before damage or a limit ended the reading",
    "percent": "share of lines covered, 0 to 100",
    "row_groups": "number of row groups",
    "rows": "number of rows",
    "rpath": "where libraries are looked for, as recorded",
    "sections": "number of sections",
    "soname": "name that dependents record",
    "sources": "number of sources",
    "sources_bytes": "size of the sources that are embedded",
    "stripped": "true where the symbol table was removed",
    "subsystem": "of a Windows program: console, windows, ...",
    "tables": "number of tables",
    "type": "what exactly it is",
    "undefined": "symbols that something else must define; the first 200",
    "undefined_count": "how many symbols something else must define",
    "unpacked_bytes": "sizes of the members as the archive states or shows them",
    "user_version": "the schema version that the application keeps in a database",
    "views": "number of views",
    "width": "of an image, in pixels",
}
"""Every fact that a card may state, and what it means."""


class DamagedError(ValueError):
    """The bytes are not what their format demands; the message says where and completes a sentence."""


class LimitReachedError(DamagedError):
    """A card's work or memory is used up; what was found so far stands."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a card's outline.

    Attributes:
        kind: member, section, library, symbol, package, file, table, view, column, row, source, ...
        name: fit for one line; see :func:`clean`.
        detail: what is shown behind the name.
        value: what two cards are compared by.
        selector: the part of the artifact it stands for, or None where it has no bytes of its own.
    """

    kind: str
    name: str
    detail: str = ""
    value: str = ""
    selector: Selector | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """Facts about a build artifact.

    Attributes:
        format: wheel, elf, coverage, sqlite, ...
        summary: one line.
        facts: keys from :data:`FACTS`.
        notes: what is missing or wrong: damage, encryption, limits; complete sentences.
        unlisted: how many entries there are beyond those of ``entries``.
    """

    format: str
    summary: str
    facts: Mapping[str, Fact]
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()
    unlisted: int = 0


@dataclass(slots=True)
class Draft:
    """A card in the making, so that what was found before damage or a limit is kept."""

    format: str
    summary: str = ""
    facts: dict[str, Fact] = field(default_factory=dict[str, Fact])
    entries: list[Entry] = field(default_factory=list[Entry])
    notes: list[str] = field(default_factory=list[str])
    unlisted: int = 0

    def add(self, entry: Entry) -> None:
        """Take an entry, or only count it where there are too many."""
        if len(self.entries) < MAX_ENTRIES:
            self.entries.append(entry)
        else:
            self.unlisted += 1

    def note(self, text: str) -> None:
        """Take a note; beyond the first few they would drown the facts."""
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text)

    def cut(self, text: str) -> None:
        """Note that the reading ended early, so that no count is taken for the whole."""
        self.note(text)
        self.facts["partial"] = True

    def card(self) -> Card:
        """The finished card."""
        return Card(
            self.format,
            f"{self.summary}, as far as read" if "partial" in self.facts and self.summary else self.summary,
            dict(self.facts),
            tuple(self.entries),
            tuple(self.notes),
            self.unlisted,
        )


_UNSHOWABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def clean(text: str) -> str:
    """A name as one line: control characters and lone surrogates become U+FFFD, and it is cut where long."""
    if len(text) > MAX_NAME_CHARS:
        text = text[: MAX_NAME_CHARS - 1] + "…"
    return _UNSHOWABLE.sub("\ufffd", text)


def member_name(text: str) -> str:
    """A name that a handle can hold: :func:`clean`, and never empty."""
    return clean(text) or "\ufffd"


def size_text(size_bytes: int) -> str:
    """``812 B``, ``4.1 kB``, ``36 MB``: three significant figures at most, decimal units."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    value, units = size_bytes / 1000, ["kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < 9.95 else f"{value:.0f} {units[0]}"


def count_text(number: int, noun: str) -> str:
    """``1 member``, ``12,000 members``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# --- kept form ----------------------------------------------------------------------------------


def dump_card(card: Card) -> bytes:
    """Compact JSON; one array per entry."""
    rows = [
        [e.kind, e.name, e.detail, e.value, None if e.selector is None else format_selector(e.selector)]
        for e in card.entries
    ]
    whole = [card.format, card.summary, dict(card.facts), rows, card.notes, card.unlisted]
    return json.dumps(whole, separators=(",", ":")).encode()


def load_card(payload: bytes) -> Card:
    """The inverse of :func:`dump_card`."""
    kind, summary, facts, rows, notes, unlisted = json.loads(payload)
    entries = tuple(Entry(*row[:4], selector=_selector(row[4])) for row in rows)
    return Card(kind, summary, {k: _fact(v) for k, v in facts.items()}, entries, tuple(notes), unlisted)


def _selector(text: str | None) -> Selector | None:
    return None if text is None else parse_handle(f"b1#{text}").selector


def _fact(value: Any) -> Fact:
    return tuple(cast("list[str]", value)) if isinstance(value, list) else value
