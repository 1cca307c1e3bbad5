"""``go test`` as text, with and without -v; compile, vet and setup errors of its packages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Family, Findings, Group
from ..frames import Frame, choose, frames
from ..model import Failure, Lines, Section, Verdict

_RUN: Final = re.compile(r"^=== (?P<what>RUN|CONT|NAME|PAUSE) +(?P<name>\S.*)?$")
_RESULT: Final = re.compile(
    r"^(?P<indent> *)--- (?P<word>PASS|FAIL|SKIP|BENCH): (?P<name>\S.*?) \("
    r"(?P<time>[\d.]+) ?s(?:econds)?\)$"
)
_PACKAGE: Final = re.compile(
    r"^(?P<word>ok|FAIL|\?|---)\s+(?P<name>[\w./~@-]+)(?:\s+(?P<time>[\d.]+)s|\s+\(cached\))?(?P<rest>.*)$"
)
_COMPILE: Final = re.compile(
    r"^(?:vet: )?(?P<file>(?:[A-Za-z]:)?[\w./\\~@+-]+\.(?:go|s|c|h)):(?P<line>\d+)(?::"
    r"(?P<column>\d+))?: (?P<message>\S.*)$"
)
_LOCATION: Final = re.compile(r"^ +(?P<file>[\w./\\~@+-]+\.go):(?P<line>\d+): ?(?P<message>.*)$")
_TESTIFY: Final = re.compile(r"^\s+(?P<key>Error Trace|Error|Test|Messages):\s+(?P<value>.*)$")
_TIMEOUT: Final = re.compile(r"^panic: test timed out after (?P<time>\S+)$")
_CALL: Final = re.compile(r"^[\w./-]+\.(?P<name>Test\w+)\(")
_DIED: Final = re.compile(r"^(?:exit status \d+|signal: \w+)")
_RUNNING: Final = re.compile(r"^\t(?P<name>Test\S+|Fuzz\S+|Example\S+) \(")
_TELLING: Final = re.compile(
    r"(?i)error|want|expect|got|fail|unexpected|mismatch|!=|invalid|cannot|not equal"
    r"|should|diff|must|nil\b|timeout"
)
_WORDS: Final = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


@dataclass(slots=True)
class _Test:
    start: int
    end: int = 0
    file: str | None = None
    line: int | None = None
    message: str = ""
    at: int = 0
    telling: bool = False
    crash: str = ""
    crash_at: int = 0
    kind: str = "failed"
    stack: list[Frame] = field(default_factory=list[Frame])
    testify: bool = False


class GoText:
    """Follows tests by name, packages by their closing line."""

    def __init__(self) -> None:
        self._tests: dict[str, str] = {}
        self._open: dict[str, _Test] = {}
        self._current: _Test | None = None
        self._after: str = ""
        self._failed: list[tuple[str, _Test]] = []
        self._package_failed = 0
        self._counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        self._verbose = False
        self._builds: list[tuple[str, Failure]] = []
        self._loose: list[Failure] = []
        self._sections: list[Section] = []
        self._start = 0
        self._last = 0
        self._package_start = 0
        self._ok = 0
        self._empty = 0
        self._bad_packages = 0
        self._total = False  # "FAIL" alone: closes a package, and the run where it stands after the packages
        self._seconds = 0.0
        self._panic: _Test | None = None
        self._end = False
        self._timeout = ""
        self._hung = ""
        self._died = 0
        self._race = False
        self._unlisted = 0

    # --- reading ----------------------------------------------------------------------------------

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted while a package runs."""
        if text.startswith("=== ") and (found := _RUN.match(text)):
            self._run(number, found["what"], found["name"] or "")
        elif "--- " in text[:60] and (found := _RESULT.match(text)):
            self._result(number, found["word"], found["name"])
        elif not self._open and self._compile_line(number, text):
            return 3
        elif text[:4] in {"ok  ", "ok \t", "FAIL", "?   ", "ok\t"} or text[:2] in {"?\t", "ok"}:
            self._closing(number, text)
        elif text.startswith("panic: "):
            self._crash(number, text)
        elif self._panic is not None:
            self._panic_line(self._panic, number, text)
        elif text == "WARNING: DATA RACE":
            self._data_race(number)
        elif _DIED.match(text):
            self._died = number
        else:
            self._detail(number, text)
        busy = bool(self._open) or self._after or self._panic is not None
        return ALL if busy else 0

    def _touch(self, number: int) -> None:
        self._start = self._start or number
        self._package_start = self._package_start or number
        self._last = number

    def _run(self, number: int, what: str, name: str) -> None:
        self._touch(number)
        self._verbose, self._after, self._end, self._race = True, "", False, False
        if what == "RUN" and name and len(self._open) < MAX_TESTS:
            self._open[name] = _Test(number, number)
        if name and name in self._open and what != "PAUSE":
            self._current = self._open[name]
        elif what != "PAUSE":
            self._current = None

    def _result(self, number: int, word: str, name: str) -> None:
        if self._verbose and name not in self._open:
            return  # printed by a test
        self._touch(number)
        self._race = False
        test = self._open.pop(name, None) or _Test(number, number)
        test.end = number
        outcome = _WORDS.get(word)
        if outcome is None:
            return
        self._counts[outcome] += 1
        if len(self._tests) < MAX_TESTS:
            self._tests[name] = outcome
        if outcome == "failed":
            if len(self._failed) < MAX_FAILURES:
                self._failed.append((name, test))
            else:
                self._unlisted += 1
            self._package_failed += 1
        self._after, self._current = name, test if outcome == "failed" else None

    def _detail(self, number: int, text: str) -> None:
        """A line under a test: its first telling ``file.go:N: message`` is the one to show."""
        test = self._current
        if test is None:
            return
        self._last = test.end = number
        if self._race:
            if len(test.stack) < 50:
                test.stack.extend(frames([text]))
            self._race = text != "=================="
            return
        if text in {"got:", "want:"} or (test.message[-5:] in {" got:", "want:"} and text):
            test.message, test.at = f"{test.message} {text.strip()}"[:300], test.at or number
        elif found := _LOCATION.match(text):
            self._locate(test, number, found["file"], int(found["line"]), found["message"])
        elif test.testify and (found := _TESTIFY.match(text)):
            if found["key"] == "Error":
                test.message, test.at = found["value"], number
                test.testify = test.message.endswith(":")
        elif (test.testify and text.strip() and test.message and not test.message.endswith(".")) or (
            test.at == number - 1 and test.message.endswith(":") and text.startswith("        ")
        ):
            test.message = f"{test.message} {text.strip()}"[:300]

    def _locate(self, test: _Test, number: int, file: str, line: int, message: str) -> None:
        telling = bool(_TELLING.search(message))
        if test.crash or (test.telling and test.message) or (test.file and not telling and test.message):
            return
        if file == "testing.go":
            return
        test.file, test.line, test.message, test.at, test.telling = file, line, message, number, telling
        test.testify = not message.strip()

    def _data_race(self, number: int) -> None:
        if self._current is None and self._open:
            self._current = next(reversed(self._open.values()))
        if self._current is not None and not self._current.crash:
            self._race = True
            self._current.crash, self._current.crash_at, self._current.kind = (
                "WARNING: DATA RACE",
                number,
                "race",
            )

    # --- panics -----------------------------------------------------------------------------------

    def _crash(self, number: int, text: str) -> None:
        timeout = _TIMEOUT.match(text)
        if not self._start and not self._open and not timeout:
            return
        self._touch(number)
        name, test = "", None
        if self._open:
            name = next(reversed(self._open))
            test = self._open.pop(name)
            self._failed.append((name, test))
            self._tests[name] = "failed"
            self._counts["failed"] += 1
            self._package_failed += 1
        elif self._failed and self._package_failed and not timeout:
            name, test = self._failed[-1]
        if test is None:
            test = _Test(number, number)
        test.crash, test.crash_at, test.kind = text.removesuffix(" [recovered]"), number, "panic"
        if timeout:
            test.kind, self._timeout = "timeout", timeout["time"]
        self._panic, self._current = test, None

    def _panic_line(self, test: _Test, number: int, text: str) -> None:
        self._last = test.end = number
        if self._timeout and (found := _RUNNING.match(text)):
            self._open.pop(found["name"], None)
            self._hung = self._hung or found["name"]
        if self._timeout and not self._hung and (found := _CALL.match(text)):
            self._hung = found["name"]
        if len(test.stack) < 100:
            test.stack.extend(frame for frame in frames([text]) if not frame.file.endswith("_testmain.go"))

    # --- packages ---------------------------------------------------------------------------------

    def _closing(self, number: int, text: str) -> None:
        if text in {"FAIL", "PASS", "ok"}:
            self._end, self._after, self._total = True, "", text == "FAIL"
            self._last = number if self._start else self._last
            return
        found = _PACKAGE.match(text)
        if not found or not (
            found["time"] or found["rest"].strip() or "cached" in text or found["word"] == "FAIL"
        ):
            return
        if self._open and not self._end and self._panic is None and self._died != number - 1:
            return  # printed by a test
        if found["word"] != "FAIL" and self._package_failed and not self._end:
            return  # printed by a test of a package that did not close with FAIL yet
        name, rest = found["name"], found["rest"].strip()
        self._touch(number)
        self._seconds += float(found["time"] or 0)
        if len(self._sections) < 1000:
            self._sections.append(Section(name, "package", Lines(self._package_start, number)))
        if found["word"] == "?" or "no test files" in rest or "no tests to run" in rest:
            self._empty += 1
        elif found["word"] == "ok":
            self._ok += 1
        elif found["word"] == "FAIL":
            self._failed_package(number, name, rest)
        self._package_start, self._package_failed, self._panic, self._total = 0, 0, None, False
        self._timeout = self._hung = ""
        self._open, self._current, self._after, self._end = {}, None, "", True

    def _failed_package(self, number: int, name: str, rest: str) -> None:
        self._bad_packages += 1
        if rest.startswith("["):
            label = f"{name} {rest}"
            mine = [
                failure for folder, failure in self._builds if name == folder or name.endswith("/" + folder)
            ]
            mine = mine or [failure for folder, failure in self._builds if not folder]
            if mine:
                self._loose += [_renamed(failure, label) for failure in mine]
                self._builds = [row for row in self._builds if row[1] not in mine]
            else:
                self._loose.append(
                    Failure(label, "build", None, None, label, number, Lines(number, number), "go test")
                )
        elif not self._package_failed:
            start = self._package_start or number
            test = self._panic
            if test is not None and test.crash:
                self._loose.append(_failure(self._hung or name, test, test.kind))
            else:
                self._loose.append(
                    Failure(
                        name, "error", None, None, f"FAIL {name}", number, Lines(start, number), "go test"
                    )
                )

    def _compile_line(self, number: int, text: str) -> bool:
        found = _COMPILE.match(text)
        if not found or self._current is not None or self._panic is not None:
            return False
        self._touch(number)
        column = int(found["column"]) if found["column"] else None
        folder = found["file"].replace("\\", "/").removeprefix("./").rpartition("/")[0]
        failure = Failure(
            f"{folder or '.'} [{'vet' if text.startswith('vet: ') else 'build'} failed]",
            "compile",
            found["file"],
            int(found["line"]),
            found["message"],
            number,
            Lines(number, number),
            "go test",
            column,
        )
        if len(self._builds) < MAX_FAILURES:
            self._builds.append((folder, failure))
        return True

    # --- the result -------------------------------------------------------------------------------

    def finish(self, last: int) -> Findings:
        """Counts of the result lines; a test that neither passed nor failed was cut or killed."""
        if not self._start:
            return Findings()
        failures = FailureSet()
        self._place_parents()
        for name, test in self._failed:
            failures.add(_failure(name, test, test.kind), (name, test.start))
        build = [failure for _, failure in self._builds]
        for failure in [*self._loose, *build]:
            failures.add(failure)
        failures.items.sort(key=lambda failure: failure.log_line)
        counts = dict(self._counts)
        counts["errors"] = len(self._loose) + len(build)
        if not self._verbose:
            counts = {key: value for key, value in counts.items() if key in {"failed", "errors"}}
        # Source: cmd/go prints "FAIL" last where one of several packages failed (since Go 1.14).
        several = len(self._sections) + self._empty > 1
        cut = bool(self._open) or (self._verbose and not self._end)
        cut = cut or (self._bad_packages > 0 and several and not self._total)
        notes = [f"{self._ok} packages ok"] if self._ok and not self._verbose else []
        if cut:
            notes.append(CUT)
        return Findings(
            tools=("go test",),
            failures=failures.items,
            totals=counts,
            verdict=self._verdict(len(failures), cut),
            owned=[Lines(self._start, self._last)],
            sections=self._sections,
            notes=notes,
            tests=self._tests,
            duration_seconds=round(self._seconds, 3),
            unlisted=failures.unlisted + self._unlisted,
        )

    def _place_parents(self) -> None:
        """A test that failed only because of a sub-test stands where the first of those does."""
        first: dict[str, _Test] = {}
        for name, test in self._failed:
            parts = name.split("/")[:8] if test.file else []
            for depth in range(1, len(parts)):
                first.setdefault("/".join(parts[:depth]), test)
        for name, test in self._failed:
            child = first.get(name)
            if child is not None and test.file is None and not test.crash:
                test.file, test.line = child.file, child.line

    def _verdict(self, bad: int, cut: bool) -> Verdict:
        if cut:
            return Verdict.INCOMPLETE
        if bad or self._bad_packages:
            return Verdict.FAILED
        return Verdict.PASSED if self._ok or self._counts["passed"] else Verdict.UNKNOWN


