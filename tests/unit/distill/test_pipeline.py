"""How queries are written."""

from __future__ import annotations

import pytest

from mcp_offload.distill import QueryError, is_pipeline, parse_pipeline


def test_bars_in_quotes_and_brackets_belong_to_the_path() -> None:
    query = parse_pipeline('$.a[?@.b == \'x | y\' || @.c == "\\"|"] | limit 3|count')
    assert query.path == '$.a[?@.b == \'x | y\' || @.c == "\\"|"]'
    assert [step.name for step in query.steps] == ["limit", "count"]


def test_two_bars_are_an_or() -> None:
    query = parse_pipeline("where @.a > 1 || @.b == 'x|y' | $.c")
    assert query.path is None
    assert [(step.name, step.words) for step in query.steps] == [
        ("where", ("@.a > 1 || @.b == 'x|y'",)),
        ("$", ("$.c",)),
    ]


def test_commas_between_fields_are_as_good_as_spaces() -> None:
    for text in ("fields id, city", "fields id,city", "fields id city", "fields id , city"):
        assert parse_pipeline(text).steps[0].words == ("id", "city")
    grouped = parse_pipeline("group city, sum(total), avg(a.b) | sort -count,city").steps
    assert [step.words for step in grouped] == [("city", "sum(total)", "avg(a.b)"), ("-count", "city")]
    assert parse_pipeline("where @.a == 'x,y'").steps[0].words == ("@.a == 'x,y'",)


def test_a_query_is_known_by_how_it_begins() -> None:
    for text in ("$", "$.a", "count", "where @.a", "sort|limit 3"):
        assert is_pipeline(text)
    for text in ("", "rows", "counting", "drop table t", "| count"):
        assert not is_pipeline(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("$ | frob", "Unknown step 'frob'; the steps are where, sort, group"),
        ("$ | limit", "limit N"),
        ("$ | limit -1", "limit N"),
        ("$ | group", "group FIELD"),
        ("$ | fields ,", "fields FIELD, FIELD"),
        ("$ | where", "where @.size"),
        ("$ | count x", "count"),
        ("$ | ", "Unknown step"),
        ("$" + "x" * 2_001, "at most 2000 characters"),
    ],
)
def test_wrong_steps_are_told_with_the_right_ones(text: str, complaint: str) -> None:
    with pytest.raises(QueryError, match=complaint):
        parse_pipeline(text)
