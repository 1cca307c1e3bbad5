"""The options of ``query``, and the query that they spell."""

from __future__ import annotations

import argparse
from typing import Final

from mcp_offload.errors import UsageError

_BY_STEPS: Final = ("where", "group", "sort", "columns", "limit", "count")


def add_query_options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("handle", metavar="H", help="handle or path")
    parser.add_argument(
        "query", metavar="QUERY", nargs="?", help="a JSONPath with steps, or SQL; default: the largest list"
    )
    parser.add_argument("--sql", metavar="SELECT", help="one SELECT over the table t; needs the extra sql")
    steps = parser.add_argument_group("steps behind QUERY, in this order")
    steps.add_argument("--where", metavar="EXPR", help="rows for which it holds: '@.size > 100'")
    steps.add_argument("--group", metavar="FIELDS", help="one row for each combination, with its count")
    steps.add_argument("--sort", metavar="FIELDS", help="in order; --sort=-size from the largest on")
    steps.add_argument("--columns", metavar="FIELDS", help="these alone, as id,owner.login")
    steps.add_argument("--limit", type=int, metavar="N", help="the first N")
    steps.add_argument("--count", action="store_true", help="how many")


def query_text(args: argparse.Namespace) -> str:
    """The query as it stands behind ``#?`` in a handle.

    Raises:
        UsageError: there is none, or SQL stands beside what it replaces.
    """
    steps = _steps(args)
    if args.sql is not None:
        if args.query is not None or steps:
            raise UsageError("--sql is the whole query; leave QUERY and the steps out.")
        return str(args.sql)
    parts = [*([args.query] if args.query is not None else []), *steps]
    if not parts:
        raise UsageError("Give QUERY, --sql or a step: '$.rows[*].name', --where '@.size > 100', --count.")
    return " | ".join(parts)


def _steps(args: argparse.Namespace) -> list[str]:
    steps: list[str] = []
    for name in _BY_STEPS:
        value = getattr(args, name)
        if value is None or value is False:
            continue
        step = "fields" if name == "columns" else name
        if name in ("group", "sort", "columns"):
            value = " ".join(field.strip() for field in str(value).split(",") if field.strip())
        steps.append(step if value is True else f"{step} {value}")
    return steps
