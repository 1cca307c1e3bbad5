"""TAP 12 to 14, from any producer: tape, mocha, node:test, Perl, bats, ava, tap-for-shell."""

from __future__ import annotations

import re
from typing import Final

from ..family import CUT, MAX_TESTS, FailureSet, Family, Findings, Group, clip
from ..frames import Frame, choose, frames, whole
from ..model import Failure, Lines, Verdict

_BLOCK_LINES: Final = 200
# Source: https://testanything.org/tap-version-14-specification.html
_POINT: Final = re.compile(r"^(?P<indent> *)(?P<not>not )?ok\b(?: (?P<number>\d+))?(?: ?-)? ?(?P<rest>.*)$")
_DIRECTIVE: Final = re.compile(r"(?<!\\)# *(?P<what>(?i:SKIP|TODO))\b")
_PLAN: Final = re.compile(r"^(?P<indent> *)1\.\.(?P<number>\d+)\s*(?:#\s*(?P<skip>(?i:skip)\S*.*))?$")
_TRAILER: Final = re.compile(r"^# (?P<key>tests|pass|fail|skipped|skip|todo|cancelled)\s+(?P<number>\d+)$")
_PLACES: Final = (
    re.compile(r"^\s*at:.*?\(?[\"'(]?(?P<file>[^\s()\"']+?):(?P<line>\d+)(?::\d+)?[\"')]?$"),
    re.compile(r"^\s*location: ['\"]?(?P<file>.+?):(?P<line>\d+):\d+['\"]?$"),
    re.compile(r"^# +\((?:in test file|from function .* in file) (?P<file>[^,]+), line (?P<line>\d+)\)?"),
    re.compile(r"^#\s+at (?P<file>\S+) line (?P<line>\d+)\.$"),
)
# Source: bats and Test::Builder explain a failure in comments that are indented more than one space.
_COMMENT: Final = re.compile(r"^# {3,}(?P<said>\S.*)$")
_FAILED_TEST: Final = re.compile(r"^(?:Failed test\b|at \S+ line \d+\.$|Failed \(TODO\))")
_TIMED: Final = re.compile(r"\s*# time=\S+")
_LOOSE: Final = re.compile(r"\((?P<file>/?[\w./~@-]+\.\w{1,4})(?::(?P<line>\d+)(?::\d+)?)?\)")
_META: Final = re.compile(r"^(?:#|at |[a-z_]+:(?:\s|$))")
_KEY: Final = re.compile(r"^['\"]?[a-z]\w*['\"]?:(?:\s|$)")
# Source: node-tap and vitest: the points of a suite stand in braces after its own.
_BRACE: Final = re.compile(r"(?:\s*# time=\S+)?(?P<brace>\s*\{)?$")
_ERROR: Final = re.compile(r"^(?:[\w.]*(?:Error|Exception)\b(?: \[\w+\])?: |Assertion failed|panic: )")
_PLACE_ONLY: Final = re.compile(r"^\S+:\d+$")
_FIELD: Final = re.compile(
    r"^\s+(?P<key>message|error|expected|wanted|actual|found|failureType|assertion):\s*(?P<value>.*)$"
)


