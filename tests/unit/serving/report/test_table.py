"""Tables: what ends a cell is escaped, numbers stand on the right."""

from __future__ import annotations

import pytest

from serving.report import Table, number

TABLE = Table(["cell", "tok/s"], [["a|b", "1,000.0"], ["long\nname", "2.5"]])


def test_markdown_aligns_numbers_and_escapes() -> None:
    assert TABLE.markdown() == (
        "| cell | tok/s |\n| --- | ---: |\n| a\\|b | 1,000.0 |\n| long name | 2.5 |\n"
    )


def test_text_is_as_wide_as_it_must_be() -> None:
    assert TABLE.text() == "cell         tok/s\na|b        1,000.0\nlong name      2.5\n"


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells under 2 columns"):
        Table(["a", "b"], [["only"]])


def test_numbers() -> None:
    assert [number(1234.56), number(0.5, 2), number(None)] == ["1,234.6", "0.50", "-"]
