"""Making a card: the table of readers, and what any of them may stumble over."""

from __future__ import annotations

import csv
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from xml.parsers import expat

from mcp_offload.cards.archives import (
    packed_member,
    read_ar,
    read_packed,
    read_tar,
    read_zip,
    tar_member,
    zip_member,
)
from mcp_offload.cards.bundles import read_compile_commands, read_source_map, source_map_member
from mcp_offload.cards.coverage import read_coverage
from mcp_offload.cards.database import read_sqlite, sqlite_member
from mcp_offload.cards.detect import HEAD_BYTES, type_of
from mcp_offload.cards.elf import read_elf
from mcp_offload.cards.images import read_image
from mcp_offload.cards.locks import read_lock
from mcp_offload.cards.macho import read_fat, read_macho
from mcp_offload.cards.model import Card, DamagedError, Draft, LimitReachedError
from mcp_offload.cards.parquet import read_parquet
from mcp_offload.cards.pe import is_pe, read_pe
from mcp_offload.cards.source import Bounded, Source
from mcp_offload.cards.tables import read_csv, read_json_lines
from mcp_offload.errors import MemberUnreadableError
from mcp_offload.models import Monitor

# What parsing broken input raises, in our readers and in pyelftools and pefile, which let Python's own
# errors through; a damaged file must cost its card, never the artifact.
_BROKEN: Final = (
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    AssertionError,
    EOFError,
    RecursionError,
    MemoryError,
    struct.error,
    csv.Error,
    expat.ExpatError,
)


def card_of(source: Source, key: str, name: str, monitor: Monitor) -> Card:
    """The card of an artifact whose format is ``key``; damage is told in its notes, never raised.

    Raises:
        OperationCancelledError: the monitor asked to stop.
        OffloadError: the source cannot be read.
    """
    bounded, draft = Bounded(source, monitor), Draft(key)
    try:
        _READERS.get(key, _read_unknown)(bounded, name, draft)
    except LimitReachedError as exc:
        draft.cut(f"Not all of it was looked at: {exc}.")
    except DamagedError as exc:
        draft.cut(f"It is damaged: {exc}.")
    except _BROKEN:
        draft.cut("It is damaged: its contents do not fit its format.")
    card = draft.card()
    return card if card.summary else replace(card, summary="unreadable")


def has_members(key: str | None) -> bool:
    """True for formats whose members can be read by name."""
    return key in _MEMBERS


def open_member(
    source: Source, key: str, name: str, ordinal: int, file_name: str, monitor: Monitor
) -> Iterator[bytes] | None:
    """The bytes of the ``ordinal``-th member of that name, in pieces; None where there is none.

    Raises:
        MemberUnreadableError: encrypted, damaged, packed in an unknown way, or too large; also while
            the pieces are read.
    """
    try:
        pieces = _MEMBERS[key](Bounded(source, monitor), name, ordinal, file_name)
    except _BROKEN as exc:
        raise _unreadable(name, exc) from exc
    return None if pieces is None else _guarded(pieces, name)


def _guarded(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    try:
        yield from pieces
    except _BROKEN as exc:
        raise _unreadable(name, exc) from exc


def _unreadable(name: str, exc: BaseException) -> MemberUnreadableError:
    told = str(exc) if isinstance(exc, DamagedError) else "the archive is damaged"
    return MemberUnreadableError(f"{name} cannot be read: {told}. Export the whole archive instead.")


def _read_unknown(source: Bounded, name: str, draft: Draft) -> None:
    del name
    draft.format = "binary"
    head = source.read(0, HEAD_BYTES)
    draft.facts["type"] = draft.summary = type_of(head)
    if draft.summary == "Java class" and len(head) >= 8:
        # Source: Java Virtual Machine Specification, table 4.1-A.
        draft.facts["java_version"] = int.from_bytes(head[6:8], "big") - 44
        draft.summary += f" for Java {draft.facts['java_version']}"


def _read_dos(source: Bounded, name: str, draft: Draft) -> None:
    if is_pe(source):
        read_pe(source, name, draft)
    else:
        _read_unknown(source, name, draft)


_Reader = Callable[[Bounded, str, Draft], None]
_Opener = Callable[[Bounded, str, int, str], Iterator[bytes] | None]

_READERS: Final[Mapping[str, _Reader]] = {
    "ar": read_ar,
    "compile commands": read_compile_commands,
    "coverage": read_coverage,
    "csv": read_csv,
    "elf": read_elf,
    "fat": read_fat,
    "image": read_image,
    "json lines": read_json_lines,
    "lock": read_lock,
    "macho": read_macho,
    "packed": read_packed,
    "parquet": read_parquet,
    "pe": _read_dos,
    "source map": read_source_map,
    "sqlite": read_sqlite,
    "tar": read_tar,
    "zip": read_zip,
}
_MEMBERS: Final[Mapping[str, _Opener]] = {
    "packed": packed_member,
    "source map": source_map_member,
    "sqlite": sqlite_member,
    "tar": tar_member,
    "zip": zip_member,
}
