"""Cards of SQLite databases, and their tables as text.

The file is opened read-only as what it is, an immutable blob; nothing that its schema says is run.
Source: https://www.sqlite.org/security.html, "Untrusted SQLite Database Files".
"""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from mcp_offload.cards.model import DamagedError, Draft, Entry, clean, count_text, member_name
from mcp_offload.cards.source import WHOLE_BYTES, Bounded
from mcp_offload.handle import SymbolSelector

#: Work of one card, in thousands of virtual machine steps; about two seconds.
_WORK: Final = 20_000
_STEPS: Final = 1_000
_MAX_TABLES: Final = 1_000
_SHOWN_COLUMNS: Final = 12
#: Rows of a table that are given as text, and the most one value takes of it.
MEMBER_ROWS: Final = 1_000
_VALUE_CHARS: Final = 200


def read_sqlite(source: Bounded, name: str, draft: Draft) -> None:
    """Tables and views with columns and row counts."""
    del name
    draft.format = "sqlite"
    page = int.from_bytes(source.exactly(16, 2), "big")
    draft.facts["page_bytes"] = 65536 if page == 1 else page
    with _opened(source) as db:
        draft.facts["user_version"] = int(_one(db, "PRAGMA user_version"))
        rows = _rows(db, "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name", _MAX_TABLES)
        kinds = [str(kind) for kind, _, _ in rows]
        draft.facts.update(
            tables=kinds.count("table"), views=kinds.count("view"), indexes=kinds.count("index")
        )
        draft.summary = ", ".join(
            [count_text(kinds.count("table"), "table"), count_text(kinds.count("view"), "view")]
        )
        for kind, table, sql in rows:
            if kind in ("table", "view"):
                draft.add(_table(db, str(kind), str(table), str(sql or "")))


def sqlite_member(source: Bounded, name: str, ordinal: int, file_name: str) -> Iterator[bytes] | None:
    """A table's definition and first rows as text, or None where there is no such table."""
    del file_name
    with _opened(source) as db:
        rows = _rows(
            db, "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'view')", _MAX_TABLES
        )
        found = [(str(table), str(sql or "")) for _, table, sql in rows if member_name(str(table)) == name]
        if ordinal != 1 or not found:
            return None
        table, sql = found[0]
        return iter([sql.encode("utf-8", "replace") + b";\n", *_as_csv(db, table, sql)])


def _table(db: Any, kind: str, name: str, sql: str) -> Entry:
    columns = [
        f"{row[1]} {row[2]}".strip() for row in _rows(db, f"PRAGMA table_xinfo({_quoted(name)})", 2_000)
    ]
    shown = ", ".join(columns[:_SHOWN_COLUMNS])
    if len(columns) > _SHOWN_COLUMNS:
        shown += f" and {len(columns) - _SHOWN_COLUMNS} more"
    count = None if kind == "view" or _is_virtual(sql) else _count(db, name)
    detail = f"({shown})" + ("" if count is None else f" {count_text(count, 'row')}")
    value = f"({', '.join(columns)}) {'' if count is None else count}"
    told = member_name(name)
    return Entry(kind, told, clean(detail), clean(value), SymbolSelector((told,)))


def _count(db: Any, name: str) -> int | None:
    """Rows of a table, or None where counting takes too long."""
    import apsw

    try:
        return int(_one(db, f"SELECT count(*) FROM {_quoted(name)}"))  # noqa: S608 - quoted; there is no parameter for a name
    except apsw.InterruptError:
        return None


def _as_csv(db: Any, table: str, sql: str) -> Iterator[bytes]:
    if _is_virtual(sql) or not sql.lstrip().lower().startswith("create table"):
        return
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(str(row[1]) for row in _rows(db, f"PRAGMA table_info({_quoted(table)})", 2_000))
    query = f"SELECT * FROM {_quoted(table)} LIMIT {MEMBER_ROWS}"  # noqa: S608 - quoted
    for row in _rows(db, query, MEMBER_ROWS):
        writer.writerow(_shown(value) for value in row)
    yield out.getvalue().encode("utf-8", "replace")


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    text = "" if value is None else str(value)
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


def _is_virtual(sql: str) -> bool:
    """Virtual tables run code of extensions, so they are never asked for rows."""
    return sql.lstrip().lower().startswith("create virtual")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _rows(db: Any, query: str, limit: int) -> list[tuple[Any, ...]]:
    cursor = db.execute(query)
    rows: list[tuple[Any, ...]] = []
    for row in cursor:
        rows.append(row)
        if len(rows) >= limit:
            break
    cursor.close(True)
    return rows


def _one(db: Any, query: str) -> Any:
    return _rows(db, query, 1)[0][0]


@contextmanager
def _opened(source: Bounded) -> Generator[Any]:
    """A connection that can neither write, nor run the schema's functions, nor work for long.

    Raises:
        DamagedError: it is no database, or a damaged one.
    """
    import apsw

    try:
        if source.path is not None:
            uri = f"file:{quote(source.path)}?mode=ro&immutable=1"
            db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        else:
            db = _in_memory(source)
        try:
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            db.limit(apsw.SQLITE_LIMIT_LENGTH, WHOLE_BYTES)
            db.set_progress_handler(_Clock(), _STEPS)
            for pragma in ("query_only = 1", "cell_size_check = 1", "mmap_size = 0"):
                _rows(db, f"PRAGMA {pragma}", 1)
            yield db
        finally:
            db.close(True)
    except apsw.Error as exc:
        raise DamagedError("it is damaged, encrypted or no database at all") from exc


def _in_memory(source: Bounded) -> Any:
    import apsw

    data = bytearray(source.whole())
    # Write-ahead logging needs a file beside the database; what is stored has none.
    data[18:20] = b"\x01\x01"
    db: Any = apsw.Connection(":memory:")
    db.deserialize("main", bytes(data))
    return db


class _Clock:
    """Tells SQLite to stop after so much work."""

    def __init__(self) -> None:
        self._left = _WORK

    def __call__(self) -> bool:
        self._left -= 1
        return self._left < 0
