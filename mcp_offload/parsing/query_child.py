"""The process that runs one query: its data on standard input, its rows on standard output.

It limits itself in memory and time, so that it cannot outlive a parent that was killed. A query that is
wrong ends it with :data:`WRONG`, and standard error says why; of one that is right it says what a reader of
its rows has to know.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final, NoReturn, cast

from mcp_offload.distill import QueryError

WRONG: Final = 3
NO_ENGINE: Final = 4
#: More would fill the pipe while nobody reads it.
NOTE_CHARS: Final = 1_000

#: Rows, and what is to be said about them once they are taken; told how many there were.
Answer = tuple[Iterable[object], Callable[[int], str]]


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
    try:
        rows, note = _answer(spec["query"], spec["form"], sql=spec["sql"])
        count = 0
        with sink:
            for row in rows:
                sink.write(json_line(row))
                count += 1
        _say(0, note(count))
    except QueryError as exc:
        _say(WRONG, str(exc))
    except ModuleNotFoundError:
        _say(NO_ENGINE, "")
    except RecursionError:
        _say(WRONG, "The document is nested too deeply.")


def json_line(row: object) -> bytes:
    """A row as one line of JSON; what JSON has no form for becomes text."""
    try:
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)
    except ValueError:
        finite = _finite(row)
        text = json.dumps(finite, ensure_ascii=False, separators=(",", ":"), default=_plain)
    except TypeError:
        raise QueryError("A value has no form in JSON; cast it to text.") from None
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _answer(query: str, form: str, *, sql: bool) -> Answer:
    """Each engine is loaded where it is used."""
    if sql:
        from mcp_offload.parsing.query_sql import run_sql

        return run_sql(query, form)
    from mcp_offload.parsing.query_path import run_path

    return run_path(query, form)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        number = int(value) if value == value.to_integral_value() else float(value)
        return number if Decimal(repr(number)) == value else str(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _finite(value: object) -> object:
    """The value with the numbers that JSON does not have as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast("list[object]", value)]
    return value


def _say(status: int, text: str) -> NoReturn:
    sys.stderr.write(text[:NOTE_CHARS])
    sys.stderr.flush()
    os._exit(status)
