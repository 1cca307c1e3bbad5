"""JSON by keys, on one line or many, with comments, as lines, and damaged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS
from mcp_offload.outline.scanners.json import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned, text_of

EXPECTED = {
    "json/package.json": [
        "name string 2-2",
        "dependencies object 3-6",
        "dependencies.react string 4-4",
        "dependencies.@scope/with.dots string 5-5",
        "scripts object 7-7",
        "scripts.build string 7-7",
        "scripts.test string 7-7",
        "files array 8-8",
        "contributors array 9-13",
        "contributors.0 object 10-10",
        "contributors.0.name string 10-10",
        "contributors.0.roles array 10-10",
        "contributors.0.roles.0 object 10-10",
        "contributors.0.roles.0.id number 10-10",
        "contributors.2 object 12-12",
        "contributors.2.name string 12-12",
        "café 😀 null 14-14",
        "private boolean 15-15",
    ],
    "json/settings.jsonc": [
        "editor.tabSize number 4-4",
        "single string 5-5",
        "unquoted object 6-6",
        "unquoted.nested number 6-6",
    ],
    "json/events.jsonl": [
        "0 object 1-1",
        "0.event string 1-1",
        "0.at number 1-1",
        "1 object 2-2",
        "1.event string 2-2",
        "1.detail object 2-2",
        "1.detail.code number 2-2",
        "2 object 4-4",
        "2.event string 4-4",
    ],
    "json/damaged.json": [
        "first object 2-2",
        "first.a number 2-2",
        "broken string 3-3",
        "after array 4-5",
        "after.last object 5-5",
        "after.last.b number 5-5",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_a_key_in_a_document_of_one_line_has_its_own_span() -> None:
    document = {
        "items": [{"id": number, "note": "x" * 40} for number in range(2000)],
        "last": {"deep": {"key": "}{"}},
    }
    view = json.dumps(document).encode()
    key = named(scan(view), "last", "deep", "key")
    assert text_of(view, key.span) == b'"key": "}{"'
    assert text_of(view, key.body) == b'"}{"'
    assert text_of(view, key.sig) == b'"key"'
    assert (key.start_line, key.end_line) == (1, 1)


def test_elements_of_a_long_array_are_limited() -> None:
    symbols = scan(json.dumps([{"a": 1}] * 5000).encode())
    assert symbols[-1].path == ("199", "a")


def test_deeper_levels_go_first_where_there_are_too_many_keys() -> None:
    view = json.dumps({f"k{number}": {"a": {"b": 1}} for number in range(15_000)}).encode()
    depths = [len(symbol.path) for symbol in scan(view)]
    assert len(depths) == MAX_SYMBOLS
    assert depths.count(1) == 15_000
    assert max(depths) == 2


def test_the_text_of_every_value_is_what_a_json_parser_reads() -> None:
    view = sample("json/package.json")
    whole = json.loads(view)
    for symbol in scan(view):
        value = whole
        for segment in symbol.path:
            value = value[int(segment)] if isinstance(value, list) else value[segment]
        assert json.loads(text_of(view, symbol.body)) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_any_document_gives_spans_that_parse_to_their_values(document: object) -> None:
    view = json.dumps(document).encode()
    for symbol in scan(view):
        json.loads(text_of(view, symbol.body))


def test_quotes_without_end_stay_on_their_line() -> None:
    assert named(scan(b'{"a": "no end\n "b": 1}'), "b").start_line == 2
