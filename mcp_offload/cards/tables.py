"""Cards of CSV and JSON lines: schema, number of rows, and the first few."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from mcp_offload.cards.model import Draft, Entry, LimitReachedError, clean, count_text
from mcp_offload.cards.source import Bounded
from mcp_offload.handle import LinesSelector

_SAMPLED_ROWS: Final = 1_000
_SHOWN_ROWS: Final = 3
_SHOWN_COLUMNS: Final = 8
_ROW_CHARS: Final = 160
_MAX_COLUMNS: Final = 2_000
_MAX_LINE_BYTES: Final = 1 << 20
#: Rows of a CSV file are counted by parsing it up to this size, since a field may hold line ends.
_PARSED_BYTES: Final = 64 << 20
_DELIMITERS: Final = ",;\t|"


class _Column:
    """The types that a column's values have."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}

    def see(self, kind: str) -> None:
        """Take a value's type."""
        self.types[kind] = self.types.get(kind, 0) + 1

    def __str__(self) -> str:
        return " or ".join(sorted(self.types, key=lambda kind: -self.types[kind])[:3]) or "empty"


def read_csv(source: Bounded, name: str, draft: Draft) -> None:
    """Columns with the types their first values have, the number of rows, and the first rows."""
    draft.format = "csv"
    head = source.read(0, 1 << 16).decode("utf-8", "replace")
    delimiter = _delimiter(head, name)
    draft.facts["delimiter"] = delimiter
    reader = csv.reader(_text_lines(source), delimiter=delimiter)
    header = [clean(cell.strip()) for cell in next(reader, list[str]())]
    columns = {column or f"column {i + 1}": _Column() for i, column in enumerate(header[:_MAX_COLUMNS])}
    count, line, samples = 0, reader.line_num + 1, list[Entry]()
    try:
        for row in reader:
            if row:
                count += 1
                if count <= _SAMPLED_ROWS:
                    for column, cell in zip(columns.values(), row, strict=False):
                        column.see(_cell_type(cell))
                if count <= _SHOWN_ROWS:
                    lines = LinesSelector(line, reader.line_num)
                    samples.append(Entry("row", str(count), _shortened(", ".join(row)), selector=lines))
            line = reader.line_num + 1
    except LimitReachedError:
        draft.cut(f"Rows are counted in the first {_PARSED_BYTES >> 20} MiB only.")
    finally:
        _state(draft, columns, count, samples, LinesSelector(1, 1))


def read_json_lines(source: Bounded, name: str, draft: Draft) -> None:
    """Keys with the types of their first values, the number of rows, and the first rows."""
    del name
    draft.format = "json lines"
    columns: dict[str, _Column] = {}
    count = malformed = 0
    samples: list[Entry] = []
    for number, line in enumerate(_raw_lines(source), 1):
        if not line.strip():
            continue
        count += 1
        if count > _SAMPLED_ROWS:
            continue
        if count <= _SHOWN_ROWS:
            shown = _shortened(line.decode("utf-8", "replace"))
            samples.append(Entry("row", str(count), shown, selector=LinesSelector(number, number)))
        malformed += not _take(line, columns)
    if malformed:
        draft.facts["malformed_rows"] = malformed
        draft.note(f"{count_text(malformed, 'row')} of the first {min(count, _SAMPLED_ROWS):,} are no JSON.")
    _state(draft, columns, count, samples, None)


def _take(line: bytes, columns: dict[str, _Column]) -> bool:
    """Note the types of a row's values; False where it is no JSON."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    items = cast("dict[str, Any]", row) if isinstance(row, dict) else {"value": row}
    for key, value in items.items():
        if len(columns) < _MAX_COLUMNS or key in columns:
            columns.setdefault(clean(key), _Column()).see(_json_type(value))
    return True


def _state(
    draft: Draft,
    columns: dict[str, _Column],
    count: int,
    samples: Sequence[Entry],
    place: LinesSelector | None,
) -> None:
    draft.facts.update(columns=len(columns), rows=count)
    shown = ", ".join(f"{name}: {column}" for name, column in list(columns.items())[:_SHOWN_COLUMNS])
    more = f" and {len(columns) - _SHOWN_COLUMNS} more" if len(columns) > _SHOWN_COLUMNS else ""
    draft.summary = f"{count_text(count, 'row')}, {count_text(len(columns), 'column')} ({shown}{more})"
    for name, column in columns.items():
        draft.add(Entry("column", name, str(column), str(column), place))
    for entry in samples:
        draft.add(entry)


def _delimiter(head: str, name: str) -> str:
    if name.lower().endswith((".tsv", ".tab")):
        return "\t"
    first = head.partition("\n")[0]
    return max(_DELIMITERS, key=lambda mark: (first.count(mark), -_DELIMITERS.index(mark)))


def _text_lines(source: Bounded) -> Iterator[str]:
    """Lines up to the size that is parsed, as the csv module wants them.

    Raises:
        LimitReachedError: there is more.
    """
    read = 0
    for line in _raw_lines(source):
        read += len(line)
        if read > _PARSED_BYTES:
            raise LimitReachedError("it is too large to be parsed as a whole")
        yield line.decode("utf-8", "replace").removeprefix("\ufeff")


def _raw_lines(source: Bounded) -> Iterator[bytes]:
    """Lines with their LF; of one above 1 MiB, only the start."""
    rest = b""
    for chunk in source.chunks():
        lines = io.BytesIO(rest + chunk).readlines()
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        rest = rest[:_MAX_LINE_BYTES]
        yield from lines
    if rest:
        yield rest


def _shortened(text: str) -> str:
    text = text.strip()
    return clean(text if len(text) <= _ROW_CHARS else text[: _ROW_CHARS - 1] + "…")


def _cell_type(cell: str) -> str:
    text = cell.strip()
    if not text:
        return "empty"
    if text.lower() in ("true", "false"):
        return "boolean"
    digits = text.lstrip("+-")
    if digits.isdecimal():
        return "integer"
    try:
        float(text)
    except ValueError:
        return "text"
    return "number"


def _json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
