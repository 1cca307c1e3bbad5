"""XML reports of .NET runners (TRX, xUnit.net, NUnit), CTest, Catch2, and of Checkstyle-like linters."""

from __future__ import annotations

from typing import Final

from ..frames import locate
from .report import Tally, first_line, int_of


class _Cases:
    """What the .NET dialects share: a case, then its message and stack trace."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._name = ""
        self._word = ""
        self._line = 0
        self._message = ""
        self._stack = ""
        self._at = 0

    def _begin(self, name: str, word: str, line: int) -> None:
        self._name, self._word, self._line = name, word, line
        self._message, self._stack, self._at = "", "", 0

    def _finish(self, line: int) -> None:
        if not self._word:
            return
        self._tally.outcome(self._name, self._word)
        if self._word in ("failed", "error"):
            where = locate(self._stack)
            lines = (self._at or self._line, self._line, line)
            self._tally.fail(self._name, self._word, where, first_line(self._message), lines)
        self._word = ""


class Trx(_Cases):
    """Visual Studio test results. Source: the TRX files that ``dotnet test --logger trx`` writes."""

    _WORDS: Final = {
        "passed": "passed",
        "failed": "failed",
        "error": "error",
        "timeout": "failed",
        "aborted": "error",
    }

    def __init__(self, tally: Tally) -> None:
        super().__init__(tally)
        tally.tool("trx")
        self._run_error = False

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Open a result or one of its texts."""
        if name == "UnitTestResult":
            word = self._WORDS.get(attributes.get("outcome", "").lower(), "skipped")
            self._begin(attributes.get("testName", ""), word, line)
        elif name == "RunInfo":
            self._run_error = attributes.get("outcome", "").lower() in ("error", "failed")
            self._at = line
        elif name == "Message":
            self._at = line
        return name in ("Message", "StackTrace", "Text")

    def end(self, name: str, text: str, line: int) -> None:
        """Close a result or one of its texts."""
        if name == "Message":
            self._message = self._message or text
        elif name == "StackTrace":
            self._stack = self._stack or text
        elif name == "Text" and self._run_error and not self._word:
            self._tally.notes.append(first_line(text))
            self._tally.broken = True
        elif name == "UnitTestResult":
            self._finish(line)


class Xunit(_Cases):
    """xUnit.net v2 and v3. Source: https://xunit.net/docs/format-xml-v2 ."""

    _WORDS: Final = {"pass": "passed", "fail": "failed", "skip": "skipped", "notrun": "skipped"}

    def __init__(self, tally: Tally) -> None:
        super().__init__(tally)
        tally.tool("xunit.net")
        self._error = False

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Open a test or one of its texts."""
        if name == "test":
            self._begin(
                attributes.get("name", ""), self._WORDS.get(attributes.get("result", "").lower(), ""), line
            )
        elif name == "error":
            self._error = True
            self._begin(attributes.get("name") or attributes.get("type", "error"), "error", line)
        elif name == "message":
            self._at = line
        return name in ("message", "stack-trace")

    def end(self, name: str, text: str, line: int) -> None:
        """Close a test or one of its texts."""
        if name == "message":
            self._message = text
        elif name == "stack-trace":
            self._stack = text
        elif name in ("test", "error"):
            self._finish(line)


class Nunit(_Cases):
    """NUnit 2 and 3. Source: NUnit docs, "Test Result XML Format"."""

    _WORDS: Final = {
        "passed": "passed",
        "success": "passed",
        "failed": "failed",
        "failure": "failed",
        "error": "error",
    }

    def __init__(self, tally: Tally) -> None:
        super().__init__(tally)
        tally.tool("nunit")

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Open a case or one of its texts."""
        if name == "test-case":
            result = attributes.get("result") or {"true": "passed", "false": "failed"}.get(
                attributes.get("success", "").lower(), ""
            )
            word = self._WORDS.get(result.lower(), "skipped")
            if word == "failed" and attributes.get("label") == "Error":
                word = "error"
            self._begin(attributes.get("fullname") or attributes.get("name", ""), word, line)
        elif name == "message":
            self._at = self._at or line
        return name in ("message", "stack-trace")

    def end(self, name: str, text: str, line: int) -> None:
        """Close a case or one of its texts."""
        if name == "message":
            self._message = self._message or text
        elif name == "stack-trace":
            self._stack = self._stack or text
        elif name == "test-case":
            self._finish(line)


