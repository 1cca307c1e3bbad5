"""Markdown by headings; what only looks like one is passed over."""

from __future__ import annotations

import pytest

from mcp_offload.outline.scanners.markdown import scan
from tests.unit.outline.samples import listing
from tests.unit.outline.scanned import scanned, text_of

EXPECTED = {
    "markdown/guide.md": [
        "<front-matter> front matter 1-4",
        "The Guide section 6-43",
        "Install section 10-29",
        "Install.Linux apt section 21-23",
        "Install.macOS section 25-29",
        "Use it section 31-39",
        "Install section 41-43",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_a_section_holds_its_subsections() -> None:
    view = b"# A\n\n## B\n\ntext\n\n### C\n\n## D\n\n# E\n"
    symbols = scan(view)
    assert [(s.path, s.start_line, s.end_line) for s in symbols] == [
        (("A",), 1, 9),
        (("A", "B"), 3, 7),
        (("A", "B", "C"), 7, 7),
        (("A", "D"), 9, 9),
        (("E",), 11, 11),
    ]
    assert text_of(view, symbols[1].body).strip() == b"text\n\n### C"


def test_the_title_does_not_lengthen_the_names_of_its_sections() -> None:
    assert [s.path for s in scan(b"Title\n=====\n\n## One\n\n### Two\n")] == [
        ("Title",),
        ("One",),
        ("One", "Two"),
    ]


def test_a_fence_without_end_reaches_to_the_end() -> None:
    assert [s.path for s in scan(b"# A\n```\n# B\n")] == [("A",)]
