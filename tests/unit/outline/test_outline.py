"""What ``outline`` promises for any bytes in any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.models import Outline, Symbol
from mcp_offload.outline import OUT_OF_TIME, outline
from mcp_offload.outline.codec import decode, encode
from mcp_offload.outline.scanners import SCANNERS
from mcp_offload.outline.tables import GRAMMARS
from tests.unit.outline.samples import DATA, LANGUAGES, listing, only

ALL = [*GRAMMARS, *SCANNERS, "zig", None]
SAMPLES = sorted(path for path in DATA.rglob("*.*") if path.suffix[1:] in LANGUAGES)
PIECES = [
    "def f(a):", "class A:", "    ", "\t", "\n", "\r\n", "\r", "{", "}", "(", ")", "[", "]", ";", ",", ":",
    "'", '"', '"""', "`", "/*", "*/", "//", "#", "#if X", "#else", "#endif", "#define M(a) a", "template<",
    "function f() ", "export ", "@a ", "struct S ", "fn f() ", "impl T for S ", "func f() ", "int f(void) ",
    "x", "é", "☃", "\u2028", "\0", "<<<<<<< HEAD", "=======", ">>>>>>> b", "\\", "$", "=> ", "SELECT 1",
    "MACRO(x)", ">", "=", "operator ", "namespace n ", "const (", "var v = ", "f() {", "fi",
    "module.exports = ",
]  # fmt: skip


def check(view: bytes, found: Outline) -> None:
    """Spans lie inside the text and each other, are sorted, and agree with their lines."""
    previous: Symbol | None = None
    for symbol in found.symbols:
        span = symbol.span
        assert 0 <= span.start_byte <= span.end_byte <= len(view)
        assert symbol.start_line == view.count(b"\n", 0, span.start_byte) + 1
        assert symbol.end_line == view.count(b"\n", 0, max(span.start_byte, span.end_byte - 1)) + 1
        assert symbol.path and all(symbol.path)
        assert symbol.text_key
        for part in (symbol.sig, symbol.body):
            assert part is None or span.start_byte <= part.start_byte <= part.end_byte <= span.end_byte
        doc = symbol.doc
        assert doc is None or 0 <= doc.start_byte <= doc.end_byte <= span.end_byte
        if previous is not None:
            assert (previous.span.start_byte, -previous.span.end_byte) <= (span.start_byte, -span.end_byte)
        previous = symbol
    identities = [(s.path, s.params, s.ordinal) for s in found.symbols]
    assert len(set(identities)) == len(identities)
    paths = [s.path for s in found.symbols]
    assert all(s.overloaded == (paths.count(s.path) > 1) for s in found.symbols[:50])


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from(ALL))
def test_any_text_is_outlined(pieces: list[str], language: str | None) -> None:
    view = "".join(pieces).encode()
    check(view, outline(view, language))


@given(st.binary(max_size=200), st.sampled_from(ALL))
def test_any_bytes_are_outlined(view: bytes, language: str | None) -> None:
    check(view, outline(view, language))


@given(st.sampled_from(SAMPLES), st.data())
def test_damaged_samples_are_outlined(path: object, data: st.DataObject) -> None:
    view = (DATA / str(path)).read_bytes()
    start = data.draw(st.integers(0, len(view)))
    end = data.draw(st.integers(start, min(len(view), start + 80)))
    damaged = view[:start] + data.draw(st.sampled_from([b"", b"(", b"}", b'"', b"\n", b"\xff"])) + view[end:]
    check(damaged, outline(damaged, LANGUAGES[str(path).rpartition(".")[2]]))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_children_lie_within_their_parents(path: object) -> None:
    found = outline((DATA / str(path)).read_bytes(), LANGUAGES[str(path).rpartition(".")[2]])
    outer = {"class", "interface", "enum", "record", "namespace", "module", "function", "method", "trait"}
    for symbol in found.symbols:
        parents = [s for s in found.symbols if s.path == symbol.path[:-1] and s.kind in outer]
        for parent in parents:
            if parent.span.start_byte <= symbol.span.start_byte < parent.span.end_byte:
                assert symbol.span.end_byte <= parent.span.end_byte


@pytest.mark.parametrize("language", ALL)
def test_nothing_is_outlined_as_nothing(language: str | None) -> None:
    assert outline(b"", language).symbols == ()


