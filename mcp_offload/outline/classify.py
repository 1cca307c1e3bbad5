"""What an artifact is: source or text, a log, a test run, or a build artifact."""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Kind
from mcp_offload.outline.encoding import Encoding

_LOG_NAME: Final = re.compile(
    r"(?:\A|[._-])(?:log|out|err|stdout|stderr|trace|logs|output|console|nohup|syslog|journal|dmesg)"
    r"(?:[._-]?\d[\d._-]*)?(?:\.txt)?\Z"
)
_ANONYMOUS: Final = frozenset(["", "-", "stdin", "<stdin>", "content", "text", "untitled"])
_BUILD_NAME: Final = re.compile(
    r"(?:\.(?:map|o|obj|a|so|dll|dylib|lib|exe|wasm|pyc|pyo|class|jar|gcda|gcno|gcov|lcov|d|pdb|bc|ll|whl|egg))\Z"
    r"|\A(?:lcov\.info|coverage\.(?:xml|json|lcov|info)|coverage-final\.json|cobertura[\w-]*\.xml|jacoco[\w-]*\.xml"
    r"|clover\.xml|\.coverage)\Z"
)
_BUILD_HEAD: Final = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!DOCTYPE[^>]{0,300}>\s*)?(?:<!--[^>]{0,500}-->\s*){0,3}"
    rb"(?:<coverage\b[^>]{0,500}\b(?:line-rate|generated|branch-rate)\s*=|<report\b[^>]{0,200}>\s*<sessioninfo)"
    rb"|(?:TN:[^\n]*\n)?SF:[^\n]+\n(?:FN|DA|BRDA|FNF|LF|VER)[:,]|\s*\{\s*\"meta\"\s*:\s*\{\s*\"format\"\s*:\s*\d"
    rb"|\s*\{\s*\"version\"\s*:\s*3\s*,[^\n]{0,2000}\"(?:mappings|sources)\"\s*:"
)

# Machine-readable test results, by their first element, key or line.
# Source: the formats of JUnit, xUnit.net, NUnit, TRX, CTest, TAP, go test -json, Jest, Mocha, Playwright.
_TEST_DOCUMENT: Final = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<\?[^>]{0,200}\?>\s*|<!--[^>]{0,500}-->\s*){0,3}"
    rb"(?:<testsuites?\b|<TestRun\b|<assemblies\b[^>]{0,500}>\s*<assembly\b|<test-(?:run|results)\b"
    rb"|<testng-results\b|<Site\b[^>]{0,2000}>\s*<Testing\b|<phpunit\b[^>]{0,300}>\s*<tests?\b)"
    rb"|TAP version 1[34]\s|(?:not )?ok 1 \S|1\.\.\d+\s*(?:#[^\n]*)?\r?\n(?:#[^\n]*\n)*(?:not )?ok \d"
    rb"|\{\"(?:Time|ImportPath)\":\"[^\"]*\",(?:\"[^\"]*\":\"[^\"]*\",){0,3}\"Action\":"
    rb"|\{\"Action\":\"(?:start|run|output|build-)"
    rb"|\s*\{\s*\"num(?:Failed|Passed|Total)\w*\"\s*:\s*\d"
    rb"|\s*\{\s*\"stats\"\s*:\s*\{\s*\"suites\"\s*:|\s*\{\s*\"created\"\s*:[^\n]{0,100}\s*\"duration\"\s*:"
    rb"|\s*\{\s*\"type\"\s*:\s*\"suite\"\s*,\s*\"event\"\s*:\s*\"started\""
)
# Text output of test runners: lines nobody else prints, ANSI colours removed. The patterns begin with the
# line feed before the line: the engine leaps from one to the next, where for ``^`` it tries every byte.
_TEST_LINES: Final = re.compile(
    rb"\n(?:\d+ examples?, \d+ failures?|(?!\d)(?:={5,} test session starts ={5,}"
    rb"|={5,} (?:FAILURES|ERRORS|short test summary info) ={5,}"
    rb"|={3,} (?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+"
    rb" in [\d.]+s"
    rb"|=== RUN   \w|--- (?:PASS|FAIL|SKIP): \S+ \([\d.]+s\)|(?:ok  |FAIL)\t\S+\t(?:[\d.]+s|\(cached\))"
    rb"|(?:PASS|FAIL) \S+\.(?:test|spec)\.[cm]?[jt]sx?\b|Test Suites: \d|Tests:       \d"
    rb"|running \d+ tests?\r?$|test \S+ \.\.\. (?:ok|FAILED|ignored)\r?$|test result: (?:ok|FAILED)\. \d"
    rb"|\w+ \([\w.]+\)(?: \.\.\.|\r?\n[^\n]* \.\.\.) (?:ok|FAIL|ERROR|skipped|expected failure)"
    rb"|Ran \d+ tests? in [\d.]+s"
    rb"|\[={10}\] Running \d|\[ (?:RUN     |      OK|  FAILED ) \] \w|Test project /|[ ]*Start +\d+: \w"
    rb"| T E S T S\r?$|(?:\[INFO\] |\[ERROR\] )?Tests run: \d+, Failures: \d+|  \d+ passing \([\d.]+m?s\)"
    rb"|PHPUnit \d+\.\d|Running \d+ tests? using \d+ workers?"
    rb"|(?:Passed|Failed)!  - Failed: +\d| (?:RUN|PASS|FAIL)  v?\d+\.\d+\.\d+ /"
    rb"| Test Files  \d|(?:not )?ok \d+ - \S))",
    re.M,
)

