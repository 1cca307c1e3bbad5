"""What a pattern means, and what is said about one that means nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import InvalidPatternError
from mcp_offload.service.pattern import MAX_PATTERN_CHARS, compile_pattern


def matches(pattern: str, line: str | bytes, *, literal: bool = False, ignore_case: bool = False) -> bool:
    data = line.encode() if isinstance(line, str) else line
    matcher = compile_pattern(pattern, literal=literal, ignore_case=ignore_case)
    return matcher.over(data).find(0, len(data)) is not None


@pytest.mark.parametrize(
    ("pattern", "line", "expected"),
    [
        ("worker-[0-9]+", "at worker-12", True),
        ("^at", "at worker", True),
        (r"\Aat", "at worker", True),
        ("worker$", "at worker", True),
        (r"worker\z", "at worker", True),
        ("worker$", "at worker\r", True),
        ("^worker$", "worker\r", True),
        ("^$", "\r", True),
        ("worker$", "worker x", False),
        ("^worker", "at worker", False),
        (r"(?-m)worker$", "worker\r", True),
        (r"(?m)^worker(?m:$)", "worker", True),
        (r"[$]5", "a $5 note", True),
        (r"\$5", "a $5 note", True),
        (r"\Qa.b$\E$", "xa.b$", True),
        (r"\Qa.b$\E", "xa-b$", False),
        (r"\Qa.b", "a.b", True),
        (r"\x41\x{e9}", "Aé", True),
        (r"\d+", "٣", False),
        (r"\w+", "é", False),
        (r"\bé", "aé", True),
        ("ros.$", "rosé", True),
        ("(?i)É", "é", True),
        ("a{2}", "baa", True),
        ("a{,2}", "a{,2}", True),
        ("a{,2}", "aa", False),
        ("[]a]", "]", True),
        ("[[:alpha:]]+1", "ab1", True),
        (r"(?P<first>a)(?<second>b)", "ab", True),
        (r"\p{Greek}", "λ", True),
        ("(?U)a+", "aa", True),
        ("a|", "zzz", True),
    ],
)
def test_syntax(pattern: str, line: str, expected: bool) -> None:
    assert matches(pattern, line) is expected


@pytest.mark.parametrize(
    ("pattern", "line", "expected"),
    [
        ("f.*b", b"f\xff\xfeb", True),
        ("ros\u00e9", b"ros\xe9", True),
        ("ros\u00e9", "ros\u00e9".encode() + b"\xff", True),
        ("[^a]x", b"\xe9x", True),
        (r"\Wx", b"\xe9x", True),
        ("^.{4}$", b"ros\xe9", True),
        ("^.{5}$", "ros\u00e9".encode(), False),
        ("ros\u00e9", "rosÃ©".encode(), False),
        ("日.x", "日".encode() + b"\xffx", True),
        ("[日本]x", "日x".encode() + b"\xff", True),
    ],
)
def test_stray_bytes_are_read_as_latin_1_in_lines_that_are_not_utf8(
    pattern: str, line: bytes, expected: bool
) -> None:
    assert matches(pattern, line) is expected
    assert matches(pattern, line, literal=True) is (expected and pattern.startswith("ros"))


def test_a_line_that_is_utf8_is_never_read_as_latin_1_because_of_its_neighbour() -> None:
    data = "rosé\n".encode() + b"ros\xe9"
    assert compile_pattern("^.{5}$").over(data).find(0, len(data)) is None
    other = "rosÃ©\n".encode() + b"ros\xe9"
    assert compile_pattern("ros\u00e9").over(other).find(0, len(other)) == (8, 12)


@given(st.text(min_size=1, max_size=12), st.text(max_size=40))
def test_a_literal_is_found_exactly_where_it_stands(needle: str, line: str) -> None:
    for text in (needle, line):
        if "\n" in text:
            return
    assert matches(needle, line, literal=True) is (needle in line)
    assert matches(needle, line + needle, literal=True)


FOLDING = "aAäÄkK\u212asS\u017f.*[]()\\^$"


@given(st.text(FOLDING, min_size=1, max_size=8), st.text(FOLDING, max_size=20))
def test_a_literal_ignoring_case_is_found_by_simple_folding(needle: str, line: str) -> None:
    expected = re.search(re.escape(needle), line, re.IGNORECASE) is not None
    assert matches(needle, line, literal=True, ignore_case=True) is expected


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "empty"),
        ("x" * (MAX_PATTERN_CHARS + 1), "at most 10000"),
        ("(", "missing"),
        ("[a", "missing"),
        ("a)(b", "unexpected"),
        (r"(a)\1", "back-references are not supported"),
        ("(?=a)", "look-ahead and look-behind are not supported"),
        ("(?!a)", "look-ahead and look-behind are not supported"),
        ("(?<=a)b", "look-ahead and look-behind are not supported"),
        ("(?<!a)b", "look-ahead and look-behind are not supported"),
        ("(?>a)", "atomic groups are not supported"),
        ("a++", "possessive repetition is not supported"),
        ("a**", "bad repetition operator"),
        ("((a{100}){100}){100}", "at most 1000"),
        (r"((((\pL{9}){9}){9}){9})", "too large|at most 1000"),
        ("a\\", "trailing"),
        (r"\Z", "invalid escape"),
        ("[z-a]", "range"),
        (r"one\ntwo", "within one line"),
        ("one\ntwo", "within one line"),
        ("[a\n]", "within one line"),
        (r"\C", "not supported"),
        ("a\ud800", "surrogate"),
        ("[" * 9000, "missing"),
    ],
)
def test_what_is_no_pattern_is_refused_with_a_reason(pattern: str, said: str) -> None:
    with pytest.raises(InvalidPatternError, match=said) as refused:
        compile_pattern(pattern)
    assert len(str(refused.value)) < 400


def test_a_refusal_names_the_way_out() -> None:
    with pytest.raises(InvalidPatternError, match="literal=true"):
        compile_pattern("a(b")


def test_a_literal_cannot_span_lines() -> None:
    with pytest.raises(InvalidPatternError, match="within one line"):
        compile_pattern("one\ntwo", literal=True)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+$", "(.*){8}x", "(a+a+)+y", "([a-z]+)*1"])
def test_patterns_that_ruin_backtracking_engines_come_to_an_end(pattern: str) -> None:
    data = b"a" * 200_000 + b"-" * 200_000
    found = compile_pattern(pattern).over(data).find(0, len(data))
    assert found is None, "and within the time limit of a test, where a backtracking engine takes years"


@given(st.text("ab.*+?()[]{}|^$\\-:PQEnpxidmsU<>=!,1 é", max_size=14))
def test_any_text_either_compiles_or_is_refused(pattern: str) -> None:
    try:
        matcher = compile_pattern(pattern)
    except InvalidPatternError:
        return
    data = b"ab\xff\xc3\xa9 1\r"
    found = matcher.over(data).find(0, len(data))
    assert found is None or 0 <= found[0] <= found[1] <= len(data)
