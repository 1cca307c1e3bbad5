"""The process that runs one query: its data on standard input, its rows on standard output.

It limits itself in memory and time, so that it cannot outlive a parent that was killed. A query that is
wrong ends it with :data:`WRONG` and says why on standard error.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, BinaryIO, Final, NoReturn, cast

from mcp_offload.distill import QueryError, parse_pipeline, run_steps, tables_in

WRONG: Final = 3
NO_ENGINE: Final = 4
SQL_MEMORY: Final = "512MB"


def main(argv: list[str]) -> NoReturn:
    """Run the query that the specification in ``argv`` tells, as JSON."""
    spec = json.loads(argv[0])
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, spec["seconds"])
    for limit, size in ((resource.RLIMIT_AS, spec["memory_bytes"]), (resource.RLIMIT_CORE, 0)):
        _, ceiling = resource.getrlimit(limit)
        resource.setrlimit(limit, (size if ceiling < 0 else min(size, ceiling), ceiling))
    run = _run_sql if spec["sql"] else _run_path
    try:
        with sink:
            for row in run(spec["query"], spec["form"]):
                sink.write(_line(row))
    except QueryError as exc:
        _complain(WRONG, str(exc))
    except RecursionError:
        _complain(WRONG, "The document is nested too deeply.")
    sys.exit(0)


def _run_path(query: str, form: str) -> Iterable[object]:
    path, steps = parse_pipeline(query)
    # Untyped in part, and needed in this process alone.
    jsonpath: Any = import_module("jsonpath")
    try:
        compiled = jsonpath.compile(path)
        found: list[object] = compiled.findall(_document(form))
    except jsonpath.JSONPathError as exc:
        raise QueryError(f"The path cannot be read: {str(exc).splitlines()[0]}") from None
    return run_steps(found, steps)


def _document(form: str) -> object:
    text = sys.stdin.buffer.read()
    try:
        if form == "jsonl":
            return [json.loads(line) for line in text.split(b"\n") if line.strip()]
        return json.loads(text)
    except ValueError as exc:
        raise QueryError(f"It is not JSON: {exc}") from None


def _run_sql(query: str, form: str) -> Iterable[object]:
    try:
        duckdb: Any = import_module("duckdb")
    except ImportError:
        _complain(NO_ENGINE, "")
    config = {
        "threads": 1,
        "memory_limit": SQL_MEMORY,
        "temp_directory": "",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    with duckdb.connect(":memory:", config=config) as connection, _rows_file(form) as (path, reader):
        try:
            connection.execute("CREATE TABLE t AS SELECT * FROM " + reader(path))  # noqa: S608 - our own text
            # From here on it sees no file, no network and no extension, and cannot change that.
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError("Only one SELECT is run; the rows are in the table t.")
            connection.execute(query)
            names = [column[0] for column in connection.description]
            while rows := connection.fetchmany(1_000):
                yield from (dict(zip(names, row, strict=True)) for row in rows)
        except duckdb.Error as exc:
            raise QueryError(f"The database says: {str(exc).splitlines()[0]}") from None


class _rows_file:
    """What the database reads: the data itself, or the rows of a JSON document written apart."""

    def __init__(self, form: str) -> None:
        self._form = form
        self._file: BinaryIO | None = None

    def __enter__(self) -> tuple[str, Callable[[str], str]]:
        readers: dict[str, str] = {
            "csv": "read_csv_auto('{}')",
            "jsonl": "read_json_auto('{}', format='newline_delimited', maximum_object_size=67108864)",
            "parquet": "read_parquet('{}')",
        }
        if self._form != "json":
            return "/dev/fd/0", readers[self._form].format
        value = _document("json")
        tables = tables_in(value)
        whole = cast("list[object]", value) if isinstance(value, list) else [value]
        self._file = cast("BinaryIO", tempfile.TemporaryFile())
        for row in tables[0].rows if tables else whole:
            self._file.write(_line(cast("object", row) if isinstance(row, dict) else {"value": row}))
        self._file.flush()
        return f"/dev/fd/{self._file.fileno()}", readers["jsonl"].format

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def _line(row: object) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str).encode() + b"\n"


def _complain(status: int, text: str) -> NoReturn:
    sys.stderr.write(text)
    sys.stderr.flush()
    os._exit(status)