def _renamed(failure: Failure, name: str) -> Failure:
    return Failure(
        name, failure.kind, failure.file, failure.line, failure.message, failure.log_line, failure.block,
        failure.tool, failure.column,
    )  # fmt: skip


def _failure(name: str, test: _Test, kind: str) -> Failure:
    chosen = choose(test.stack) if test.crash else None
    file, line = (chosen.file, chosen.line) if chosen else (test.file, test.line)
    message = test.crash or test.message.strip() or f"--- FAIL: {name}"
    at = test.crash_at if test.crash else (test.at or test.end)
    return Failure(
        name,
        kind,
        file,
        line,
        message,
        at or test.start,
        Lines(test.start, max(test.start, test.end)),
        "go test",
    )


FAMILY = Family(
    "go test",
    Group.TESTS,
    (
        r"^=== (?:RUN|CONT|NAME) ",
        r"^ *--- (?:PASS|FAIL|SKIP): \S.* \([\d.]+ ?s",
        r"^(?:ok|FAIL)\s+[\w./~@-]+\s+(?:[\d.]+s|\(cached\)|\[(?:build|setup) failed\])",
        r"^\?\s+[\w./~@-]+\s+\[no test files\]$",
        r"^FAIL$",
        r"^panic: ",
        r"^(?:vet: )?[\w./\\~@+-]+\.go:\d+(?::\d+)?: \S",
    ),
    GoText,
)
