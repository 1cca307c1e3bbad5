"""Notebooks by cell, with what the cells define."""

from __future__ import annotations

import json

import pytest

from mcp_offload.outline.scanners.notebook import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned, text_of

EXPECTED = {
    "notebook/analysis.ipynb": [
        "cell0 markdown cell 3-7",
        'cell0.Load "data" heading 6-6',
        "cell0.Details heading 6-6",
        "cell1 code cell 8-32",
        "cell1.load function 16-22",
        "cell1.Model class 24-27",
        "cell1.go function 30-30",
        "cell2 raw cell 33-36",
        "metadata object 38-38",
        "nbformat number 39-39",
        "nbformat_minor number 40-40",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_a_notebook_on_one_line_has_the_same_names() -> None:
    view = json.dumps(json.loads(sample("notebook/analysis.ipynb"))).encode()
    symbols = scan(view)
    assert {s.path for s in symbols} == {s.path for s in scan(sample("notebook/analysis.ipynb"))}
    model = named(symbols, "cell1", "Model")
    assert text_of(view, model.span).startswith(b"class Model(\\n")
    assert text_of(view, model.span).endswith(b"x = '\\\\n'\\n")


def test_source_may_be_one_string() -> None:
    cell = {"cell_type": "code", "source": "x = 1\ndef f():\n    return '\\\\n'\n\nf()\n"}
    view = json.dumps({"cells": [cell], "nbformat": 4}).encode()
    assert json.loads(b'"' + text_of(view, named(scan(view), "cell0", "f").span) + b'"').startswith(
        "def f():\n    return"
    )


def test_cells_of_the_older_format_stand_in_worksheets() -> None:
    view = json.dumps(
        {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["def f(): pass"]}]}]}
    ).encode()
    assert [s.path for s in scan(view)] == [("nbformat",), ("cell0",), ("cell0", "f")]


def test_all_cells_have_handles() -> None:
    view = json.dumps({"cells": [{"cell_type": "raw", "source": []}] * 500}).encode()
    assert scan(view)[-1].path == ("cell499",)
