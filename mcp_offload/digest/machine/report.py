"""What the parsers of machine-readable reports share: typed access to loose values, and the tally."""

from __future__ import annotations

from typing import Any, Final

from ..family import MAX_TESTS, FailureSet, Findings, clip
from ..model import Failure, Lines, Verdict

KEYS: Final = {
    "passed": "passed",
    "failed": "failed",
    "error": "errors",
    "skipped": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
    "flaky": "flaky",
    "todo": "todo",
}


def text_of(value: Any, *keys: str) -> str:
    """Follow keys into nested objects; the text found there, or ''."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return value if isinstance(value, str) else ""


def int_of(value: Any, *keys: str) -> int | None:
    """Follow keys into nested objects; the whole number found there, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return None


def list_of(value: Any, *keys: str) -> list[Any]:
    """Follow keys into nested objects; the list found there, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return list(value) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType]


def dict_of(value: Any, *keys: str) -> dict[str, Any]:
    """Follow keys into nested objects; the object found there, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def member(value: Any, key: str) -> Any:
    """Return an object's member whatever it is; None where there is no object or no such member."""
    return dict_of(value).get(key)


def first_line(text: str) -> str:
    """Return the first line that is not blank; where it ends in a colon, with the next one."""
    found = ""
    for line in text[:20_000].split("\n"):
        if line.strip():
            found = f"{found} {line.strip()}".strip()
            if not found.endswith(":") or found != line.strip():
                break
    return clip(found, 1000)


class Tally:
    """Collects the outcomes, failures and totals of one report."""

    def __init__(self) -> None:
        self.tools: list[str] = []
        self.failures = FailureSet()
        self.counts: dict[str, int] = {}
        self.stated: dict[str, int] = {}
        self.tests: dict[str, str] = {}
        self.duration_seconds: float | None = None
        self.notes: list[str] = []
        self.lint = False
        self.broken = False
        self.command: dict[str, object] = {}

    def tool(self, name: str) -> None:
        """Name a tool once."""
        if name and name not in self.tools:
            self.tools.append(name)

    def count(self, key: str, number: int = 1) -> None:
        """Add to a total."""
        self.counts[key] = self.counts.get(key, 0) + number

    def outcome(self, name: str, word: str) -> None:
        """Count one test; its last outcome is kept."""
        self.count(KEYS[word])
        if len(self.tests) < MAX_TESTS or name in self.tests:
            self.tests[name] = word

    def fail(
        self,
        name: str,
        kind: str,
        where: tuple[str | None, int | None],
        message: str,
        lines: tuple[int, int, int],
        column: int | None = None,
    ) -> None:
        """Add a failure; ``lines`` are the decisive line and the first and last of its block."""
        tool = self.tools[0] if self.tools else "report"
        at, start, end = lines
        message = message or name
        block = Lines(min(start, at), max(end, at))
        failure = Failure(name, kind, where[0] or None, where[1], message, at, block, tool, column)
        self.failures.add(failure, (name, where, message, at, column))

    def findings(self, *, complete: bool) -> Findings:
        """Close the account: totals as stated where they are higher than what was listed."""
        if not self.tools:
            return Findings()
        totals = dict(self.counts)
        for key, number in self.stated.items():
            totals[key] = number if complete else max(number, totals.get(key, 0))
        bad = totals.get("failed", 0) + totals.get("errors", 0) + len(self.failures)
        seen = sum(number for key, number in totals.items() if key != "warnings")
        if bad or self.broken:
            verdict = Verdict.ERROR if self.broken and not bad else Verdict.FAILED
        elif not complete:
            verdict = Verdict.INCOMPLETE
        else:
            verdict = Verdict.PASSED if seen or self.lint else Verdict.UNKNOWN
        return Findings(
            tools=tuple(self.tools),
            failures=self.failures.items,
            totals=totals,
            verdict=verdict,
            notes=self.notes,
            tests=self.tests,
            duration_seconds=self.duration_seconds,
            conclusive=True,
            unlisted=self.failures.unlisted,
        )
