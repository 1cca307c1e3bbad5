"""XML reports, as a whole document or embedded in other output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..family import ALL, Document, Family, Findings, Group
from ..model import Lines
from .junit import JUnit
from .report import Tally
from .xmlscan import Dialect, XmlScanner
from .xmltests import Catch, Checkstyle, Ctest, Nunit, Trx, Xunit

_ROOTS: Final[dict[str, Callable[[Tally], Dialect]]] = {
    "testsuites": JUnit,
    "testsuite": JUnit,
    "TestRun": Trx,
    "assemblies": Xunit,
    "assembly": Xunit,
    "test-run": Nunit,
    "test-results": Nunit,
    "Site": Ctest,
    "Catch2TestRun": Catch,
    "Catch": Catch,
    "checkstyle": lambda tally: Checkstyle(tally, "checkstyle"),
    "pmd": lambda tally: Checkstyle(tally, "pmd"),
    "results": lambda tally: Checkstyle(tally, "cppcheck"),
}


class XmlReport:
    """Reads one XML report of a test run or a linter."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._scanner = XmlScanner(self._choose)

    def _choose(self, root: str) -> Dialect | None:
        make = _ROOTS.get(root)
        return make(self._tally) if make else None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._scanner.feed(chunk)

    @property
    def ended(self) -> bool:
        """True once the document element is closed."""
        return self._scanner.ended

    def finish(self, last: int) -> Findings:
        """Report what was recognised; a cut document is incomplete."""
        complete = self._scanner.finish()
        return self._tally.findings(complete=complete)


class EmbeddedXml:
    """Reads the reports that a log shows among other lines."""

    def __init__(self) -> None:
        self._report: XmlReport | None = None
        self._first = 0
        self._all = Findings()

    def feed(self, number: int, text: str) -> int:
        """Take a line of a report, from its declaration to its end tag."""
        if self._report is None:
            self._report, self._first = XmlReport(), number
        self._report.feed(text.encode("utf-8", "replace") + b"\n")
        if self._report.ended:
            self._close(number)
            return 0
        return ALL

    def finish(self, last: int) -> Findings:
        """Close a report that has no end."""
        if self._report is not None:
            self._close(last)
        return self._all

    def _close(self, number: int) -> None:
        assert self._report is not None
        found = self._report.finish(number)
        self._report = None
        if not found.tools:
            return
        shift = self._first - 1
        whole = self._all
        whole.tools = tuple(dict.fromkeys(whole.tools + found.tools))
        for failure in found.failures:
            block = Lines(failure.block.start + shift, failure.block.end + shift)
            whole.failures.append(replace(failure, log_line=failure.log_line + shift, block=block))
        for key, count in found.totals.items():
            whole.totals[key] = whole.totals.get(key, 0) + count
        whole.tests.update(found.tests)
        whole.owned.append(Lines(self._first, number))
        order = ("failed", "error", "incomplete", "passed", "unknown")
        whole.verdict = min(whole.verdict, found.verdict, key=order.index)


def sniff(head: bytes) -> bool:
    """Tell whether a file may be one of the XML reports."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return b"<\0?\0x\0m\0l\0" in head or b"\0<\0?\0x\0m\0l" in head
    return text.startswith((b"<?xml", b"<!--")) or any(
        text.startswith(b"<" + root.encode()) for root in _ROOTS if root != "results"
    )


DOCUMENT: Final = Document("xml", Group.TESTS, sniff, XmlReport)
FAMILY: Final = Family(
    "embedded xml", Group.TESTS, (r"^<\?xml ", r"^<testsuites?[ >]"), EmbeddedXml, full_lines=True
)
