"""Line differences: hunks that turn one text into the other exactly, in bounded time."""

from __future__ import annotations

import difflib
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload.errors import InvalidArgumentError, OperationCancelledError
from mcp_offload.service.difference import MAX_BYTES, MAX_LINES, Difference, difference, lines_of

HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")
NO_NEWLINE = b"\\ No newline at end of file\n"


def unified(found: Difference) -> bytes:
    return b"".join(hunk.text() for hunk in found.hunks)


def patched(before: bytes, diff: bytes) -> bytes:
    """Apply a unified diff strictly: every context and removed line must be where it is said to be."""
    old, new = lines_of(before), list[bytes]()
    lines = lines_of(diff)
    at = position = 0
    while at < len(lines):
        header = HEADER.fullmatch(lines[at])
        assert header, lines[at]
        start, count, after, after_count = (1 if part is None else int(part) for part in header.groups())
        start -= bool(count)
        new += old[position:start]
        assert len(new) + bool(after_count) == after
        position, produced, at = start, len(new), at + 1
        while at < len(lines) and not HEADER.fullmatch(lines[at]):
            mark, line = lines[at][:1], lines[at][1:]
            at += 1
            if at < len(lines) and lines[at] == NO_NEWLINE:
                line, at = line[:-1], at + 1
            if mark != b"+":
                assert old[position] == line
                position += 1
            if mark != b"-":
                new.append(line)
        assert (position - start, len(new) - produced) == (count, after_count)
    return b"".join([*new, *old[position:]])


LINE = st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"}\n", b"unique one\n", b"unique two\n", b"c\n"])
TEXT = st.builds(
    lambda lines, last: b"".join(lines) + last,
    st.lists(LINE, max_size=30),
    st.sampled_from([b"", b"x", b"a"]),
)


@given(TEXT, TEXT, st.integers(0, 4))
@settings(max_examples=500)
def test_the_hunks_turn_one_text_into_the_other(before: bytes, after: bytes, context: int) -> None:
    found = difference(before, after, context_lines=context)
    assert patched(before, unified(found)) == after
    assert (found.hunks == ()) is (before == after)
    body = [line for hunk in found.hunks for line in hunk.lines]
    assert found.added_lines == sum(line.startswith(b"+") for line in body)
    assert found.removed_lines == sum(line.startswith(b"-") for line in body)
    assert found.added_lines - found.removed_lines == len(lines_of(after)) - len(lines_of(before))


@given(st.lists(st.integers(0, 400), min_size=50, max_size=400), st.data())
@settings(max_examples=60)
def test_small_edits_of_larger_texts_stay_small(numbers: list[int], data: st.DataObject) -> None:
    lines = [b"line %d\n" % number for number in numbers]
    edited = list(lines)
    edits = data.draw(st.integers(1, 5))
    for _ in range(edits):
        at = data.draw(st.integers(0, len(edited) - 1))
        edited[at : at + 1] = [b"new text\n"]
    found = difference(b"".join(lines), b"".join(edited))
    assert patched(b"".join(lines), unified(found)) == b"".join(edited)
    assert max(found.added_lines, found.removed_lines) <= edits + 2 * (len(numbers) - len(set(numbers)))


@given(st.lists(st.sampled_from("abcd"), max_size=14), st.lists(st.sampled_from("abcd"), max_size=14))
def test_short_texts_of_repeated_lines_get_a_shortest_edit(before: list[str], after: list[str]) -> None:
    found = difference(
        "".join(f"{x}\n{x}\n" for x in before).encode(), "".join(f"{x}\n{x}\n" for x in after).encode()
    )
    old, new = [x for x in before for _ in "12"], [x for x in after for _ in "12"]
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, x in enumerate(old):
        for j, y in enumerate(new):
            longest[i + 1][j + 1] = longest[i][j] + 1 if x == y else max(longest[i][j + 1], longest[i + 1][j])
    assert found.removed_lines == len(old) - longest[-1][-1]


