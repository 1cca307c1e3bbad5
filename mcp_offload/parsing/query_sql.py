"""Answers SQL, in a query's own process, with a database that is shut in with the one table it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, cast

from mcp_offload.distill import QueryError, tables_in
from mcp_offload.parsing.query_child import json_line
from mcp_offload.parsing.query_path import read_json

MEMORY: Final = "512MB"
FETCHED_ROWS: Final = 1_000
MESSAGE_CHARS: Final = 400
_READERS: Final = {
    "csv": "read_csv_auto('{}')",
    "jsonl": "read_json_auto('{}', format='newline_delimited', maximum_object_size=67108864)",
    "parquet": "read_parquet('{}')",
}
#: Nothing is loaded by itself, spilled to a disk, or taken from variables of this program.
_SETTINGS: Final = {
    "threads": 1,
    "memory_limit": MEMORY,
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


def run_sql(query: str, form: str) -> tuple[Iterable[object], Callable[[int], str]]:
    """The rows of one SELECT over the table ``t``.

    Raises:
        QueryError: it is no SELECT, or the database says what is wrong with it.
        ModuleNotFoundError: the database is not installed.
    """
    return _rows(import_module("duckdb"), query, form), lambda count: "" if count else "no rows"


def _rows(duckdb: Any, query: str, form: str) -> Iterator[object]:
    try:
        with duckdb.connect(":memory:", config=_SETTINGS) as connection:
            _load(connection, form)
            # From here on it sees no file, no network and no extension, and cannot change that.
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError("Only one SELECT is run; the rows are in the table t.")
            connection.execute(query)
            names = _distinct([column[0] for column in connection.description])
            while rows := connection.fetchmany(FETCHED_ROWS):
                yield from (dict(zip(names, row, strict=True)) for row in rows)
    except duckdb.Error as exc:
        raise QueryError(f"The database says: {_message(str(exc))}") from None


def _load(connection: Any, form: str) -> None:
    """Make the table from the data itself, or from the rows of a JSON document written apart."""
    if form != "json":
        connection.execute(f"CREATE TABLE t AS SELECT * FROM {_READERS[form].format('/dev/fd/0')}")  # noqa: S608 - our own text
        return
    value = read_json()
    tables = tables_in(value)
    whole = cast("list[object]", value) if isinstance(value, list) else [value]
    with cast("BinaryIO", TemporaryFile()) as file:
        for row in tables[0].rows if tables else whole:
            file.write(json_line(cast("object", row) if isinstance(row, dict) else {"value": row}))
        file.flush()
        reader = _READERS["jsonl"].format(f"/dev/fd/{file.fileno()}")
        connection.execute(f"CREATE TABLE t AS SELECT * FROM {reader}")  # noqa: S608 - our own text


def _distinct(names: Sequence[str]) -> list[str]:
    """The columns, each with a name of its own, or a row would lose one of them."""
    found: list[str] = []
    for at, name in enumerate(names):
        found.append(name if name not in found else f"{name}:{at + 1}")
    return found


def _message(text: str) -> str:
    """What is wrong, and the candidates that the database names, without its picture of the query."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    return " ".join([*lines[:1], *told])[:MESSAGE_CHARS]
