"""Progress never runs backwards, and a cancelled operation stops at its next report."""

from __future__ import annotations

import pytest

from mcp_offload.errors import OperationCancelledError
from mcp_offload.wire.monitor import CallMonitor, Progress


def test_the_latest_report_is_kept() -> None:
    monitor = CallMonitor()
    monitor.advance(3, 10, "reading")
    assert monitor.latest == Progress(3, 10, "reading")
    monitor.advance(4, None)
    assert monitor.latest == Progress(4, None, "")


def test_a_second_phase_counts_on_from_the_first() -> None:
    monitor = CallMonitor()
    monitor.advance(10, 10, "reading")
    monitor.advance(2, 5, "writing")
    assert monitor.latest == Progress(12, 15, "writing")
    monitor.advance(5, 5, "writing")
    assert monitor.latest == Progress(15, 15, "writing")
    monitor.advance(1, 2, "syncing")
    assert monitor.latest == Progress(16, 17, "syncing")


def test_a_cancelled_operation_stops_at_its_next_report() -> None:
    monitor = CallMonitor()
    monitor.advance(1, 2)
    monitor.cancel()
    with pytest.raises(OperationCancelledError):
        monitor.advance(2, 2)
