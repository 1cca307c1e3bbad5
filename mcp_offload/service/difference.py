"""The line difference of two texts, in bounded time and memory. Pure.

Lines that stand once on either side are anchors (the longest run of them that keeps its order);
between anchors, an exact shortest edit is looked for up to a limit of work. Beyond the limit a stretch
is shown as replaced: the difference is always correct, and short where that is affordable.
Source: the unified format is that of POSIX diff -u; shortest edits: Myers, "An O(ND) Difference
Algorithm and Its Variations", 1986; anchors: Bram Cohen's patience diff.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.models import Monitor, SilentMonitor

#: The most bytes that either side may have.
MAX_BYTES: Final = 64 * 1024 * 1024
#: The most lines that either side may have between what both begin and end with.
MAX_LINES: Final = 1_000_000
CONTEXT_LINES: Final = 3

#: Work in all on shortest edits, in comparisons of diagonals; a second or two.
_WORK: Final = 4_000_000
_MOST_EDITS: Final = 800
#: Up to this many lines in all a shortest edit is better than anchors on lines that repeat.
_SMALL_LINES: Final = 800
_COMPARED_BYTES: Final = 64 * 1024
_DEEPEST: Final = 12
_INSTEAD: Final = "; compare ranges of lines instead, such as l2#L1-50000."
_NO_NEWLINE: Final = b"\\ No newline at end of file\n"


class Block(NamedTuple):
    """Lines that are equal on both sides; offsets count from 0."""

    before: int
    after: int
    size: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """One stretch of a unified diff.

    Attributes:
        before_start, after_start: first lines, from 0.
        before_lines, after_lines: how many lines of each side it covers.
        lines: each with its mark (`` ``, ``-``, ``+``) and its LF; a last line without LF gets one
            and is followed by the customary line that says so.
    """

    before_start: int
    before_lines: int
    after_start: int
    after_lines: int
    lines: tuple[bytes, ...]

    def moved(self, lines: int) -> Hunk:
        """The hunk as many lines further down on both sides."""
        return replace(self, before_start=self.before_start + lines, after_start=self.after_start + lines)

    def text(self) -> bytes:
        """The hunk in unified format."""
        before = _range(self.before_start, self.before_lines)
        after = _range(self.after_start, self.after_lines)
        return b"@@ -%b +%b @@\n" % (before, after) + b"".join(self.lines)


@dataclass(frozen=True, slots=True)
class Difference:
    """What turns one text into the other; no hunks where they are identical."""

    hunks: tuple[Hunk, ...]
    added_lines: int
    removed_lines: int


_SILENT: Final = SilentMonitor()


def difference(
    before: bytes, after: bytes, *, context_lines: int = CONTEXT_LINES, monitor: Monitor = _SILENT
) -> Difference:
    """Compare two texts line by line; a line ends with LF, and a CR before it is part of it.

    Raises:
        InvalidArgumentError: a side is larger than :data:`MAX_BYTES`.
        OperationCancelledError: the monitor asked to stop.
    """
    if max(len(before), len(after)) > MAX_BYTES:
        raise InvalidArgumentError(f"Each side of a diff may have at most {MAX_BYTES // 2**20} MiB{_INSTEAD}")
    if before == after:
        return Difference((), 0, 0)
    skipped, kept = _apart(before, after, context_lines)
    sides = before[skipped : len(before) - kept], after[skipped : len(after) - kept]
    if max(side.count(b"\n") for side in sides) > MAX_LINES:
        raise InvalidArgumentError(f"More than {MAX_LINES} lines differ{_INSTEAD}")
    old, new = map(lines_of, sides)
    edits = list(_edits(_Comparison(old, new, monitor).blocks(), len(old), len(new)))
    first = before.count(b"\n", 0, skipped)
    hunks = (_hunk(group, old, new, context_lines) for group in _grouped(edits, context_lines))
    return Difference(
        hunks=tuple(hunk.moved(first) for hunk in hunks),
        added_lines=sum(edit.after_end - edit.after for edit in edits),
        removed_lines=sum(edit.before_end - edit.before for edit in edits),
    )


def _apart(before: bytes, after: bytes, context_lines: int) -> tuple[int, int]:
    """Return how many bytes to leave out at the start and at the end: whole equal lines but the context."""
    shorter = min(len(before), len(after))
    start = before.rfind(b"\n", 0, _common(before, after, shorter)) + 1
    for _ in range(context_lines):
        start = before.rfind(b"\n", 0, max(0, start - 1)) + 1
    # The lines at the end may not be those of the start once more.
    common = _common(before[start:][::-1], after[start:][::-1], shorter - start)
    end = len(before) - common
    for _ in range(context_lines + 1):
        end = before.find(b"\n", end) + 1 or len(before)
    return start, len(before) - end


def _common(before: bytes, after: bytes, limit: int) -> int:
    """Return how many leading bytes are equal, at most ``limit``."""
    at, step = 0, _COMPARED_BYTES
    while step:
        while at + step <= limit and before[at : at + step] == after[at : at + step]:
            at += step
        step //= 2
    return at


def lines_of(data: bytes) -> list[bytes]:
    """Split into lines with their LF; the last may lack it."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()
    return lines if last == b"\n" else [*lines, last[:-1]]


