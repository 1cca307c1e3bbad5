"""Cards of Parquet files, from their footer alone.

Source: Apache Parquet format, ``parquet.thrift``; Apache Thrift compact protocol specification.
"""

from __future__ import annotations

from typing import Any, Final, cast

from mcp_offload.cards.model import (
    DamagedError,
    Draft,
    Entry,
    LimitReachedError,
    clean,
    count_text,
    size_text,
)
from mcp_offload.cards.source import WHOLE_BYTES, Bounded

_TYPES: Final = ("boolean", "int32", "int64", "int96", "float", "double", "bytes", "fixed bytes")
_CONVERTED: Final = {0: "string", 5: "decimal", 6: "date", 9: "timestamp", 10: "timestamp", 19: "json"}
_REPETITION: Final = ("required", "optional", "repeated")
_MAX_DEPTH: Final = 16
_MAX_ITEMS: Final = 2_000_000
_TRUE, _FALSE = 1, 2


def read_parquet(source: Bounded, name: str, draft: Draft) -> None:
    """Columns with types, rows, row groups, and what wrote it."""
    del name
    draft.format = "parquet"
    tail = source.exactly(max(0, source.size_bytes - 8), 8)
    if tail[4:] == b"PARE":
        raise DamagedError("its footer is encrypted")
    size = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or size > source.size_bytes - 12:
        raise DamagedError("it has no footer: it is cut off or damaged")
    if size > WHOLE_BYTES:
        raise LimitReachedError("its footer is too large")
    footer = _Compact(source.exactly(source.size_bytes - 8 - size, size)).struct()
    groups = _list(footer.get(4))
    draft.facts.update(rows=_number(footer.get(3)), row_groups=len(groups))
    if isinstance(footer.get(6), bytes):
        draft.facts["built_by"] = _text(footer[6])
    columns = _columns(_list(footer.get(2)), draft)
    draft.facts["columns"] = columns
    draft.summary = (
        f"{count_text(_number(footer.get(3)), 'row')}, {count_text(columns, 'column')}, "
        f"{count_text(len(groups), 'row group')}, "
        f"{size_text(sum(_number(_struct(group).get(2)) for group in groups))} uncompressed"
    )


def _columns(schema: list[Any], draft: Draft) -> int:
    """Add the leaves of the schema with their dotted names, and return how many there are."""
    open_groups: list[tuple[str, int]] = []
    count = 0
    for element in map(_struct, schema[1:]):
        while open_groups and open_groups[-1][1] == 0:
            open_groups.pop()
        prefix = ""
        if open_groups:
            prefix, left = open_groups[-1]
            open_groups[-1] = prefix, left - 1
        name = f"{prefix}.{_text(element.get(4))}".lstrip(".")
        children = _number(element.get(5))
        if children > 0 and len(open_groups) < 100:
            open_groups.append((name, children))
            continue
        count += 1
        kind = _CONVERTED.get(_number(element.get(6), -1)) or _pick(_TYPES, element.get(1))
        detail = f"{kind} {_pick(_REPETITION, element.get(3))}"
        draft.add(Entry("column", clean(name), detail, detail))
    return count


class _Compact:
    """Reads structs of the compact protocol as dictionaries by field number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._items = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The struct at the current place."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 15
            number = number + delta if delta else self._zigzag()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._items += 1
        if depth > _MAX_DEPTH or self._items > _MAX_ITEMS:
            raise DamagedError("its footer is nested or long beyond reason")
        match kind:
            case 1 | 2 | 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._zigzag()
            case 7:
                return self._take(8)
            case 8:
                return self._take(self._varint())
            case 9 | 10:
                head = self._byte()
                size = head >> 4 if head >> 4 < 15 else self._varint()
                return [self._value(head & 15, depth + 1) for _ in range(size)]
            case 11:
                return self._map(depth)
            case 12:
                return self.struct(depth)
            case _:
                raise DamagedError("its footer is broken")

    def _map(self, depth: int) -> list[Any]:
        size = self._varint()
        kinds = self._byte() if size else 0
        return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(size)]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) != size:
            raise DamagedError("its footer ends early")
        self._at += size
        return taken

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise DamagedError("a number in its footer is broken")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _struct(value: Any) -> dict[int, Any]:
    return cast("dict[int, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _number(value: Any, default: int = 0) -> int:
    return value if isinstance(value, int) else default


def _text(value: Any) -> str:
    return clean(value.decode("utf-8", "replace")) if isinstance(value, bytes) else ""


def _pick(words: tuple[str, ...], value: Any) -> str:
    return words[value] if isinstance(value, int) and 0 <= value < len(words) else "unknown"