_ANSI: Final = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_TIMESTAMP: Final = re.compile(
    rb"^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[ \].,]|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d "
    rb"|\[ *\d+\.\d{3,}\] |\d{4}/\d\d/\d\d \d\d:\d\d|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:"
    rb"|[EWID]\d{4} \d\d:\d\d:\d\d)"
)
_CI: Final = re.compile(
    rb"\n(?:(?:[\d:.T-]++Z )?##\[(?:group|section|error|command)\]|section_start:\d"
    rb"|Running with gitlab-runner|Started by (?:user|upstream|timer|an SCM)|\[Pipeline\] "
    rb"|travis_(?:fold|time):)"
)
_HEAD_BYTES: Final = 64 * 1024
# A job's log says what runs it near its start.
_CI_BYTES: Final = 16 * 1024
_LINES_SEEN: Final = 400


def kind_of(name: str, head: bytes, encoding: Encoding, language: str | None) -> Kind:
    """The kind of an artifact, told once when it is first stored.

    Args:
        name: file name or path, or the name given for content; may be empty.
        head: first bytes of the view (64 KiB are enough).
        encoding: as sniffed; binary content is a build artifact.
        language: as detected; content in a known language is a file.
    """
    base = name.replace("\\", "/").rpartition("/")[2].strip().lower()
    head = head[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf")
    if encoding.binary or _BUILD_NAME.search(base) or _BUILD_HEAD.match(head):
        return Kind.BUILD
    if _is_test_document(head, language):
        return Kind.TEST
    if language is not None:
        return Kind.FILE
    text = b"\n" + (_ANSI.sub(b"", head) if b"\x1b" in head else head)
    if _CI.search(text, 0, _CI_BYTES):
        return Kind.LOG
    if _TEST_LINES.search(text):
        return Kind.TEST
    if base in _ANONYMOUS or _LOG_NAME.search(base) or _looks_logged(head, text):
        return Kind.LOG
    return Kind.FILE


def _is_test_document(head: bytes, language: str | None) -> bool:
    return language in (None, "xml", "json") and _TEST_DOCUMENT.match(head) is not None


def _looks_logged(head: bytes, text: bytes) -> bool:
    """Colours, carriage-return progress, or a time at the start of half of the lines."""
    lines = text.split(b"\n")[:_LINES_SEEN]
    filled = [line for line in lines if line.strip()]
    if head.count(b"\x1b[") * 10 >= max(10, len(filled)):
        return True
    timed = sum(_TIMESTAMP.match(line) is not None for line in filled)
    return timed >= 2 and timed * 2 >= len(filled)