class _Point:
    """A test point that is not ok, and the lines that explain it."""

    __slots__ = (
        "comment",
        "declared",
        "depth",
        "end",
        "error",
        "fields",
        "first",
        "found",
        "key",
        "line",
        "loose",
        "name",
        "place",
        "summary",
        "text",
        "yaml",
    )

    def __init__(self, line: int, depth: int, name: str, text: str) -> None:
        self.line = line
        self.end = line
        self.depth = depth
        self.name = name
        self.text = text
        self.first = ""
        self.error = ""
        self.comment: list[str] = []
        self.declared = False
        self.place: tuple[str, int | None] | None = None
        self.found: list[Frame] = []
        self.loose: list[Frame] = []
        self.fields: dict[str, str] = {}
        self.key = ""
        self.summary = False  # it only says that points before it, which are deeper, failed
        self.yaml = False

    def take(self, number: int, text: str) -> None:
        self.end = number
        body = text.strip()
        if body in ("---", "...", ""):
            self.yaml = body == "---" or (self.yaml and not body)
            return
        self._place_or_comment(text[self.depth :] if text[self.depth : self.depth + 1] == "#" else text)
        field = _FIELD.match(text)
        if field:
            self.key = field["key"]
            self.fields.setdefault(self.key, field["value"].strip(" '\"|->+,"))
        elif _KEY.match(body):
            self.key = ""
        elif self.key and not self.fields[self.key]:
            self.fields[self.key] = body
        into = self.found if body.startswith("at ") else self.loose
        if len(into) < 20:
            into.extend(frames((body.removeprefix("file://"),)))
        if (not self.first or self.first.endswith(":")) and not _META.match(body):
            self.first = f"{self.first} {body}".strip()
        if not self.error and _ERROR.match(body):
            self.error = body

    def _place_or_comment(self, text: str) -> None:
        for form in _PLACES:
            if found := form.match(text):
                if self.place is None:  # node:test says where a test is declared, not where it failed
                    self.declared = "location:" in text
                self.place = self.place or (found["file"], whole(found["line"]))
                return
        said = _COMMENT.match(text)
        if said and len(self.comment) < 3 and not _FAILED_TEST.match(said["said"]):
            self.comment.append(said["said"])

    def where(self) -> tuple[str | None, int | None]:
        frame = choose(self.found) or choose(self.loose)
        if self.place is not None and (frame is None or not self.declared):
            return self.place
        if frame is not None:
            return frame.file, frame.line
        loose = _LOOSE.search(self.first)
        if loose:
            return loose["file"], whole(loose["line"]) if loose["line"] else None
        return None, None

    def message(self) -> str:
        fields = self.fields
        said = fields.get("message") or fields.get("error")
        want, got = fields.get("expected", fields.get("wanted")), fields.get("actual", fields.get("found"))
        if not said and want is not None and got is not None:
            said = f"expected {want}, actual {got}"
        plain = "" if fields else self.first
        if not said and fields.get("assertion"):
            said = f"assertion {fields['assertion']}"
        said = said or (self.error if _PLACE_ONLY.match(plain) or not plain else plain)
        said = said or " ".join(self.comment)
        return f"{self.text}: {said}" if said and said not in self.text else self.text


