from __future__ import annotations

import io

import pytest

from mcp_offload.cli import progress
from mcp_offload.cli.console import Console
from mcp_offload.cli.progress import ConsoleMonitor


class _Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def _console(stderr: io.BytesIO) -> Console:
    return Console(stdin=io.BytesIO(), stdout=io.BytesIO(), stderr=stderr)


def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL_SECONDS", 0.0)


def test_a_short_operation_shows_nothing() -> None:
    stderr = _Terminal()
    with ConsoleMonitor(_console(stderr)) as monitor:
        monitor.advance(1, 2, "working")
    assert stderr.getvalue() == b""


def test_a_long_operation_shows_its_share_and_removes_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_patience(monkeypatch)
    stderr = _Terminal()
    with ConsoleMonitor(_console(stderr)) as monitor:
        monitor.advance(1, 4, "bytes stored")
        monitor.advance(12345, None, "lines")
    shown = stderr.getvalue().split(b"\r\x1b[K")
    assert shown == [b"", b"bytes stored 25%", b"lines 12,345", b""]


def test_nothing_is_shown_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_patience(monkeypatch)
    stderr = io.BytesIO()
    with ConsoleMonitor(_console(stderr)) as monitor:
        monitor.advance(1, 4, "bytes stored")
    assert stderr.getvalue() == b""
