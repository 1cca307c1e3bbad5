"""XML and HTML by elements, from tags alone."""

from __future__ import annotations

import pytest

from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS
from mcp_offload.outline.scanners.xml import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned, text_of

EXPECTED = {
    "xml/build.xml": [
        "project[demo] element 4-16",
        "project[demo].property[src] element 5-5",
        "project[demo].target[all] element 6-10",
        "project[demo].target[all].echo element 8-8",
        "project[demo].target[all].ns:run[r1] element 9-9",
        "project[demo].dependency[lib] element 11-14",
        "project[demo].dependency[lib].groupId element 12-12",
        "project[demo].dependency[lib].artifactId element 13-13",
        "project[demo].unclosed element 15-15",
    ],
    "html/page.html": [
        "html element 2-17",
        "html.head element 3-5",
        "html.head.script element 4-4",
        "html.body element 6-16",
        "html.body.div[main] element 7-15",
        "html.body.div[main].h1[Hello you] element 8-8",
        "html.body.div[main].section element 11-14",
        "html.body.div[main].section.h2[Part] element 12-12",
        "html.body.div[main].section.form[login] element 13-13",
        "html.body.div[main].section.form[login].input[user] element 13-13",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_an_element_is_its_text_from_tag_to_tag() -> None:
    view = sample("xml/build.xml")
    target = named(scanned("xml/build.xml").symbols, "project[demo]", "target[all]")
    assert text_of(view, target.span).startswith(b'  <target name="all"')
    assert text_of(view, target.span).endswith(b"</target>")
    assert text_of(view, target.sig).endswith(b'depends="x">')


def test_nothing_is_expanded() -> None:
    entities = b"".join(b'<!ENTITY e%d "%b">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 30))
    symbols = scan(b"<!DOCTYPE a [" + entities + b"]><a><b>&e29;</b></a>")
    assert [s.path for s in symbols] == [("a",), ("a", "b")]


def test_of_a_long_table_the_first_rows_are_kept() -> None:
    view = b"<rows>" + b"".join(b"<row id='%d'/>" % number for number in range(30_000)) + b"</rows>"
    symbols = scan(view)
    assert len(symbols) == MAX_SYMBOLS
    assert symbols[0].path == ("rows",)
    assert symbols[-1].path == ("rows", f"row[{MAX_SYMBOLS - 2}]")


def test_an_end_tag_closes_what_was_left_open_inside() -> None:
    view = b"<a><b><c></a><d/>"
    assert text_of(view, named(scan(view), "a").span) == b"<a><b><c></a>"
    assert named(scan(view), "d").span.start_byte == 13


def test_an_end_tag_of_nothing_is_passed_over() -> None:
    assert [s.path for s in scan(b"<a></x></y><b/></a>")] == [("a",), ("a", "b")]
