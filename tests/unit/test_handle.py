"""Handles: the grammar, its refusals, and that parsing and formatting are exact inverses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import InvalidHandleError
from mcp_offload.handle import (
    ArtifactRef,
    BytesSelector,
    FailureSelector,
    Handle,
    LinesSelector,
    PathRef,
    SearchSelector,
    SymbolSelector,
    format_handle,
    looks_like_handle,
    params_key,
    parse_handle,
)
from mcp_offload.models import PARTS, Kind

positive = st.integers(1, 10**8)
versions = st.none() | positive
segments = st.text(min_size=1, max_size=30)
symbol_selectors = st.builds(
    SymbolSelector,
    st.lists(segments, min_size=1, max_size=4).map(tuple),
    st.none() | st.text(max_size=40).map(params_key),
    st.integers(1, 99),
    st.none() | st.sampled_from(PARTS),
)
line_selectors = st.builds(
    lambda first, extra: LinesSelector(first, None if extra is None else first + extra),
    positive,
    st.none() | st.integers(0, 10**6),
) | st.builds(lambda n: LinesSelector(tail=n), positive)
byte_selectors = st.builds(
    lambda start, extra: BytesSelector(start, None if extra is None else start + extra),
    st.integers(0, 10**12),
    st.none() | st.integers(0, 10**6),
)
selectors = st.none() | st.one_of(
    symbol_selectors,
    line_selectors,
    byte_selectors,
    st.builds(FailureSelector, positive, st.sampled_from([None, "tb", "out"])),
    st.text(max_size=20).map(str.rstrip).map(SearchSelector),
)
paths = st.text(min_size=1, max_size=40).filter(
    lambda p: not p.startswith(("./", "`")) and p == p.strip() and "\x00" not in p
)
artifacts = st.one_of(
    st.builds(ArtifactRef, st.sampled_from(Kind), positive, versions),
    st.builds(PathRef, paths, versions),
)


@given(st.builds(Handle, artifacts, selectors))
def test_parsing_undoes_formatting(handle: Handle) -> None:
    assert parse_handle(format_handle(handle)) == handle


@given(st.text(max_size=60))
def test_any_text_parses_to_something_stable_or_is_refused(text: str) -> None:
    try:
        handle = parse_handle(text)
    except InvalidHandleError:
        return
    assert parse_handle(format_handle(handle)) == handle


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f12", Handle(ArtifactRef(Kind.FILE, 12))),
        ("f12@3#L10-44", Handle(ArtifactRef(Kind.FILE, 12, 3), LinesSelector(10, 44))),
        ("l2#L100-", Handle(ArtifactRef(Kind.LOG, 2), LinesSelector(100, None))),
        ("l2#L-20", Handle(ArtifactRef(Kind.LOG, 2), LinesSelector(tail=20))),
        ("l2#L7", Handle(ArtifactRef(Kind.LOG, 2), LinesSelector(7, 7))),
        ("b3#B2000-4096", Handle(ArtifactRef(Kind.BUILD, 3), BytesSelector(2000, 4096))),
        ("t7#!3", Handle(ArtifactRef(Kind.TEST, 7), FailureSelector(3))),
        ("t7#%3:tb", Handle(ArtifactRef(Kind.TEST, 7), FailureSelector(3, "tb"))),
        ("f1#Invoice.total", Handle(ArtifactRef(Kind.FILE, 1), SymbolSelector(("Invoice", "total")))),
        ("f1#Invoice:head", Handle(ArtifactRef(Kind.FILE, 1), SymbolSelector(("Invoice",), part="head"))),
        (
            "f4#emp_pkg.raise_sal(NUMBER,NUMBER)'2:sig",
            Handle(
                ArtifactRef(Kind.FILE, 4),
                SymbolSelector(("emp_pkg", "raise_sal"), "NUMBER,NUMBER", 2, "sig"),
            ),
        ),
        ("f1#<lambda:on_click>", Handle(ArtifactRef(Kind.FILE, 1), SymbolSelector(("<lambda:on_click>",)))),
        ("f1#`a.b c`.d", Handle(ArtifactRef(Kind.FILE, 1), SymbolSelector(("a.b c", "d")))),
        ("f3#PAYROLL.CALC-PAY", Handle(ArtifactRef(Kind.FILE, 3), SymbolSelector(("PAYROLL", "CALC-PAY")))),
        ("src/app.py#Parser.parse", Handle(PathRef("src/app.py"), SymbolSelector(("Parser", "parse")))),
        ("src/app.py@2", Handle(PathRef("src/app.py", 2))),
        ("./f12", Handle(PathRef("f12"))),
        ("node_modules/@types/node/fs.d.ts", Handle(PathRef("node_modules/@types/node/fs.d.ts"))),
        ("`c#/x.cs`#Foo", Handle(PathRef("c#/x.cs"), SymbolSelector(("Foo",)))),
        ("x12", Handle(PathRef("x12"))),
        ("f0", Handle(PathRef("f0"))),
        ("f1#~two words", Handle(ArtifactRef(Kind.FILE, 1), SearchSelector("two words"))),
    ],
)
def test_examples(text: str, expected: Handle) -> None:
    assert parse_handle(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "#L1",
        "f1#",
        "f1#L0",
        "f1#L9-3",
        "f1#B9-3",
        "f1#a..b",
        "f1#a(b",
        "f1#`a",
        "f1#a:what",
        "t1#!0",
        "t1#!3:sig",
        "f1#" + "a" * 5000,
    ],
)
def test_refusals_say_what_a_handle_looks_like(text: str) -> None:
    with pytest.raises(InvalidHandleError, match="Not a handle"):
        parse_handle(text)


def test_failure_marks_are_equivalent_and_print_one_way() -> None:
    assert str(parse_handle("t7#%3")) == "t7#!3"


@pytest.mark.parametrize("name", ["L10", "B0-5", "a.b", "operator()", "~Foo", "save!", "a`b", "<", "x:y"])
def test_odd_names_survive(name: str) -> None:
    handle = Handle(ArtifactRef(Kind.FILE, 1), SymbolSelector((name, name)))
    assert parse_handle(str(handle)) == handle


def test_long_parameter_lists_print_as_a_short_key() -> None:
    long = "std::map<int,std::string>const&,int"
    key = params_key(long)
    assert len(key) == 4
    assert key.startswith("~")
    assert params_key(key) == key
    assert params_key("int,str") == "int,str"
    assert params_key(long + "x") != key


@pytest.mark.parametrize(
    ("text", "expected"), [("f12", True), ("f12@2#x", True), ("./f12", False), ("src/f12", False)]
)
def test_a_path_is_not_taken_for_a_handle(text: str, expected: bool) -> None:
    assert looks_like_handle(text) is expected
