"""The plugin that collects what passing tests record; ``--record-compatibility`` keeps it.

It is a plugin and no conftest so that it also works in the process that only hands tests out to workers.
What a test records travels in its report, and counts only where the test passed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.compatibility import RECORDED, Row, load, merge, save

PROPERTY = "compatibility"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-compatibility",
        action="store_true",
        help="record what the tests of clients saw in tests/clients/data/compatibility.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-compatibility") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Collector(), "compatibility-collector")


def test_name(nodeid: str) -> str:
    """A test's file and function, without parameters."""
    return nodeid.partition("[")[0]


class _Collector:
    """Collects the rows of a run."""

    def __init__(self) -> None:
        self._ran: set[str] = set()
        self._failed: set[str] = set()
        self._rows: list[Row] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = test_name(report.nodeid)
        if report.failed:
            self._failed.add(name)
        if report.when == "call" and not report.skipped:
            self._ran.add(name)
            self._rows += [Row(test=name, **row) for row in _recorded(report)]

    def pytest_sessionfinish(self) -> None:
        # A test of which one case failed vouches for nothing.
        rows = [row for row in self._rows if row.test not in self._failed]
        save(merge(load(), self._ran | self._failed, rows), RECORDED)


def _recorded(report: pytest.TestReport) -> list[dict[str, Any]]:
    return [value for key, value in report.user_properties if key == PROPERTY and isinstance(value, dict)]
