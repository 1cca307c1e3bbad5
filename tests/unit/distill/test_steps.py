"""What the steps of a query do with rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.distill import QueryError, parse_pipeline, run_steps
from mcp_offload.parsing.query_path import Path

ROWS: list[Any] = [
    {"n": 3, "city": "Rome", "at": {"x": 1}},
    {"n": 1, "city": "Oslo", "at": {"x": [7, 8]}},
    {"n": 2, "city": "Rome"},
    {"n": None, "city": "Bern"},
]
NUMBERED = st.lists(
    st.fixed_dictionaries({"n": st.integers(-50, 50), "city": st.sampled_from(["a", "b", "c"])}), min_size=1
)


def run(steps: str, rows: Iterable[object] = ROWS) -> list[Any]:
    return list(run_steps(rows, parse_pipeline(f"$ | {steps}").steps, Path))


def test_sorting_by_fields_up_and_down_with_what_is_missing_first() -> None:
    assert [row["n"] for row in run("sort n")] == [None, 1, 2, 3]
    assert [row["n"] for row in run("sort -city n")] == [2, 3, 1, None]
    assert run("sort", [2, "a", None, 1, [1], {"b": 1}]) == [None, 1, 2, "a", [1], {"b": 1}]
    assert run("sort -", [1, 3, 2]) == [3, 2, 1]


def test_groups_are_counted() -> None:
    assert run("group city | sort -count city") == [
        {"city": "Rome", "count": 2},
        {"city": "Bern", "count": 1},
        {"city": "Oslo", "count": 1},
    ]


def test_sums_and_means_pass_over_what_is_no_number() -> None:
    rows = [{"a": 1}, {"a": 2.5}, {"a": "x"}, {"a": None}, {"a": True}, {}]
    assert run("group sum(a) avg(a) min(a)", rows) == [
        {"count": 6, "sum(a)": 3.5, "avg(a)": 1.75, "min(a)": 1}
    ]
    assert run("group sum(a) avg(a) max(a)", [{"a": None}]) == [
        {"count": 1, "sum(a)": None, "avg(a)": None, "max(a)": None}
    ]


@given(NUMBERED)
def test_groups_agree_with_the_rows(rows: list[dict[str, Any]]) -> None:
    told = {row["city"]: row for row in run("group city sum(n) min(n) max(n) avg(n)", rows)}
    assert {city: row["count"] for city, row in told.items()} == Counter(row["city"] for row in rows)
    for city, row in told.items():
        numbers = [one["n"] for one in rows if one["city"] == city]
        assert (row["sum(n)"], row["min(n)"], row["max(n)"]) == (sum(numbers), min(numbers), max(numbers))
        assert row["avg(n)"] == sum(numbers) / len(numbers)


@given(NUMBERED, st.integers(-50, 50), st.integers(0, 9))
def test_where_sort_skip_and_limit_agree_with_python(
    rows: list[dict[str, Any]], least: int, most: int
) -> None:
    kept = sorted((row for row in rows if row["n"] >= least), key=lambda row: row["n"])
    assert run(f"where @.n >= {least} | sort n | skip 1 | limit {most}", rows) == kept[1:][:most]
    assert run(f"where @.n >= {least} | count", rows) == [len(kept)]


def test_fields_reach_into_rows_by_dots() -> None:
    assert run("fields n at.x at.x.1 | limit 2") == [
        {"n": 3, "at.x": 1, "at.x.1": None},
        {"n": 1, "at.x": [7, 8], "at.x.1": 8},
    ]
    assert run("fields a.b", [{"a.b": 1, "a": {"b": 2}}]) == [{"a.b": 1}]


def test_counting_skipping_and_what_is_different() -> None:
    assert run("count") == [4]
    assert run("skip 1 | limit 2 | count") == [2]
    assert run("fields city | distinct | count") == [3]


def test_a_path_is_asked_of_each_value_and_texts_may_be_json() -> None:
    rows = [{"body": '{"items": [{"id": 1}, {"id": 2}]}'}, {"body": '{"items": [{"id": 3}]}'}]
    assert run("$.body | json | $.items[*].id", rows) == [1, 2, 3]
    with pytest.raises(QueryError, match="This text is no JSON: 'x'"):
        run("json", ["x"])


def test_rows_are_taken_only_as_far_as_they_are_wanted() -> None:
    def endless() -> Iterator[object]:
        yield from ({"n": n} for n in count())

    assert run("where @.n > 2 | fields n | skip 1 | limit 2", endless()) == [{"n": 4}, {"n": 5}]


@pytest.mark.parametrize(
    "steps", ["sort nope", "group nope", "fields city nope | limit 1", "group sum(nope)"]
)
def test_a_field_that_no_row_has_is_told_with_those_there_are(steps: str) -> None:
    with pytest.raises(QueryError, match=r"No row has the field 'nope'; there are n, city, at\."):
        run(steps)
    assert run(steps, []) == []


def test_a_field_that_only_a_late_row_has_is_one() -> None:
    rows: list[object] = [*({"n": n} for n in range(2_000)), {"n": 0, "late": 1}]
    assert run("sort -late | limit 1", rows) == [{"n": 0, "late": 1}]
    with pytest.raises(QueryError, match="No row has the field 'nope'"):
        run("fields nope | count", rows)


def test_rows_without_fields_are_told_so() -> None:
    with pytest.raises(QueryError, match="the rows are no objects"):
        run("sort name", [1, 2])


@pytest.mark.parametrize("steps", ["where @.n >", "where n > 2", "$.a["])
def test_an_expression_that_cannot_be_read_is_told_before_any_row_is_taken(steps: str) -> None:
    def rows() -> Iterator[object]:
        raise AssertionError
        yield

    with pytest.raises(QueryError, match="cannot be read"):
        run_steps(rows(), parse_pipeline(f"$ | {steps}").steps, Path)
