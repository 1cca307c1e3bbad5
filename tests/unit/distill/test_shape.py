"""The shape of structured data in a few lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.distill import shape_of, tables_in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=40,
)


def lines(value: Any) -> list[str]:
    shape = shape_of(value)
    assert shape is not None
    return list(shape.lines)


def rows(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"row {n}", "city": f"city {n % 3}"} for n in range(count)]


def test_a_list_of_objects() -> None:
    assert lines(rows(30)) == [
        "$[*] 30 objects: id int, name str, city str",
        "city: city 0 10, city 1 10, city 2 10",
        '$[0] {"id":0,"name":"row 0","city":"city 0"}',
        '$[1] {"id":1,"name":"row 1","city":"city 1"}',
        '$[29] {"id":29,"name":"row 29","city":"city 2"}',
    ]


def test_fields_that_are_missing_or_of_several_types() -> None:
    value = [{"a": 1}, {"a": None, "b": [1.5]}, {"a": "x", "c": {"d": 1, "e": 2}}, 7]
    assert lines(value)[0] == "$[*] 3 objects, 1 others: a int|null|str, b [float]? (1), c {d, e}? (1)"


def test_a_page_of_an_answer_tells_its_totals_and_cursors() -> None:
    value = {
        "data": {"search": {"edges": rows(12), "pageInfo": {"hasNextPage": True, "endCursor": "Y3Vyc29y"}}},
        "total": 4_711,
    }
    told = lines(value)
    assert told[0].startswith("$.data.search.edges[*] 12 objects: ")
    assert "$.data.search.pageInfo.hasNextPage true" in told
    assert '$.data.search.pageInfo.endCursor "Y3Vyc29y"' in told
    assert "$.total 4711" in told


def test_a_tree_is_counted_to_its_leaves() -> None:
    leaf = {"name": "x", "type": "file"}
    folder = {"name": "d", "type": "directory", "children": [leaf, leaf, {**leaf, "type": "link"}]}
    told = lines([{**folder, "children": [folder, leaf]}, leaf, leaf])
    assert told[1] == "tree by children: 8 nodes, 3 deep"
    assert told[3] == "in all nodes type: file 5, directory 2, link 1"


def test_odd_keys_have_paths_that_name_them() -> None:
    told = lines({"it's": {"a b": rows(3)}})
    assert told[0].startswith("$['it\\'s']['a b'][*] 3 objects")


def test_long_values_and_many_fields_are_cut() -> None:
    told = lines([{f"field_{n}": "v" * 500 for n in range(60)} for _ in range(4)])
    assert told[0].endswith("36 more fields")
    assert max(map(len, told)) < 1_500


def test_what_holds_no_table_has_no_shape() -> None:
    for value in ({"a": {"b": 1}}, [1, 2, 3, 4], rows(2), "x", None):
        assert shape_of(value) is None


@given(JSON)
def test_any_value_is_told_or_not_and_paths_lead_to_the_tables(value: Any) -> None:
    shape = shape_of(value)
    assert (shape is None) == (tables_in(value) == [])
    for table in tables_in(value):
        assert len(table.rows) >= 3
    if shape is not None:
        json.dumps(shape.lines)