@pytest.mark.parametrize("language", sorted(GRAMMARS))
@pytest.mark.parametrize("text", [b"(", b"[", b"{", b"a.", b"-", b"<"])
def test_deep_nesting_is_outlined(text: bytes, language: str) -> None:
    view = text * 30_000
    check(view, outline(view, language))


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_a_parse_stops_when_told(language: str) -> None:
    view = b"x = f(1);\n" * 20_000
    found = outline(view, language, stop=lambda: True)
    assert (found.parsed, found.reason) == (False, OUT_OF_TIME)
    assert found.symbols
    check(view, found)


@pytest.mark.parametrize(
    ("name", "language", "reason"),
    [
        ("main.zig", "zig", "no parser for .zig"),
        ("Jenkinsfile", "groovy", "no parser for groovy"),
        ("a.unheard", None, "no parser for .unheard"),
        ("notes.txt", None, "plain text"),
        ("", None, "plain text"),
    ],
)
def test_a_text_without_a_parser_says_so_and_has_handles(
    name: str, language: str | None, reason: str
) -> None:
    found = outline(b'const std = @import("std");\npub fn main() void {}\n', language, name)
    assert (found.language, found.parsed, found.reason) == (language, False, reason)
    assert found.symbols


def test_packed_scripts_are_not_outlined_but_their_exports_are_named() -> None:
    view = b"/*! kit */\n" + b"var a=function(b){return b+1};exports.start=a;exports.stop=a;" * 400
    found = outline(view, "javascript")
    assert (found.parsed, found.reason) == (False, "minified")
    assert [".".join(s.path) for s in found.symbols if s.kind == "variable"] == ["start", "stop"]


def test_packed_scripts_are_told_from_one_long_line() -> None:
    code = b"function f() {\n  return 1\n}\n" * 3
    packed = b"var a=function(b){return b+1};" * 20 + b"\n"
    assert outline(packed * 20, "javascript").reason == "minified"
    assert outline(code + packed * 9 + code * 5, "javascript").parsed
    assert outline(code + b"x = " + b"(1 + 2) + " * 800 + b"3;\n", "typescript").parsed


def test_data_on_long_lines_is_outlined_in_other_languages() -> None:
    view = b"DATA = b'" + b"\\x00" * 5000 + b"'\n" + b"\n".join(b"def f%d(): pass" % i for i in range(20))
    assert only(outline(view, "python"), "DATA").end_line == 1
    assert outline(b"DATA = [" + b"1, " * 3000 + b"]", "python").reason == "minified"


def test_prose_in_the_name_of_a_language_is_cut_into_chunks() -> None:
    view = b"It was a dark and stormy night; the rain fell in torrents (except at times).\n" * 30
    for language in ("java", "go", "rust"):
        found = outline(view, language)
        assert (found.parsed, found.reason) == (False, "syntax errors in more than a fifth of the text")


def test_errors_mark_what_they_touch_and_nothing_else() -> None:
    source = "\n".join(f"function f{i}() {{\n  return {i}\n}}\n" for i in range(9)).replace(
        "return 4", "return (4"
    )
    marked = [line for line in listing(outline(source.encode(), "javascript")) if line.endswith("?")]
    assert "f4 function 17-19 ?" in marked
    assert "f0 function 1-3 ?" not in marked


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_outlines_survive_the_pipe_and_the_cache(path: object) -> None:
    found = outline((DATA / str(path)).read_bytes(), LANGUAGES[str(path).rpartition(".")[2]])
    assert decode(encode(found)) == found


@pytest.mark.parametrize("payload", [b"", b"{}", b"[1]", b'["c",1,null,[[1]]]', b"\xff"])
def test_a_foreign_payload_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError):
        decode(payload)


def test_a_long_script_without_definitions_is_cut_into_chunks() -> None:
    view = b"print(1)\n" * 100
    found = outline(view, "python")
    assert (found.parsed, found.reason) == (False, "no definitions recognised")
    assert found.symbols
    assert outline(b"print(1)\n", "python").symbols == ()


@pytest.mark.parametrize(
    ("text", "language"),
    [("declare module\n() => {}\n", "tsx"), (": int = 1\n" * 30, "python"), ("class { m() {} }", "java")],
)
def test_a_name_the_parser_makes_up_is_no_symbol(text: str, language: str) -> None:
    check(text.encode(), outline(text.encode(), language))
