"""Answers a JSONPath with steps, in a query's own process; takes row by row where the path allows it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from io import TextIOWrapper
from itertools import chain, islice
from typing import Any, Final, cast

from mcp_offload.distill import (
    Delimited,
    QueryError,
    field_names,
    parse_pipeline,
    run_steps,
    tables_in,
)

#: What is not taken row by row is held in memory.
MOST_WHOLE_BYTES: Final = 64 << 20
NAMED: Final = 24
SAMPLED_ROWS: Final = 100
#: Places in a text where JSON may begin.
MOST_BEGINNINGS: Final = 200


class Path:
    """A JSONPath, read; called with a document it gives the values there."""

    def __init__(self, text: str) -> None:
        # Untyped in part.
        self._library: Any = import_module("jsonpath")
        self._text = text
        try:
            self._path = self._library.compile(text)
        except self._library.JSONPathError as exc:
            raise self._wrong(exc) from None

    def __call__(self, document: object) -> Iterator[object]:
        """The values at this path."""
        try:
            for match in self._path.finditer(document):
                yield match.obj
        except self._library.JSONPathError as exc:
            raise self._wrong(exc) from None

    @property
    def is_by_row(self) -> bool:
        """Whether of a list each element can be asked alone: ``$[*].name``, ``$[?@.size > 1]``."""
        segments = getattr(self._path, "segments", ())
        first = segments[0] if segments else None
        if "$" in self._text[1:] or type(first).__name__ != "JSONPathChildSegment":
            return False
        kinds = [type(selector).__name__ for selector in getattr(first, "selectors", ())]
        return kinds in (["WildcardSelector"], ["Filter"])

    def _wrong(self, error: Exception) -> QueryError:
        return QueryError(f"The path {self._text[:80]} cannot be read: {str(error).splitlines()[0]}.")


def run_path(query: str, form: str) -> tuple[Iterable[object], Callable[[int], str]]:
    """The rows of a query, and what is to be said about them.

    Raises:
        QueryError: at once or while rows are taken.
    """
    pipeline = parse_pipeline(query)
    path = None if pipeline.path is None else Path(pipeline.path)
    source = _Source(form)
    if form in ("jsonl", "csv") and (path is None or path.is_by_row):
        rows = source.rows()
        values = rows if path is None else chain.from_iterable(path([row]) for row in rows)
    else:
        document = source.document()
        values = _largest(document) if path is None else path(document)
    return run_steps(values, pipeline.steps, Path), source.note


class _Source:
    """The data on standard input."""

    def __init__(self, form: str) -> None:
        self._form = form
        self._document: object = None
        self._sample: list[object] = []
        self._broken = 0
        self._began_at_line = 0

    def rows(self) -> Iterator[object]:
        """Each row of JSON lines or CSV."""
        rows = _csv_rows() if self._form == "csv" else self._json_rows()
        self._sample = list(islice(rows, SAMPLED_ROWS))
        return chain(self._sample, rows)

    def document(self) -> object:
        """All of it, as one JSON value."""
        size = os.fstat(0).st_size
        if size > MOST_WHOLE_BYTES:
            by_row = " A path that begins with $[*] or $[?...] is." if self._form in ("jsonl", "csv") else ""
            raise QueryError(f"Data of {size} bytes is not read whole for a path.{by_row}")
        if self._form in ("jsonl", "csv"):
            self._document = list(self.rows())
        elif self._form == "json":
            self._document = read_json()
        else:
            self._document, self._began_at_line = _json_in_text(sys.stdin.buffer.read())
        return self._document

    def note(self, count: int) -> str:
        """What a reader of the rows has to know: what was passed over; where nothing came, what there is."""
        said: list[str] = []
        if self._broken:
            said.append(f"{self._broken} lines that are not JSON were passed over")
        if self._began_at_line:
            said.append(f"the JSON begins in line {self._began_at_line}")
        if count == 0:
            said.append(f"no rows; {self._present()}")
        return "; ".join(said)

    def _present(self) -> str:
        if self._document is None or self._form in ("jsonl", "csv"):
            return f"the rows have {_listed(field_names(self._sample))}"
        tables = tables_in(self._document)
        if tables:
            fields = _listed(field_names(tables[0].rows[:SAMPLED_ROWS]))
            return f"there is {tables[0].row_path()} {len(tables[0].rows):,} rows with {fields}"
        document = self._document
        if isinstance(document, dict):
            return f"$ has {_listed(list(cast('dict[str, object]', document)))}"
        return f"$ is of the type {type(document).__name__}"

    def _json_rows(self) -> Iterator[object]:
        found = False
        for line in sys.stdin.buffer:
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                self._broken += 1
                continue
            found = True
            yield row
        if self._broken and not found:
            raise QueryError("It is not JSON lines: no line is JSON.")


def read_json() -> object:
    """The JSON document on standard input.

    Raises:
        QueryError: it is none.
    """
    try:
        return json.loads(sys.stdin.buffer.read())
    except ValueError as exc:
        raise QueryError(f"It is not JSON: {exc}") from None


def _csv_rows() -> Iterator[object]:
    text = TextIOWrapper(sys.stdin.buffer, "utf-8", "replace", newline="")
    table = Delimited(text)
    text.seek(0)
    return table.rows(text)


def _json_in_text(data: bytes) -> tuple[object, int]:
    """The first JSON list or object that begins a line of a text, and that line."""
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at, tried = 0, 0
    while tried < MOST_BEGINNINGS and at < len(text):
        if text[at] in "[{":
            tried += 1
            try:
                return decoder.raw_decode(text, at)[0], text.count("\n", 0, at) + 1
            except ValueError:
                pass
        end = text.find("\n", at)
        at = len(text) if end < 0 else end + 1
    raise QueryError("It holds no JSON that begins a line; read or search it.")


def _largest(document: object) -> Iterable[object]:
    tables = tables_in(document)
    if tables:
        return tables[0].rows
    return cast("list[object]", document) if isinstance(document, list) else [document]


def _listed(names: list[str]) -> str:
    if not names:
        return "no fields"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