def _range(start: int, count: int) -> bytes:
    """A line range of a hunk's header: a range of no lines names the line before it."""
    first = start + 1 if count else start
    return b"%d" % first if count == 1 else b"%d,%d" % (first, count)


class _Edit(NamedTuple):
    """Lines of one side that give way to lines of the other; half-open, from 0."""

    before: int
    before_end: int
    after: int
    after_end: int


def _edits(blocks: Sequence[Block], before_lines: int, after_lines: int) -> Iterator[_Edit]:
    """Yield what stands between equal blocks."""
    before = after = 0
    for block in (*blocks, Block(before_lines, after_lines, 0)):
        if block.before > before or block.after > after:
            yield _Edit(before, block.before, after, block.after)
        before, after = block.before + block.size, block.after + block.size


def _grouped(edits: Sequence[_Edit], context_lines: int) -> Iterator[list[_Edit]]:
    """Yield runs of edits whose context touches."""
    group: list[_Edit] = []
    for edit in edits:
        if group and edit.before - group[-1].before_end > 2 * context_lines:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _hunk(group: Sequence[_Edit], old: Sequence[bytes], new: Sequence[bytes], context_lines: int) -> Hunk:
    lead = min(context_lines, group[0].before)
    trail = min(context_lines, len(old) - group[-1].before_end)
    lines: list[bytes] = []
    at = group[0].before - lead
    for edit in group:
        lines += _marked(b" ", old[at : edit.before])
        lines += _marked(b"-", old[edit.before : edit.before_end])
        lines += _marked(b"+", new[edit.after : edit.after_end])
        at = edit.before_end
    lines += _marked(b" ", old[at : at + trail])
    before_start, after_start = group[0].before - lead, group[0].after - lead
    return Hunk(
        before_start=before_start,
        before_lines=at + trail - before_start,
        after_start=after_start,
        after_lines=group[-1].after_end + trail - after_start,
        lines=tuple(lines),
    )


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line.endswith(b"\n"):
            yield mark + line
        else:
            yield mark + line + b"\n"
            yield _NO_NEWLINE


class _Range(NamedTuple):
    """A stretch of both sides still to be compared."""

    before: int
    before_end: int
    after: int
    after_end: int
    depth: int


class _Comparison:
    """Finds the equal blocks of two lists of lines."""

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes], monitor: Monitor) -> None:
        numbers: dict[bytes, int] = {}
        self._old = [numbers.setdefault(line, len(numbers)) for line in old]
        self._new = [numbers.setdefault(line, len(numbers)) for line in new]
        self._monitor = monitor
        self._work = _WORK
        self._found: list[Block] = []

    def blocks(self) -> list[Block]:
        """Return the blocks in order; adjacent ones are joined."""
        todo = [_Range(0, len(self._old), 0, len(self._new), 0)]
        while todo:
            part = self._trimmed(todo.pop())
            if part.before == part.before_end or part.after == part.after_end:
                continue
            self._monitor.advance(part.before, len(self._old))
            if anchors := self._anchors(part):
                todo += reversed(list(_between(part, anchors)))
                self._found += anchors
            else:
                self._found += self._shortest(part)
        return list(_joined(sorted(self._found)))

    def _trimmed(self, part: _Range) -> _Range:
        """Take what both sides begin and end with as equal."""
        old, new = self._old, self._new
        before, before_end, after, after_end, depth = part
        while before < before_end and after < after_end and old[before] == new[after]:
            before, after = before + 1, after + 1
        if before > part.before:
            self._found.append(Block(part.before, part.after, before - part.before))
        while before < before_end and after < after_end and old[before_end - 1] == new[after_end - 1]:
            before_end, after_end = before_end - 1, after_end - 1
        if before_end < part.before_end:
            self._found.append(Block(before_end, after_end, part.before_end - before_end))
        return _Range(before, before_end, after, after_end, depth)

    def _anchors(self, part: _Range) -> list[Block]:
        """Return lines found once on each side, or else as often on each side, in one common order."""
        if part.depth >= _DEEPEST:
            return []
        old = self._old[part.before : part.before_end]
        new = self._new[part.after : part.after_end]
        old_counts, new_counts = Counter(old), Counter(new)
        unique = {line for line, count in old_counts.items() if count == 1 == new_counts.get(line)}
        if unique:
            places = {line: at for at, line in enumerate(new) if line in unique}
            pairs = [(at, places[line]) for at, line in enumerate(old) if line in unique]
        elif len(old) + len(new) <= _SMALL_LINES:
            return []
        else:
            balanced = {line for line, count in old_counts.items() if count == new_counts.get(line)}
            ranked = {key: at for at, key in _ranked(new, balanced)}
            pairs = [(at, ranked[key]) for at, key in _ranked(old, balanced)]
        return [Block(part.before + at, part.after + place, 1) for at, place in _longest_rising(pairs)]

    def _shortest(self, part: _Range) -> list[Block]:
        """Return the equal lines of a shortest edit, or none where that would take too much work."""
        old = self._old[part.before : part.before_end]
        new = self._new[part.after : part.after_end]
        if not set(old) & set(new):
            return []
        affordable = max(0, self._work) // (len(old) + len(new))
        most = min(_MOST_EDITS, len(old) + len(new), affordable)
        pairs, edits = _shortest_edit(old, new, most)
        self._work -= edits * (edits + len(old) + len(new))
        return [Block(part.before + at, part.after + place, 1) for at, place in pairs]


