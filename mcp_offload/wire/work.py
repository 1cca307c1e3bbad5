"""Runs blocking work for requests: in a worker thread, stoppable, with progress where it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession

from mcp_offload.wire.monitor import CallMonitor
from mcp_offload.wire.scrub import scrub_text

#: Work that is done by then reports nothing.
PROGRESS_AFTER_SECONDS: Final = 1.0
PROGRESS_EVERY_SECONDS: Final = 0.5

_Result = TypeVar("_Result")


class Workshop:
    """The running work of one server."""

    def __init__(self) -> None:
        self._running: set[CallMonitor] = set()

    async def run(
        self, ctx: ServerRequestContext[Any, Any], work: Callable[[CallMonitor], _Result]
    ) -> _Result:
        """Run ``work`` in a thread; what it raises is raised here.

        A cancellation stops it at its next report. With a progress token, what takes over a second
        reports at most twice a second.
        """
        monitor = CallMonitor()
        meta = ctx.meta or {}
        self._running.add(monitor)
        try:
            if "progress_token" in meta or "progressToken" in meta:
                return await _run_reporting(work, monitor, ctx.session)
            return await _in_thread(work, monitor)
        finally:
            # Reached early only by a cancellation: the thread stops at its next report.
            monitor.cancel()
            self._running.discard(monitor)

    def stop(self) -> None:
        """Stop everything that is running. May be called from any thread."""
        for monitor in tuple(self._running):
            monitor.cancel()


async def _in_thread(work: Callable[[CallMonitor], _Result], monitor: CallMonitor) -> _Result:
    return await anyio.to_thread.run_sync(work, monitor, abandon_on_cancel=True)


async def _run_reporting(
    work: Callable[[CallMonitor], _Result], monitor: CallMonitor, session: ServerSession
) -> _Result:
    results: list[_Result] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report, monitor, session)
        try:
            results.append(await _in_thread(work, monitor))
        except Exception as exc:  # noqa: BLE001 - raised again outside, where no group wraps it
            failures.append(exc)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return results[0]


async def _report(monitor: CallMonitor, session: ServerSession) -> None:
    """Send the latest progress at most twice a second, and only where it moved on."""
    await anyio.sleep(PROGRESS_AFTER_SECONDS)
    sent = 0.0
    while True:
        latest = monitor.latest
        if latest.done > sent:
            sent = latest.done
            await session.report_progress(latest.done, latest.total, scrub_text(latest.message) or None)
        await anyio.sleep(PROGRESS_EVERY_SECONDS)
