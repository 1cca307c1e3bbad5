"""Steps behind a path."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_offload.distill import QueryError, parse_pipeline, run_steps

ROWS: list[Any] = [
    {"n": 3, "city": "Rome", "at": {"x": 1}},
    {"n": 1, "city": "Oslo", "at": {"x": [7, 8]}},
    {"n": 2, "city": "Rome"},
    {"n": None, "city": "Bern"},
]


def run(steps: str) -> list[Any]:
    _, parsed = parse_pipeline(f"$ | {steps}")
    return run_steps(ROWS, parsed)


def test_bars_in_quotes_and_brackets_belong_to_the_path() -> None:
    path, steps = parse_pipeline('$.a[?@.b == \'x | y\' || @.c == "\\"|"] | limit 3|count')
    assert path == '$.a[?@.b == \'x | y\' || @.c == "\\"|"]'
    assert [step.name for step in steps] == ["limit", "count"]


def test_sorting_by_fields_up_and_down_with_what_is_missing_first() -> None:
    assert [row["n"] for row in run("sort n")] == [None, 1, 2, 3]
    assert [row["n"] for row in run("sort -city n")] == [2, 3, 1, None]
    assert run_steps([2, "a", None, 1], parse_pipeline("$|sort")[1]) == [None, 1, 2, "a"]


def test_groups_are_counted() -> None:
    assert run("group city | sort -count city") == [
        {"city": "Rome", "count": 2},
        {"city": "Bern", "count": 1},
        {"city": "Oslo", "count": 1},
    ]


def test_fields_reach_into_rows_by_dots() -> None:
    assert run("fields n at.x at.x.1 | limit 2") == [
        {"n": 3, "at.x": 1, "at.x.1": None},
        {"n": 1, "at.x": [7, 8], "at.x.1": 8},
    ]


def test_counting_skipping_and_what_is_different() -> None:
    assert run("count") == [4]
    assert run("skip 1 | limit 2 | count") == [2]
    assert run("fields city | distinct | count") == [3]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("$ | frob", "Unknown step 'frob'; the steps are sort, group"),
        ("$ | limit", "limit N"),
        ("$ | limit -1", "limit N"),
        ("$ | group", "group FIELD"),
        ("$ | count x", "count"),
        ("$ | ", "Unknown step"),
        ("$" + "x" * 2_001, "at most 2000 characters"),
    ],
)
def test_wrong_steps_are_told_with_the_right_ones(text: str, complaint: str) -> None:
    with pytest.raises(QueryError, match=complaint):
        parse_pipeline(text)
