"""CSV as rows of JSON."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.distill import Delimited, QueryError

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=8)


def rows(text: str) -> list[dict[str, Any]]:
    table = Delimited(StringIO(text, newline=""))
    return list(table.rows(StringIO(text, newline="")))


def test_a_column_of_numbers_is_numbers_and_codes_stay_texts() -> None:
    assert rows("id,code,price,note\n1,01234,2.5,\n-2,56789,1e3,x\n") == [
        {"id": 1, "code": "01234", "price": 2.5, "note": None},
        {"id": -2, "code": "56789", "price": 1000.0, "note": "x"},
    ]
    assert rows("n\n12345678901234567890\n1\n") == [{"n": "12345678901234567890"}, {"n": "1"}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_quotes_line_ends_and_delimiters(delimiter: str) -> None:
    text = f'\ufeffa{delimiter}b\n"x{delimiter}y"{delimiter}"two\nlines ""quoted"""\n\nz{delimiter}1\n'
    assert rows(text) == [{"a": f"x{delimiter}y", "b": 'two\nlines "quoted"'}, {"a": "z", "b": "1"}]


def test_rows_that_are_too_long_or_too_short_and_columns_without_a_name() -> None:
    assert rows("a,,a\n1,2,3\n4\n5,6,7,8\n") == [
        {"a": 1, "column 2": 2, "a 3": 3},
        {"a": 4},
        {"a": 5, "column 2": 6, "a 3": 7, "column 4": 8},
    ]
    assert rows("") == []
    assert rows("a,b\n") == []


def test_what_is_no_csv_is_told_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_offload.distill.delimited.MOST_CELL_CHARS", 10)
    with pytest.raises(QueryError, match="Line 2 is not CSV: field larger"):
        rows("a,b\n" + "x" * 100 + ",1\n")


@given(st.lists(st.tuples(CELL, CELL), max_size=12))
def test_texts_survive(cells: list[tuple[str, str]]) -> None:
    out = StringIO(newline="")
    csv.writer(out).writerows([("k", "v"), *(("t" + a, "t" + b) for a, b in cells)])
    assert rows(out.getvalue()) == [{"k": "t" + a, "v": "t" + b} for a, b in cells]
