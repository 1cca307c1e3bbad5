"""TOML by tables and keys, arrays of tables by index."""

from __future__ import annotations

import tomllib

import pytest

from mcp_offload.outline.scanners.toml import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned

EXPECTED = {
    "toml/project.toml": [
        "title key 2-2",
        "tool.ruff table 4-14",
        "tool.ruff.line-length key 5-5",
        "tool.ruff.select key 6-10",
        "tool.ruff.text key 11-14",
        "tool.ruff.lint.per-file table 16-19",
        "tool.ruff.lint.per-file.tests/*.py key 17-17",
        "tool.ruff.lint.per-file.a.b.c d key 18-19",
        "products.0 table 21-22",
        "products.0.name key 22-22",
        "products.0.size table 23-24",
        "products.0.size.w key 24-24",
        "products.1 table 26-27",
        "products.1.name key 27-27",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_every_key_of_the_language_is_found() -> None:
    view = sample("toml/project.toml")
    whole = tomllib.loads(view.decode())
    for symbol in scan(view):
        value = whole
        for segment in symbol.path:
            value = value[int(segment)] if isinstance(value, list) else value[segment]


def test_a_bracket_left_open_ends_at_the_next_header() -> None:
    assert named(scan(b"a = [\n 1,\n[b]\nc = 2\n"), "b", "c").start_line == 4