def _ranked(lines: Sequence[int], wanted: set[int]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield places of wanted lines, each with the line and how often it stood before."""
    seen: Counter[int] = Counter()
    for at, line in enumerate(lines):
        if line in wanted:
            yield at, (line, seen[line])
            seen[line] += 1


def _between(part: _Range, anchors: Sequence[Block]) -> Iterator[_Range]:
    """Yield what is left of a range between its anchors."""
    before, after = part.before, part.after
    for anchor in anchors:
        yield _Range(before, anchor.before, after, anchor.after, part.depth + 1)
        before, after = anchor.before + anchor.size, anchor.after + anchor.size
    yield _Range(before, part.before_end, after, part.after_end, part.depth + 1)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a longest run of pairs, ascending in the first, that ascends in the second too."""
    tops: list[int] = []
    top_pairs: list[int] = []
    previous: list[int] = []
    for index, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        previous.append(top_pairs[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [place]
        top_pairs[pile : pile + 1] = [index]
    run: list[tuple[int, int]] = []
    index = top_pairs[-1] if top_pairs else -1
    while index >= 0:
        run.append(pairs[index])
        index = previous[index]
    return run[::-1]


def _shortest_edit(
    old: Sequence[Hashable], new: Sequence[Hashable], most: int
) -> tuple[list[tuple[int, int]], int]:
    """Return the equal pairs of a shortest edit of at most ``most`` lines, and the edits looked at.

    ``reach[k]`` is how far along ``old`` the best path on diagonal ``k`` (old minus new) has come.
    """
    reach = [0] * (2 * most + 3)
    middle = most + 1
    history: list[list[int]] = []
    for edits in range(most + 1):
        history.append(reach[middle - edits - 1 : middle + edits + 2])
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[middle + k - 1] < reach[middle + k + 1])
            x = reach[middle + k + 1] if down else reach[middle + k - 1] + 1
            while x < len(old) and 0 <= x - k < len(new) and old[x] == new[x - k]:
                x += 1
            reach[middle + k] = x
            if x >= len(old) and x - k >= len(new):
                return _walk_back(history, len(old), len(new)), edits
    return [], most


def _walk_back(history: Sequence[Sequence[int]], x: int, y: int) -> list[tuple[int, int]]:
    """Return the equal pairs on the path that ends at ``x``, ``y``, in order."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reach, middle, k = history[edits], edits + 1, x - y
        down = k == -edits or (k != edits and reach[middle + k - 1] < reach[middle + k + 1])
        came_x = 0 if not edits else reach[middle + k + 1] if down else reach[middle + k - 1]
        came_y = 0 if not edits else came_x - (k + 1 if down else k - 1)
        while x > came_x and y > came_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = came_x, came_y
    return pairs[::-1]


def _joined(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks with those that touch on both sides made one."""
    last: Block | None = None
    for block in blocks:
        if last and (last.before + last.size, last.after + last.size) == (block.before, block.after):
            last = last._replace(size=last.size + block.size)
            continue
        if last:
            yield last
        last = block
    if last:
        yield last
