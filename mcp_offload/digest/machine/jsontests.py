"""JSON reports of tests: jest, vitest, mocha, RSpec, pytest-json-report, Playwright, gtest, Cucumber."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from ..frames import locate, whole
from .jsonscan import Item
from .report import Tally, dict_of, first_line, int_of, list_of, text_of

Take = Callable[[Item, Tally], bool]
_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")
Where = tuple[str | None, int | None]


def _line_of(item: Item, *needles: str) -> int:
    """Return the log line, within an item, on which one of the texts stands; else its first line."""
    for needle in needles:
        if needle:
            # JSON text as most writers escape it; a needle cut at its first escape still finds its line.
            at = item.raw.find(
                needle.split("\n")[0].split('"')[0].split("\\")[0].encode("utf-8", "replace")[:200]
            )
            if at > 0:
                return item.line + item.raw.count(b"\n", 0, at)
    return item.line


def _fail(item: Item, tally: Tally, name: str, kind: str, where: Where, message: str, *needles: str) -> None:
    at = _line_of(item, *needles)
    tally.fail(name, kind, where, first_line(message), (at, item.line, item.end))


# --- jest and vitest (source: jest-test-result FormattedTestResults; vitest writes the same shape) ---

_JEST_WORDS: Final = {
    "passed": "passed",
    "failed": "failed",
    "pending": "skipped",
    "skipped": "skipped",
    "disabled": "skipped",
    "todo": "todo",
}


def _jest_file(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "assertionResults" not in value:
        return False
    tally.tool("jest json")
    path = text_of(value, "name")
    failed = False
    for test in list_of(value, "assertionResults"):
        name = text_of(test, "fullName").strip() or text_of(test, "title")
        word = _JEST_WORDS.get(text_of(test, "status"), "skipped")
        tally.outcome(name, word)
        if word != "failed":
            continue
        failed = True
        messages = [_ANSI.sub("", str(m)) for m in list_of(test, "failureMessages")]
        text = "\n".join(messages)
        where = locate(text)
        if where[0] is None:
            where = (path or None, int_of(test, "location", "line"))
        _fail(item, tally, name, "failed", where, text, text_of(test, "fullName"), text_of(test, "title"))
    if text_of(value, "status") == "failed" and not failed:
        message = _ANSI.sub("", text_of(value, "message"))
        message = message.strip().removeprefix("● Test suite failed to run").strip() or message
        tally.count("errors")
        _fail(item, tally, path, "error", (path or None, locate(message)[1]), message, '"message"')
    return True


# --- mocha (source: mocha lib/reporters/json.js) ---


def _mocha(word: str) -> Take:
    def take(item: Item, tally: Tally) -> bool:
        value = dict_of(item.value)
        if "fullTitle" not in value:
            return False
        tally.tool("mocha json")
        name = text_of(value, "fullTitle")
        tally.outcome(name, word)
        if word == "failed":
            message, stack = text_of(value, "err", "message"), text_of(value, "err", "stack")
            where = locate(stack)
            where = where if where[0] else (text_of(value, "file") or None, None)
            _fail(item, tally, name, "failed", where, message or stack, message, name)
        return True

    return take


def _mocha_stats(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "passes" not in value:
        return False
    tally.tool("mocha json")
    for key, stated in (("passes", "passed"), ("failures", "failed"), ("pending", "skipped")):
        number = int_of(value, key)
        if number is not None:
            tally.stated[stated] = number
    milliseconds = value.get("duration")
    if isinstance(milliseconds, int | float):
        tally.duration_seconds = milliseconds / 1000
    return True


# --- RSpec (source: rspec-core json_formatter.rb) ---


def _rspec(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "full_description" not in value:
        return False
    tally.tool("rspec json")
    name = text_of(value, "full_description")
    word = {"passed": "passed", "failed": "failed"}.get(text_of(value, "status"), "skipped")
    tally.outcome(name, word)
    if word == "failed":
        message = text_of(value, "exception", "message")
        where = (text_of(value, "file_path") or None, int_of(value, "line_number"))
        found = locate("\n".join(str(row) for row in list_of(value, "exception", "backtrace")))
        _fail(item, tally, name, "failed", found if found[0] else where, message, message.strip(), name)
    return True


def _rspec_outside(item: Item, tally: Tally) -> bool:
    number = int_of(item.value, "errors_outside_of_examples_count")
    if number is None:
        return False
    tally.tool("rspec json")
    if number:
        tally.stated["errors"] = number
        message = "errors occurred outside of examples"
        tally.fail(message, "error", (None, None), message, (item.line, item.line, item.end))
    return True


# --- pytest-json-report (source: its README, "Format") ---


def _pytest_case(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "nodeid" not in value or "outcome" not in value:
        return False
    tally.tool("pytest json report")
    name, word = text_of(value, "nodeid"), text_of(value, "outcome")
    if word not in ("passed", "failed", "error", "skipped", "xfailed", "xpassed"):
        return True
    if "setup" not in value and "result" in value:  # a collector: only its failure counts
        if word == "failed":
            tally.count("errors")
            text = text_of(value, "longrepr")
            _fail(item, tally, name, "error", locate(text, last=True), text.strip().rsplit("\n", 1)[-1], name)
        return True
    tally.outcome(name, word)
    if word in ("failed", "error"):
        for phase in ("setup", "call", "teardown"):
            crash = dict_of(value, phase, "crash")
            if crash:
                where = (text_of(crash, "path") or None, int_of(crash, "lineno"))
                _fail(item, tally, name, word, where, text_of(crash, "message"), '"crash"', name)
                break
        else:
            _fail(item, tally, name, word, (name.split("::")[0], None), name, name)
    return True


# --- Playwright (source: playwright test reporter JSONReport types) ---


def _playwright_stats(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "unexpected" not in value or "expected" not in value:
        return False
    tally.tool("playwright json")
    for key, stated in (
        ("expected", "passed"),
        ("unexpected", "failed"),
        ("skipped", "skipped"),
        ("flaky", "flaky"),
    ):
        tally.stated[stated] = int_of(value, key) or 0
    return True


def _playwright_suite(item: Item, tally: Tally) -> bool:
    if "specs" not in dict_of(item.value):
        return False
    tally.tool("playwright json")
    stack: list[tuple[Any, str]] = [(item.value, "")]
    while stack:
        suite, title = stack.pop()
        for spec in list_of(suite, "specs"):
            name = f"{title} › {text_of(spec, 'title')}" if title else text_of(spec, "title")
            for test in list_of(spec, "tests"):
                _playwright_test(item, tally, spec, test, name)
        for inner in list_of(suite, "suites"):
            name = text_of(inner, "title")
            stack.append((inner, f"{title} › {name}" if title else name))
    return True


def _playwright_test(item: Item, tally: Tally, spec: Any, test: Any, name: str) -> None:
    words = {"expected": "passed", "unexpected": "failed", "skipped": "skipped", "flaky": "flaky"}
    word = words.get(text_of(test, "status"), "skipped")
    tally.outcome(name, word)
    if word != "failed":
        return
    error: dict[str, Any] = {}
    for result in list_of(test, "results"):
        error = error or dict_of(result, "error")
    message = _ANSI.sub("", text_of(error, "message"))
    file = text_of(error, "location", "file") or text_of(spec, "file")
    line = int_of(error, "location", "line") or int_of(spec, "line")
    _fail(item, tally, name, "failed", (file or None, line), message, text_of(spec, "title"))


# --- GoogleTest --gtest_output=json, Cucumber ---


def _gtest_suite(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if not isinstance(value.get("testsuite"), list):
        return False
    tally.tool("gtest json")
    for test in list_of(value, "testsuite"):
        name = f"{text_of(value, 'name')}.{text_of(test, 'name')}"
        failures = list_of(test, "failures")
        if failures:
            text = text_of(failures[0], "failure")
            where = (text_of(test, "file") or None, int_of(test, "line"))
            found = re.match(r"(.+?):(\d+)\n", text)
            if found:
                where, text = (found[1], whole(found[2])), text[found.end() :]
            tally.outcome(name, "failed")
            _fail(item, tally, name, "failed", where, text, text_of(test, "name"))
        elif text_of(test, "status") == "NOTRUN" or text_of(test, "result") in ("SKIPPED", "SUPPRESSED"):
            tally.outcome(name, "skipped")
        else:
            tally.outcome(name, "passed")
    return True


def _cucumber(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "elements" not in value or "uri" not in value:
        return False
    tally.tool("cucumber json")
    for scenario in list_of(value, "elements"):
        if text_of(scenario, "type") == "background":
            continue
        name = text_of(scenario, "name")
        steps = list_of(scenario, "steps")
        states = [text_of(step, "result", "status") for step in steps]
        if "failed" in states:
            step = steps[states.index("failed")]
            tally.outcome(name, "failed")
            message = text_of(step, "result", "error_message")
            where = (text_of(value, "uri") or None, int_of(step, "line") or int_of(scenario, "line"))
            _fail(item, tally, name, "failed", where, message, message, name)
        elif states and all(state == "passed" for state in states):
            tally.outcome(name, "passed")
        else:
            tally.outcome(name, "skipped")
    return True


TESTS: Final[dict[tuple[str, ...], tuple[Take, ...]]] = {
    ("testResults", "*"): (_jest_file,),
    ("passes", "*"): (_mocha("passed"),),
    ("failures", "*"): (_mocha("failed"),),
    ("pending", "*"): (_mocha("skipped"),),
    ("stats",): (_mocha_stats, _playwright_stats),
    ("examples", "*"): (_rspec,),
    ("summary",): (_rspec_outside,),
    ("tests", "*"): (_pytest_case,),
    ("collectors", "*"): (_pytest_case,),
    ("suites", "*"): (_playwright_suite,),
    ("testsuites", "*"): (_gtest_suite,),
    ("#",): (_cucumber,),
}
