"""The text of a digest: bounded, ranked, every omission marked with a handle and a count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload.digest.model import Cause, Digest, Excerpt, Failure, Lines, Template, Verdict
from mcp_offload.digest.render import render


def _count(text: str) -> int:
    return len(text.split()) * 2 + len(text) // 6


def _failure(index: int, message: str) -> Failure:
    line = index + 1
    return Failure(
        f"tests/t.py::test_{index}",
        "failed",
        "tests/t.py",
        line,
        message,
        line * 10,
        Lines(line, line),
        "pytest",
    )


def _digest(messages: list[str]) -> Digest:
    failures = tuple(_failure(index, message) for index, message in enumerate(messages))
    first = {message: index for index, message in reversed(list(enumerate(messages)))}
    causes = [Cause(message, messages.count(message), index) for message, index in first.items()]
    causes.sort(key=lambda cause: -cause.count)
    return Digest(
        Verdict.FAILED,
        True,
        ("pytest 9",),
        {"failed": len(messages)},
        failures,
        tuple(causes),
        line_count=9000,
    )


def test_one_line_per_cause_with_handle_name_place_line_and_message() -> None:
    lines = render(_digest(["a", "b", "b"]), "t7", _count)
    assert lines[0] == "failed | pytest 9 | 3 failed | 9000 lines"
    assert lines[1] == "t7#!2 (2x) tests/t.py::test_1 tests/t.py:2 L20: b"
    assert lines[2] == "t7#!1 tests/t.py::test_0 tests/t.py:1 L10: a"
    assert lines[3] == "t7#!3 tests/t.py::test_2 tests/t.py:3"


def test_what_is_left_out_is_one_line_with_a_count_and_a_handle() -> None:
    lines = render(_digest([f"message {index} " * 8 for index in range(300)]), "t7", _count)
    shown = sum(1 for line in lines if line.startswith("t7#!"))
    assert lines[-1] == f"[{300 - shown} more causes, {300 - shown} failures: t7]"
    lines = render(_digest(["same"] * 300), "t7", _count)
    shown = sum(1 for line in lines if line.startswith("t7#!"))
    assert lines[-1] == f"[{300 - shown} more failures of these causes: t7]"


@pytest.mark.parametrize("limit", range(120, 620, 20))
def test_the_last_lines_come_after_all_that_failed(limit: int) -> None:
    base = _digest(
        [f"{word} was not what the test wants, which is told at length" for word in ("a", "b", "c")]
    )
    made = replace(base, excerpt=Excerpt(tail=tuple(f"the end of the log, line {n}" for n in range(12))))
    lines = render(made, "t7", _count, limit)
    causes = sum(1 for line in lines if line.startswith("t7#!"))
    assert causes >= 1
    assert causes == 3 or not any("the end of the log" in line for line in lines)
    assert causes == 3 or limit < 260


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(max_size=300), max_size=40),
    st.lists(st.text(max_size=400), max_size=30),
    st.integers(min_value=120, max_value=900),
)
def test_the_budget_is_never_exceeded(messages: list[str], tail: list[str], limit: int) -> None:
    notes = tuple(message[:200] for message in messages[:20])
    templates = tuple(Template(text[:240], 3, 5) for text in tail)
    base = _digest(messages)
    made = Digest(
        Verdict.FAILED, False, ("x",), {"failed": 1}, base.failures, base.causes, notes=notes, line_count=500,
        excerpt=Excerpt(templates, 7, tuple(tail[:4]), tuple(tail[:12])),
    )  # fmt: skip
    assert _count("\n".join(render(made, "t123", _count, limit))) <= limit


def test_a_log_without_failures_shows_error_like_lines_and_its_end() -> None:
    excerpt = Excerpt((Template("error: odd", 3, 41),), 2, ("begin",), ("almost", "the end"))
    made = Digest(Verdict.UNKNOWN, False, line_count=90, excerpt=excerpt)
    assert render(made, "l4", _count) == [
        "unknown | 90 lines",
        "l4#L41 (3x): error: odd",
        "[2 more error-like lines: l4]",
        "[88 lines before: l4#L1-88] last lines:",
        "almost",
        "the end",
    ]


def test_a_text_shorter_than_its_digest_is_returned_as_it_is() -> None:
    made = _digest(["a message that is rather long " * 4])
    assert render(made, "t7", _count, whole="FAILED x\nthat is all\n") == ["FAILED x", "that is all"]
    assert render(made, "t7", _count, whole="word " * 900)[0].startswith("failed |")
