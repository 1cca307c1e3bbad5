"""No scanner raises or leaves the view, whatever the bytes; none gives more symbols than the limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.models import Symbol
from mcp_offload.outline import outline
from mcp_offload.outline.scanners import SCANNERS
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS
from tests.unit.outline.samples import DATA

PIECES = [
    b"\n", b" ", b"    ", b"\t", b"\r\n", b"\x00", b"\xff", "é".encode(), b"\\", b"'", b'"', b"`", b"a",
    b"Key", b"01 ",
    b"{", b"}", b"[", b"]", b"(", b")", b"<", b">", b"</", b"/>", b"<!--", b"-->", b"<a>", b"</a>",
    b"<a id='x'>", b"<![CDATA[",
    b":", b": ", b",", b";", b"=", b"#", b"# ", b"- ", b"---\n", b"|\n", b"```\n", b"/\n", b"/*", b"*/",
    b"--", b"$$", b"q'[", b"]'",
    b'"key": ', b"1", b"[[a]]\n", b"[a]\n", b"a = 1\n", b"a:\n", b"  b: c\n", b'"""', b"'''",
    b"CREATE ", b"PACKAGE ", b"BODY ", b"p ", b"PROCEDURE ", b"FUNCTION ", b"IS\n", b"BEGIN ", b"END;\n",
    b"END p;\n", b"TYPE ",
    b"TABLE t (", b"CASE ", b"IF ", b"LOOP ", b"DECLARE ", b"TRIGGER ", b"DELIMITER //\n",
    b"COPY t FROM stdin;\n", b"\\.\n",
    b"       IDENTIFICATION DIVISION.\n", b"       PROGRAM-ID. A.\n", b"       DATA DIVISION.\n",
    b"       01 A.\n",
    b"           05 B.\n", b"       PROCEDURE DIVISION.\n", b"       A.\n", b"       A SECTION.\n",
    b"       END PROGRAM A.\n",
    b"           EXEC SQL\n", b" END-EXEC\n", b"      * c\n", b"       COPY C.\n",
    b'{"cells": [', b'{"cell_type": "code", "source": ["def f():\\n", "  pass"]}',
]  # fmt: skip
SAMPLES = sorted(path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file())


def check(symbols: list[Symbol], view: bytes) -> None:
    assert len(symbols) <= MAX_SYMBOLS
    for symbol in symbols:
        assert 0 <= symbol.span.start_byte <= symbol.span.end_byte <= len(view)
        assert symbol.start_line == view.count(b"\n", 0, symbol.span.start_byte) + 1
        assert symbol.start_line <= symbol.end_line <= view.count(b"\n") + 1
        assert symbol.path
        assert all(segment and segment.isprintable() for segment in symbol.path)
        for part in (symbol.sig, symbol.doc, symbol.body):
            assert part is None or 0 <= part.start_byte <= part.end_byte <= len(view)


@pytest.mark.parametrize("language", SCANNERS)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_mixture_of_what_the_languages_are_made_of(language: str, pieces: list[bytes]) -> None:
    view = b"".join(pieces)
    check(SCANNERS[language](view), view)
    outline(view, language)


@pytest.mark.parametrize("language", SCANNERS)
@given(view=st.binary(max_size=200))
def test_any_bytes(language: str, view: bytes) -> None:
    check(SCANNERS[language](view), view)


@pytest.mark.parametrize("language", SCANNERS)
def test_any_sample_read_as_any_language(language: str) -> None:
    for path in SAMPLES:
        view = (DATA / path).read_bytes()
        check(SCANNERS[language](view), view)


# Each of these took quadratic time in some version of a scanner: at this size that is minutes, not moments.
HARD = [
    b"[", b'{"a":', b'"\\"', b"<a ", b'<a "', b"<a>", b"<!--", b"<![CDATA[", b"<h1>", b"a = ", b"a=[\n",
    b"a:\n", b"- ", b"- \n",
    b"# ", b" #", b"q'[", b"$a$", b"/*", b"[a.", b"procedure a is ", b"create table a(b int,", b"begin ",
    b"       PROGRAM-ID. A.\n",
    b"       01 A.\n", b"COPY a (", b"\n", b" ", b"\t", b"'", b'"', b"\\",
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("language", SCANNERS)
def test_hard_input_takes_linear_time(language: str) -> None:
    for piece in HARD:
        view = piece * (40_000 // len(piece))
        assert len(SCANNERS[language](view)) <= MAX_SYMBOLS
