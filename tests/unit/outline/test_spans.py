"""Where definitions begin and end, and the parts they have."""

from __future__ import annotations

from mcp_offload.models import Outline, Span
from mcp_offload.outline import outline
from tests.unit.outline.samples import listing, only, outlined, sample


def text(view: bytes, span: Span | None) -> str:
    assert span is not None
    return view[span.start_byte : span.end_byte].decode()


def of(source: str, language: str) -> tuple[bytes, Outline]:
    view = source.encode()
    return view, outline(view, language)


def test_a_span_holds_the_exact_bytes_whatever_stands_before() -> None:
    view = sample("python/decorated.py")
    method = only(outlined("python/decorated.py"), "Übersicht.Meta")
    assert text(view, method.span) == '    class Meta:\n        ordering = ["name"]'
    view = sample("typescript/module.ts")
    assert (
        text(view, only(outlined("typescript/module.ts"), "カート.add").span) == "  add(x: string): void {}"
    )


def test_decorators_signature_docstring_and_body_are_parts() -> None:
    view = sample("python/decorated.py")
    second = only(outlined("python/decorated.py"), "second")
    assert text(view, second.span).startswith("@registry.add(\n")
    assert text(view, second.sig) == 'async def second(a, *rest: int, key="x", **more) -> int:'
    assert text(view, second.doc) == '"""What it does."""'
    assert text(view, second.body).startswith('    """What it does."""\n')
    assert second.params == 'a,*rest:int,key="x",**more'


def test_doc_comments_and_attributes_are_in_the_span() -> None:
    view = sample("rust/shape.rs")
    point = only(outlined("rust/shape.rs"), "Point")
    assert text(view, point.span).startswith("/// A point.\n#[derive(Debug, Clone)]\n#[repr(C)]\npub struct")
    assert text(view, point.doc) == "/// A point."


def test_a_blank_line_parts_a_comment_from_what_follows() -> None:
    _view, found = of("// Copyright.\n\nint f(void) { return 1; }\n", "c")
    assert only(found, "f").doc is None
    assert only(found, "f").start_line == 3


def test_an_ordinary_comment_documents_nothing_in_typescript() -> None:
    _view, found = of("// note\nfunction f() {}\n", "typescript")
    assert (only(found, "f").doc, only(found, "f").start_line) == (None, 2)


def test_a_long_comment_is_documentation_but_not_part_of_the_definition() -> None:
    source = "/**\n" + " * words\n" * 30 + " */\nvoid f(void) {}\n"
    view, found = of(source, "c")
    symbol = only(found, "f")
    assert (symbol.start_line, symbol.end_line) == (33, 33)
    assert text(view, symbol.doc).count("words") == 30


def test_a_comment_after_code_is_not_documentation() -> None:
    _view, found = of("int a; /* of a */\nint f(void) { return 1; }\n", "c")
    assert only(found, "f").doc is None


def test_export_and_semicolon_belong_to_the_definition() -> None:
    view, found = of("export const a = () => 1;\nexport class B {};\nlet c = 1, d = 2;\n", "typescript")
    assert text(view, only(found, "a").span) == "export const a = () => 1;"
    assert text(view, only(found, "B").span) == "export class B {};"
    assert text(view, only(found, "d").span) == "d = 2;"


def test_python_comments_after_a_block_belong_to_nobody() -> None:
    _view, found = of(
        "def a():\n    if x:\n        pass\n        # tail\n    # tail\n\ndef b(): pass\n", "python"
    )
    assert listing(found) == ["a function 1-3", "b function 7-7"]


def test_a_string_that_ends_like_a_comment_is_kept() -> None:
    _view, found = of('def a():\n    return """\n# not a comment"""\n', "python")
    assert only(found, "a").end_line == 3


def test_crlf_ends_no_span_early() -> None:
    view, found = of("def a():\r\n    pass\r\n\r\nx = 1\r\n", "python")
    assert text(view, only(found, "a").span) == "def a():\r\n    pass"
    assert listing(found) == ["a function 1-2", "x variable 4-4"]


def test_a_byte_order_mark_is_no_part_of_the_first_definition() -> None:
    view, found = of("\ufeffvar x = 1;\n", "typescript")
    assert text(view, only(found, "x").span) == "var x = 1;"


def test_text_of_old_macs_has_one_line_and_all_its_definitions() -> None:
    view, found = of("def a():\r    pass\rdef b():\r    pass\r", "python")
    assert listing(found) == ["a function 1-1", "b function 1-1"]
    assert text(view, only(found, "b").span) == "def b():\r    pass"


def test_only_lf_counts_as_a_line() -> None:
    _view, found = of("x = '\u2028\x0c\x85'\ndef b(): pass\n", "python")
    assert only(found, "b").start_line == 2


def test_overloads_are_told_apart_by_their_parameters() -> None:
    found = outlined("typescript/overloads.ts")
    twins = [(s.params, s.overloaded, s.ordinal) for s in found.symbols if s.path == ("f",)]
    assert twins == [("a:string", True, 1), ("a:number", True, 1), ("a:any", True, 1), (None, True, 1)]


def test_identical_twins_are_told_apart_by_rank() -> None:
    _view, found = of(
        "if a:\n    def f(x): return 1\nelse:\n    def f(x): return 2\ndef g(): pass\n", "python"
    )
    marks = [(s.path, s.params, s.overloaded, s.ordinal) for s in found.symbols]
    assert marks == [(("f",), "x", True, 1), (("f",), "x", True, 2), (("g",), "", False, 1)]


def test_equal_text_has_an_equal_key_whatever_its_white_space() -> None:
    _, one = of("def f(a):\n    return a\n", "python")
    _, other = of("\n\ndef f(a):\n\treturn  a\n", "python")
    _, third = of("def f(a):\n    return b\n", "python")
    assert one.symbols[0].text_key == other.symbols[0].text_key != third.symbols[0].text_key


def test_a_specialisation_is_told_apart_by_its_arguments() -> None:
    _, found = of("template<> struct hash<int> {};\ntemplate<> struct hash<char *> {};\n", "cpp")
    assert [(s.path, s.params) for s in found.symbols] == [(("hash",), "int"), (("hash",), "char*")]


def test_the_parameters_of_a_record_are_its_components() -> None:
    assert only(outlined("java/Shapes.java"), "Shapes.Range").params == "intlow,inthigh"
