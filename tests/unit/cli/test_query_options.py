"""The query that options spell."""

from __future__ import annotations

import pytest

from mcp_offload.cli.parser import parse
from mcp_offload.cli.query_options import query_text
from mcp_offload.distill import is_pipeline, parse_pipeline
from mcp_offload.errors import UsageError


def spelled(*argv: str) -> str:
    return query_text(parse(["query", "f3", *argv]))


@pytest.mark.parametrize(
    ("argv", "query"),
    [
        (["$.rows[*].name"], "$.rows[*].name"),
        (["$.rows[*]|distinct", "--limit", "3"], "$.rows[*]|distinct | limit 3"),
        (["--where", "@.a > 1 || @.b", "--count"], "where @.a > 1 || @.b | count"),
        (["--sort=-size,name", "--columns", "id, owner.login"], "sort -size name | fields id owner.login"),
        (["--limit", "5", "--sort", "count", "--group", "city"], "group city | sort count | limit 5"),
        (["--sql", "select 1"], "select 1"),
    ],
)
def test_options_become_steps_in_one_order(argv: list[str], query: str) -> None:
    assert spelled(*argv) == query
    if is_pipeline(query):
        parse_pipeline(query)


def test_without_a_query_or_with_two_it_says_what_to_give() -> None:
    with pytest.raises(UsageError, match="Give QUERY, --sql or a step"):
        spelled()
    for argv in (["$.a", "--sql", "select 1"], ["--sql", "select 1", "--count"]):
        with pytest.raises(UsageError, match="--sql is the whole query"):
            spelled(*argv)