class Tap:
    """Counts test points; a plan that is not fulfilled makes the run incomplete."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._point: _Point | None = None
        self._counts = {"passed": 0, "failed": 0, "skipped": 0, "todo": 0}
        self._stated: dict[str, int] = {}
        self._tests: dict[str, str] = {}
        self._plan: int | None = None
        self._points = 0
        self._version = False
        self._bail: tuple[int, str] | None = None
        self._first = 0
        self._last = 0
        self._skip_comments = 0
        self._nested = False
        self._leaves = dict(self._counts)
        self._braced = False
        self._parents: list[tuple[_Point, int]] = []
        self._children: list[int] = []  # depths of failing points since the last one that is less deep

    def feed(self, number: int, text: str) -> int:
        """Take a test point, a plan, a trailer, or a line that explains a failure."""
        found = _POINT.match(text)
        if found and (found["number"] or found["not"] or self._points):
            return self._new_point(number, found, text)
        plan = _PLAN.match(text)
        if plan:
            self._note(number)
            if not plan["indent"]:
                self._plan = (self._plan or 0) + whole(plan["number"])
            return self._follow()
        if text.startswith("TAP version "):
            self._version = True
            self._note(number)
        elif text.startswith("Bail out!"):
            self._note(number)
            self._bail = (number, text)
        elif trailer := _TRAILER.match(text):
            self._note(number)
            self._stated[trailer["key"]] = whole(trailer["number"])
        elif text.startswith("# SKIP ") and self._first:
            self._skip_comments += 1
        elif self._point is not None:
            if self._explains(text):
                self._point.take(number, text)
                return self._follow()
            self._close()
        return 0

    def _note(self, number: int) -> None:
        self._first = self._first or number
        self._last = number

    def _follow(self) -> int:
        point = self._point
        return max(0, _BLOCK_LINES - (point.end - point.line)) if point is not None else 0

    def _explains(self, text: str) -> bool:
        """Lines of a failure: indented deeper than its point, or comments that are no new group."""
        assert self._point is not None
        if not text.strip() or self._point.yaml:
            return True
        indent = len(text) - len(text.lstrip(" "))
        if text[indent : indent + 1] == "#" and indent == self._point.depth:
            return text.startswith(("#   ", "# (", "# Failed test"), indent)
        return indent > self._point.depth

    def _new_point(self, number: int, found: re.Match[str], text: str) -> int:
        self._close()
        self._note(number)
        depth = len(found["indent"])
        rest = found["rest"]
        said = _DIRECTIVE.search(rest)
        directive = said["what"].lower() if said else ""
        name = (rest[: said.start()] if said else rest).strip().removesuffix(" #")
        timed = _BRACE.search(name)
        brace = bool(timed and timed["brace"])
        name = (name[: timed.start()] if timed else name).rstrip().replace("\\#", "#")
        word = "failed" if found["not"] else "passed"
        if directive:
            word = "skipped" if directive == "skip" else "todo"
        self._nested = self._nested or depth > 0
        self._end_parents(depth)
        self._braced = self._braced or brace
        if not brace:
            self._leaves[word] += 1
        if depth == 0:
            self._points += 1
            self._counts[word] += 1
        if len(self._tests) < MAX_TESTS:
            self._tests[name] = word if word != "todo" else "skipped"
        if word == "failed":
            point = _Point(number, depth, name, clip(_TIMED.sub("", text.strip()).removesuffix(" {"), 1000))
            if brace:
                self._parents.append((point, len(self._failures)))
                return 2
            summary = bool(self._children) and self._children[-1] > depth
            self._outdent(depth)
            self._children.append(depth)
            point.summary = summary and not self._version
            self._point = point
            return _BLOCK_LINES
        self._outdent(depth)
        return 0

    def _outdent(self, depth: int) -> None:
        """Forget failing points that belong to what ended before a point at ``depth``."""
        while self._children and self._children[-1] > depth:
            self._children.pop()

    def _end_parents(self, depth: int) -> None:
        """Close the suites in braces that are not around ``depth``; one that failed by itself is listed."""
        while self._parents and self._parents[-1][0].depth >= depth:
            parent, before = self._parents.pop()
            if len(self._failures) == before:
                self._point = parent
                self._close()

    def _close(self) -> None:
        point, self._point = self._point, None
        if point is None or point.summary or point.fields.get("failureType", "") == "subtestsFailed":
            return
        file, line = point.where()
        block = Lines(point.line, point.end)
        name = point.name or point.text
        failure = Failure(name, "failed", file, line, clip(point.message(), 1000), point.line, block, "TAP")
        self._failures.add(failure, (point.line, name))

    def finish(self, last: int) -> Findings:
        """Totals as the trailers state them, else as counted at the top level."""
        self._close()
        self._end_parents(0)
        enough = self._version or (self._plan is not None and self._points) or self._points > 1
        if not enough:
            return Findings()
        if self._bail is not None:
            number, text = self._bail
            block = Lines(number, number)
            self._failures.add(Failure("Bail out!", "error", None, None, text, number, block, "TAP"))
        failed = len(self._failures) or self._counts["failed"]
        found = Findings(("TAP",), self._failures.items, self._totals(), tests=self._tests)
        found.owned = [Lines(self._first, self._last)]
        found.unlisted = self._failures.unlisted
        if self._bail is not None:
            found.verdict = Verdict.ERROR
        elif self._plan is None or self._points < self._plan:
            found.verdict = Verdict.INCOMPLETE
            planned = self._plan or "an unknown number of"
            found.notes.append(f"{CUT}: {self._points} of {planned} tests reported")
        elif failed:
            found.verdict = Verdict.FAILED
        else:
            found.verdict = Verdict.PASSED if self._points else Verdict.UNKNOWN
        return found

    def _totals(self) -> dict[str, int]:
        counts = self._leaves if self._braced else self._counts
        totals = {key: number for key, number in counts.items() if number or key != "todo"}
        totals["errors"] = 0
        # Source: ava's supertap counts TODO points as failed.
        todo_failed = self._stated.get("fail", 0) == counts["failed"] + counts["todo"] > counts["failed"]
        if "pass" in self._stated and "fail" in self._stated and not (todo_failed and not self._nested):
            totals["passed"], totals["failed"] = self._stated["pass"], self._stated["fail"]
            totals["failed"] += self._stated.get("cancelled", 0)
            skipped = self._stated.get("skipped", self._stated.get("skip"))
            totals["skipped"] = totals["skipped"] + self._skip_comments if skipped is None else skipped
        return totals


FAMILY: Final = Family(
    "TAP",
    Group.TESTS,
    (
        r"^TAP version 1[234]",
        r"^ *(?:not )?ok \d+(?: |$)",
        r"^ *not ok\b",
        r"^1\.\.\d+",
        r"^Bail out!",
        r"^# (?:tests|pass|fail|skipped|skip|todo|cancelled) +\d+$",
        r"^# SKIP ",
    ),
    Tap,
)