def test_the_format_is_the_customary_one() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 21)).splitlines(keepends=True)
    after = [*before[:4], "new\n", *before[5:15], *before[16:], "last"]
    expected = "".join(list(difflib.unified_diff(before, after))[2:]).replace("+last", "+last\n")
    text = unified(difference("".join(before).encode(), "".join(after).encode()))
    assert text == expected.encode() + NO_NEWLINE


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (b"", b"a\n", b"@@ -0,0 +1 @@\n+a\n"),
        (b"a\n", b"", b"@@ -1 +0,0 @@\n-a\n"),
        (b"a", b"a\n", b"@@ -1 +1 @@\n-a\n" + NO_NEWLINE + b"+a\n"),
        (b"a\r\n", b"a\n", b"@@ -1 +1 @@\n-a\r\n+a\n"),
        (b"", b"", b""),
        (b"a\nb", b"a\nb", b""),
        (b"\xff\n", b"\xfe\n", b"@@ -1 +1 @@\n-\xff\n+\xfe\n"),
        (b"a\nb\nc\n", b"a\nc\n", b"@@ -1,3 +1,2 @@\n a\n-b\n c\n"),
    ],
)
def test_edges(before: bytes, after: bytes, text: bytes) -> None:
    assert unified(difference(before, after)) == text


def test_line_numbers_hold_far_into_a_text() -> None:
    before = [b"line %d\n" % number for number in range(50_000)]
    after = [*before[:40_000], b"inserted\n", *before[40_000:]]
    (hunk,) = difference(b"".join(before), b"".join(after)).hunks
    assert hunk.text().startswith(b"@@ -39998,6 +39998,7 @@\n line 39997\n")


def test_a_moved_block_is_removed_once_and_added_once() -> None:
    lines = [b"line %d\n" % number for number in range(200)]
    moved = [*lines[:20], *lines[50:150], *lines[20:50], *lines[150:]]
    found = difference(b"".join(lines), b"".join(moved))
    assert (found.added_lines, found.removed_lines) == (30, 30)


HEARTBEATS = [b"tick\n", b"tock\n", b"idle\n", b"poll 3\n"]


@pytest.mark.parametrize("kind", ["scattered edits", "all different", "repetitive", "reversed", "shuffled"])
def test_logs_of_a_hundred_thousand_lines_come_to_an_end(kind: str) -> None:
    chance = random.Random(7)
    before = [b"2026-01-01 request %d took %d ms\n" % (n, chance.randrange(50)) for n in range(100_000)]
    after = list(before)
    if kind == "scattered edits":
        for at in chance.sample(range(100_000), 5000):
            after[at] = b"edited %d\n" % at
    elif kind == "all different":
        after = [b"other %d\n" % n for n in range(100_000)]
    elif kind == "repetitive":
        before = [chance.choice(HEARTBEATS) for _ in range(100_000)]
        after = [chance.choice(HEARTBEATS) for _ in range(100_000)]
    elif kind == "reversed":
        after.reverse()
    else:
        chance.shuffle(after)
    found = difference(b"".join(before), b"".join(after))
    assert patched(b"".join(before), unified(found)) == b"".join(after)
    if kind == "scattered edits":
        assert found.added_lines == 5000


def test_a_side_that_is_too_large_names_the_way_out() -> None:
    with pytest.raises(InvalidArgumentError, match=r"at most 64 MiB; compare ranges of lines"):
        difference(b"x" * (MAX_BYTES + 1), b"")
    with pytest.raises(InvalidArgumentError, match="compare ranges of lines"):
        difference(b"\n" * (MAX_LINES + 1), b"x")


def test_large_texts_that_differ_little_are_not_too_large() -> None:
    before = b"\n" * (MAX_LINES + 10)
    found = difference(before, before[:500_000] + b"x" + before[500_000:])
    assert (found.added_lines, found.removed_lines) == (1, 1)


def test_a_comparison_can_be_cancelled() -> None:
    class Cancelling:
        def advance(self, done: int, total: int | None, message: str = "") -> None:
            raise OperationCancelledError("stopped")

    with pytest.raises(OperationCancelledError):
        difference(b"a\nb\n", b"b\na\n", monitor=Cancelling())
