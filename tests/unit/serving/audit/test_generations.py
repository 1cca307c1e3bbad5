"""Generations that a parser refuses, in every language that can be parsed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.audit.generations import LANGUAGES, Counts, code_of, count, count_file, parses
from serving.errors import ServingUsageError

# language: code that parses, code that does not
CODE: dict[str, tuple[str, str]] = {
    "python": ("def f(x):\n    return x\n", "def f(x)\n    return x\n"),
    "javascript": ("const f = (x) => x;\n", "const f = (x => x;\n"),
    "typescript": ("const f = (x: number): number => x;\n", "const f = (x: number: number => x;\n"),
    "java": ("class A { int f() { return 1; } }\n", "class A { int f() { return 1; }\n"),
    "c": ("int f(void) { return 1; }\n", "int f(void) { return 1;\n"),
    "cpp": ("template <class T> T f(T x) { return x; }\n", "template <class T T f(T x) { return x; }\n"),
    "go": ("package a\n\nfunc f() int { return 1 }\n", "package a\n\nfunc f() int { return 1\n"),
    "rust": ("fn f() -> i32 { 1 }\n", "fn f() -> i32 { 1\n"),
    "bash": ("if true; then echo a; fi\n", "if true; then echo a\n"),
}


def fenced(code: str, language: str) -> str:
    return f"Here it is:\n\n```{language}\n{code}```\n\nThat is all."


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language(language: str) -> None:
    good, bad = CODE[language]
    assert parses(good, language)
    assert not parses(bad, language)
    told = count([{"text": fenced(good, language)}, {"text": fenced(bad, language)}])
    assert told == Counts(generations=2, errors=1)


def test_every_language_is_tried() -> None:
    assert CODE.keys() == set(LANGUAGES)


def test_what_is_left_out() -> None:
    good, bad = CODE["python"]
    generations: list[dict[str, Any]] = [
        {"text": fenced(bad, "python"), "finish_reason": "length"},  # cut off
        {"text": "I cannot do that."},
        {"text": fenced("x ===", "cobol")},  # no grammar here
        {"text": good, "language": "py"},  # the whole text is code
        {"text": bad, "language": "python"},
        {"text": fenced(good, ""), "finish_reason": "stop"},
    ]
    assert count(generations) == Counts(generations=3, errors=1, cut=1, without_code=2)


def test_one_broken_block_of_two_is_an_error_of_one_generation() -> None:
    good, bad = CODE["python"]
    assert count([{"text": fenced(good, "py") + fenced(bad, "py")}]) == Counts(1, 1)


def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    assert list(code_of("```python\nx = 1\n", None, "python")) == [("python", "x = 1\n")]
    assert list(code_of("~~~js\nlet a;\n~~~\n```\nx\n```", None, "bash")) == [
        ("javascript", "let a;\n"),
        ("bash", "x\n"),
    ]


@pytest.mark.parametrize("code", ["x = '\\d'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n"])
def test_what_merely_warns_parses(code: str) -> None:
    assert parses(code, "python")


def test_what_no_parser_survives_is_an_error() -> None:
    assert not parses("(" * 100_000, "python")
    assert not parses("x = 1\0", "python")


@given(st.text(max_size=200))
def test_any_text_is_counted_once(text: str) -> None:
    told = count([{"text": text}])
    assert told.generations + told.without_code == 1


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "generations.jsonl"
    good, bad = CODE["python"]
    path.write_text(
        "\n".join(json.dumps({"text": fenced(code, "python")}) for code in (good, good, bad)) + "\n\n"
    )
    assert count_file(path).as_dict() == {"generations": 3, "errors": 1, "cut": 0, "without_code": 0}
    for wrong, told in (("{", "line 1 is no JSON"), ("[]", "no object with a field text")):
        path.write_text(wrong)
        with pytest.raises(ServingUsageError, match=told):
            count_file(path)
    with pytest.raises(ServingUsageError, match="cobol cannot be parsed"):
        count_file(path, "cobol")
    with pytest.raises(ServingUsageError, match="cannot be read"):
        count_file(tmp_path / "absent")