class Ctest(_Cases):
    """CTest's Test.xml."""

    def __init__(self, tally: Tally) -> None:
        super().__init__(tally)
        tally.tool("ctest xml")
        self._named = False

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Open a test or its name."""
        if name == "Test" and "Status" in attributes:
            word = {"passed": "passed", "failed": "failed"}.get(attributes["Status"], "skipped")
            self._begin("", word, line)
            self._named = True
        return name == "Value" or (name == "Name" and self._named)

    def end(self, name: str, text: str, line: int) -> None:
        """Close a test or one of its texts."""
        if name == "Name" and self._named:
            self._name, self._named = text, False
        elif name == "Value" and self._word:
            self._message = text.strip().rsplit("\n", 1)[-1]
        elif name == "Test":
            self._finish(line)


class Catch(_Cases):
    """Catch2's XML reporter."""

    def __init__(self, tally: Tally) -> None:
        super().__init__(tally)
        tally.tool("catch2 xml")
        self._place: tuple[str | None, int | None] = (None, None)
        self._bad = False

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Open a case, an expression or its expansion."""
        if name == "TestCase":
            self._begin(attributes.get("name", ""), "passed", line)
            self._place, self._bad = (attributes.get("filename"), int_of(attributes.get("line"))), False
        elif name in ("Expression", "Exception", "Failure", "FatalErrorCondition"):
            self._bad = attributes.get("success", "false") != "true"
            if self._bad and self._word == "passed":
                self._word, self._at = "failed", line
                self._place = (attributes.get("filename"), int_of(attributes.get("line")))
        elif name == "OverallResult" and attributes.get("success") == "false" and self._word:
            self._word = "failed"
        return name in ("Expanded", "Exception", "Failure", "FatalErrorCondition")

    def end(self, name: str, text: str, line: int) -> None:
        """Close a case or one of its texts."""
        if name in ("Expanded", "Exception", "Failure", "FatalErrorCondition") and self._bad:
            self._message = self._message or text
        elif name == "TestCase" and self._word:
            self._tally.outcome(self._name, self._word)
            if self._word == "failed":
                lines = (self._at or self._line, self._line, line)
                self._tally.fail(self._name, "failed", self._place, first_line(self._message), lines)
            self._word = ""


class Checkstyle:
    """Checkstyle, PMD and cppcheck: files with diagnostics; errors are failures, the rest warnings."""

    def __init__(self, tally: Tally, tool: str) -> None:
        self._tally = tally
        self._file = ""
        self._pending: dict[str, str] | None = None
        self._line = 0
        self._place: dict[str, str] = {}
        tally.tool(tool)
        tally.lint = True

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Open a file or a diagnostic."""
        if name == "file":
            self._file = attributes.get("name", "")
        elif name in ("error", "violation"):
            self._pending, self._line, self._place = attributes, line, {}
        elif name == "location" and self._pending is not None and not self._place:
            self._place = attributes
        return name == "violation"

    def end(self, name: str, text: str, line: int) -> None:
        """Close a diagnostic."""
        if name not in ("error", "violation") or self._pending is None:
            return
        row, self._pending = self._pending, None
        severity = row.get("severity") or (
            "error" if int_of(row.get("priority", "3")) in (1, 2) else "warning"
        )
        if severity != "error":
            self._tally.count("warnings")
            return
        self._tally.count("errors")
        code = row.get("id") or row.get("rule") or row.get("source", "").rsplit(".", 1)[-1]
        file = self._place.get("file") or self._file
        number = int_of(self._place.get("line") or row.get("line") or row.get("beginline"))
        message = first_line(row.get("message") or row.get("msg") or text)
        self._tally.fail(code or message, "lint", (file, number), message, (self._line, self._line, line))
