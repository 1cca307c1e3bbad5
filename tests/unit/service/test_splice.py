"""Fitting new text into its place: line endings, final newline, indentation, deletion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.models import Span
from mcp_offload.service.splice import line_ending, splice

CLASS = b"class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"
F = Span(CLASS.index(b"    def f"), CLASS.index(b"return 1") + len(b"return 1"))
G = Span(CLASS.index(b"    def g"), len(CLASS) - 1)


@pytest.mark.parametrize(
    ("text", "indented"),
    [
        ("    def f(self):\n        return 3\n", 0),
        ("    def f(self):\n        return 3", 0),
        ("def f(self):\n        return 3\n", 4),
        ("def f(self):\n    return 3\n", 4),
    ],
    ids=["as read", "without newline", "first line bare", "all at column 0"],
)
def test_a_replaced_method_keeps_its_place(text: str, indented: int) -> None:
    made = splice(CLASS, F, text, "replace", whole_lines=True)
    assert made.view == CLASS.replace(b"return 1", b"return 3")
    assert made.indented == indented
    assert made.view[made.inserted.start_byte : made.inserted.end_byte].rstrip(b"\n") == (
        b"    def f(self):\n        return 3"
    )


def test_a_decorator_on_the_bare_first_line_does_not_push_the_rest() -> None:
    made = splice(CLASS, F, "@cached\n    def f(self):\n        return 3\n", "replace", whole_lines=True)
    assert made.view == CLASS.replace(
        b"    def f(self):\n        return 1", b"    @cached\n    def f(self):\n        return 3"
    )


def test_inserting_before_and_after() -> None:
    new = "    def h(self):\n        return 0\n\n"
    before = splice(CLASS, F, new, "before", whole_lines=True)
    assert before.view == CLASS.replace(b"    def f", new.encode() + b"    def f")
    after = splice(CLASS, G, "\n    x = 1\n", "after", whole_lines=True)
    assert after.view == CLASS + b"\n    x = 1\n"


def test_a_missing_final_newline_stays_missing() -> None:
    view = CLASS[:-1]
    after = splice(view, G, "    x = 1\n", "after", whole_lines=True)
    assert after.view == view + b"\n    x = 1"
    assert splice(view, G, "    pass\n", "replace", whole_lines=True).view.endswith(b"    pass")


def test_windows_line_endings_are_kept() -> None:
    view = CLASS.replace(b"\n", b"\r\n")
    start = view.index(b"    def f")
    span = Span(start, view.index(b"return 1") + len(b"return 1"))
    made = splice(view, span, "    def f(self):\n        return 3\n", "replace", whole_lines=True)
    assert made.view == view.replace(b"return 1", b"return 3")


def test_empty_text_deletes_the_lines() -> None:
    made = splice(CLASS, F, "", "replace", whole_lines=True)
    assert made.view == b"class A:\n\n    def g(self):\n        return 2\n"


def test_a_span_inside_a_line_is_replaced_to_the_byte() -> None:
    made = splice(b"a=1;b=2;c=3", Span(4, 7), "b=22", "replace", whole_lines=False)
    assert made.view == b"a=1;b=22;c=3"


@given(
    st.lists(st.text("ab \t", max_size=6), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n"]),
    st.text("xy\n", max_size=8),
    st.sampled_from(["replace", "before", "after"]),
    st.data(),
)
def test_lines_outside_the_span_never_change(
    lines: list[str], final: bool, eol: bytes, text: str, op: str, data: st.DataObject
) -> None:
    view = eol.join(line.encode() for line in lines) + (eol if final else b"")
    starts = [0, *[i + len(eol) for i in range(len(view)) if view.startswith(eol, i)]]
    starts = [s for s in starts if s < len(view)] or [0]
    first = data.draw(st.integers(0, len(starts) - 1))
    last = data.draw(st.integers(first, len(starts) - 1))
    end = starts[last + 1] if last + 1 < len(starts) else len(view)
    made = splice(view, Span(starts[first], end), text, op, whole_lines=True)
    head = view[: starts[first]] if op != "after" else view[:end]
    tail = view[end:] if op != "before" else view[starts[first] :]
    assert made.view.startswith(head)
    assert made.view.endswith(tail)


@pytest.mark.parametrize(
    ("view", "expected"), [(b"", b"\n"), (b"a\r\nb\r\nc\n", b"\r\n"), (b"a\nb\r\n", b"\n"), (b"a\rb", b"\r")]
)
def test_the_most_frequent_line_ending_counts(view: bytes, expected: bytes) -> None:
    assert line_ending(view) == expected
