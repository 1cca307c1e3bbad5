"""A digest as bounded lines of text, with handles for everything it names and everything it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from .family import clip
from .model import Digest, Failure, Verdict

Counter = Callable[[str], int]
DEFAULT_MAX_TOKENS: Final = 600
_AIM_SHARE: Final = 0.5
_AIM_TOKENS: Final = 250
_SHOWN_NOTES: Final = 4
_SHOWN_TEMPLATES: Final = 6
_FIRST_CAUSES: Final = 3
_MESSAGE_CHARS: Final = 200
_NAME_CHARS: Final = 120
_WORDS: Final = ("passed", "failed", "errors", "skipped", "xfailed", "xpassed", "flaky", "todo", "warnings")


class _Page:
    """Lines within a budget; ``aim`` is where lists stop, ``limit`` what is never exceeded."""

    def __init__(self, count: Counter, limit: int) -> None:
        self.lines: list[str] = []
        self.used = 0
        self.listed = 0  # failures that have a line of their own
        self.aim = max(int(limit * _AIM_SHARE), min(limit, _AIM_TOKENS))
        self._limit = limit
        self._count = count

    def add(self, text: str, reserve: int = 0) -> bool:
        """Add a line unless it would leave less than ``reserve`` of the limit."""
        cost = self._count(text) + 1
        if self.used + cost > self._limit - reserve:
            return False
        self.lines.append(text)
        self.used += cost
        return True

    def full(self) -> bool:
        """True where lists should stop."""
        return self.used >= self.aim


def render(
    digest: Digest,
    handle: str,
    count: Counter,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    whole: str | None = None,
) -> list[str]:
    """The digest in at most ``max_tokens`` tokens.

    Args:
        digest: what to show.
        handle: the log's handle (``t7``); failures are ``t7#!1``, lines ``t7#L10-20``.
        count: counts the tokens of a text.
        max_tokens: never exceeded; lists stop at half of it, but not below 250. The log's first and last
            lines come after all that went wrong.
        whole: the log itself where it is small; returned as it is where it is no longer than the digest.
    """
    page = _Page(count, max_tokens - 8)
    page.add(_headline(digest))
    for note in digest.notes[:_SHOWN_NOTES]:
        page.add(clip(note, 160), reserve=60)
    if len(digest.notes) > _SHOWN_NOTES:
        page.add(f"[{len(digest.notes) - _SHOWN_NOTES} more notes: {handle}]", reserve=60)
    if digest.failures:
        _failures(digest, handle, page)
    elif digest.verdict is not Verdict.PASSED:
        _templates(digest, handle, page)
    whole_list = not digest.failures or page.listed == len(digest.failures)
    if len(digest.failures) < 4 and digest.verdict is not Verdict.PASSED and whole_list:
        _tail(digest, handle, page)
    if whole is not None and count(whole) <= page.used:
        return whole.removesuffix("\n").split("\n")
    return page.lines


def _headline(digest: Digest) -> str:
    counts = [f"{digest.totals[word]} {word}" for word in _WORDS if digest.totals.get(word)]
    if not counts and "passed" in digest.totals:
        counts = ["0 tests"]
    parts = [
        digest.verdict.value
        if digest.complete or digest.verdict in _OPEN
        else f"{digest.verdict.value}, not complete"
    ]
    parts += [", ".join(digest.tools[:4])] if digest.tools else []
    parts += [", ".join(counts)] if counts else []
    if digest.duration_seconds is not None:
        parts.append(f"{digest.duration_seconds:g} s")
    parts.append(f"{digest.line_count} lines")
    return " | ".join(parts)


_OPEN: Final = frozenset({Verdict.INCOMPLETE, Verdict.UNKNOWN})


def place(failure: Failure) -> str:
    """``file:line`` of a failure as far as known."""
    if failure.file is None:
        return ""
    return f"{failure.file}:{failure.line}" if failure.line is not None else failure.file


def _entry(failure: Failure, index: int, handle: str, times: int) -> str:
    name = clip(failure.name, _NAME_CHARS)
    message = clip(failure.message, _MESSAGE_CHARS)
    where = place(failure)
    parts = [f"{handle}#!{index + 1}"]
    parts += [f"({times}x)"] if times > 1 else []
    parts += [name] if name and name not in message else []
    parts += [where] if where and where != name else []
    return f"{' '.join(parts)} L{failure.log_line}: {message}"


def _failures(digest: Digest, handle: str, page: _Page) -> None:
    """One line per cause, most frequent first; then other failures of shown causes while there is room."""
    shown: set[int] = set()
    total = len(digest.failures) + digest.unlisted
    causes = digest.causes
    for rank, cause in enumerate(causes):
        if rank >= _FIRST_CAUSES and page.full():
            break
        if not page.add(_entry(digest.failures[cause.first], cause.first, handle, cause.count), reserve=30):
            break
        shown.add(cause.first)
        page.listed += 1
    covered = sum(cause.count for cause in causes[: len(shown)])
    if len(shown) < len(causes):
        left = len(causes) - len(shown)
        page.add(f"[{left} more causes, {total - covered} failures: {handle}]")
    elif total > len(shown):
        _others(digest, handle, page, shown, total)


def _others(digest: Digest, handle: str, page: _Page, shown: set[int], total: int) -> None:
    for index, failure in enumerate(digest.failures):
        if index in shown:
            continue
        if page.full() or not page.add(
            f"{handle}#!{index + 1} {clip(failure.name, _NAME_CHARS)} {place(failure)}".rstrip(), 30
        ):
            break
        shown.add(index)
        page.listed += 1
    if total > len(shown):
        page.add(f"[{total - len(shown)} more failures of these causes: {handle}]")


def _templates(digest: Digest, handle: str, page: _Page) -> None:
    """Error-like lines of a log that no family explains."""
    excerpt = digest.excerpt
    listed = 0
    for template in excerpt.templates[:_SHOWN_TEMPLATES]:
        times = f" ({template.count}x)" if template.count > 1 else ""
        if page.full() or not page.add(
            f"{handle}#L{template.first_line}{times}: {clip(template.text, 160)}", reserve=60
        ):
            break
        listed += 1
    rest = sum(template.count for template in excerpt.templates[listed:]) + excerpt.unlisted
    if rest:
        page.add(f"[{rest} more error-like lines: {handle}]", reserve=40)
    if not excerpt.templates:
        for text in excerpt.head[:2]:
            page.add(clip(text, 160), reserve=60)


def _tail(digest: Digest, handle: str, page: _Page) -> None:
    """The log's last lines, newest kept first where room is short."""
    lines = [text for text in digest.excerpt.tail if text.strip()][-5:]
    first = digest.line_count - len(digest.excerpt.tail) + 1
    kept: list[str] = []
    budget = max(40, page.aim - page.used)
    for text in reversed(lines):
        shown = clip(text, _MESSAGE_CHARS)
        budget -= len(shown) // 3 + 2
        if budget < 0 and kept:
            break
        kept.append(shown)
    if not kept:
        return
    skipped = max(0, first + len(digest.excerpt.tail) - len(kept) - 1)
    if (
        skipped and page.add(f"[{skipped} lines before: {handle}#L1-{skipped}] last lines:", reserve=40)
    ) or not skipped:
        for text in reversed(kept):
            page.add(text)


def fits(lines: Sequence[str], count: Counter, max_tokens: int) -> bool:
    """Whether rendered lines keep to a budget."""
    return count("\n".join(lines)) <= max_tokens
