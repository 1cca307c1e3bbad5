"""What the gate's page draws: its state over the last half hour, and how fast streams were by depth."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from serving.telemetry.requests import ServedRequest, request_of
from serving.telemetry.speed import velocities

EVERY_SECONDS: Final = 2.0
KEPT_SECONDS: Final = 1800.0
MOST_REQUESTS: Final = 5_000

COLUMNS: Final = (
    "unix_seconds", "leased", "session", "active", "running", "waiting", "velocity", "recompute_share",
)  # fmt: skip
"""Of each row; ``leased`` and ``session`` are shares of the leasable blocks, ``active`` of all."""

_SPEEDS: Final = {"decode_velocity_median": "median", "sustained_velocity_median": "sustained"}


class _Record(Protocol):
    def as_dict(self) -> dict[str, Any]: ...


class _Recorder(Protocol):
    def record(self, record: Any) -> None: ...


class History:
    """Rows of the gate's state, made at even intervals while the gate runs, and the requests that ended.

    It is a recorder too, and hands each record on.

    Args:
        status: the gate now, as ``/gate/status`` tells it.
        onward: takes the records besides; None for nobody.
        clock: seconds since 1970.
        every_seconds: between two rows.
    """

    def __init__(
        self,
        status: Callable[[], Mapping[str, Any]],
        onward: _Recorder | None = None,
        *,
        clock: Callable[[], float] = time.time,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        self._status = status
        self._onward = onward
        self._clock = clock
        self._every = every_seconds
        self._rows: deque[tuple[float | None, ...]] = deque(maxlen=int(KEPT_SECONDS / every_seconds))
        self._requests: deque[ServedRequest] = deque(maxlen=MOST_REQUESTS)

    async def run(self) -> None:
        """Make a row again and again, until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(self._every)

    def look(self) -> None:
        """Make one row."""
        self._rows.append(_row(self._clock(), self._status()))

    def record(self, record: _Record) -> None:
        """Take a request that ended."""
        self._requests.append(request_of(record.as_dict()))
        if self._onward is not None:
            self._onward.record(record)

    def told(self, after: float = 0.0) -> dict[str, Any]:
        """Rows later than a moment, and velocity by depth of the whole time, as JSON takes them.

        Args:
            after: in seconds since 1970, as the rows have them.
        """
        rows = [row for row in self._rows if (row[0] or 0.0) > after]
        return {
            "columns": COLUMNS,
            "every_seconds": self._every,
            "kept_seconds": KEPT_SECONDS,
            "rows": rows,
            "velocity": self._velocity(),
        }

    def _velocity(self) -> list[dict[str, Any]]:
        since = self._clock() - KEPT_SECONDS
        recent = [request for request in self._requests if request.arrived_unix_seconds >= since]
        return [
            {
                "kind": _SPEEDS[reading.name], "depth": reading.group, "value": reading.value,
                "low": reading.low, "high": reading.high, "samples": reading.samples,
            }
            for reading in velocities(recent)
            if reading.name in _SPEEDS and reading.value is not None
        ]  # fmt: skip


def _row(now: float, status: Mapping[str, Any]) -> tuple[float | None, ...]:
    ranks: list[Mapping[str, Any]] = list(status["ranks"].values())
    engines: list[Mapping[str, Any]] = list(status["engine"].values())
    whole = sum(rank["leasable"] for rank in ranks) or 1
    speeds = [engine["stream_tokens_per_second"] for engine in engines]
    known = [speed for speed in speeds if speed is not None]
    running = sum(rank["running"] for rank in ranks)
    return (
        round(now, 1),
        round(sum(rank["leased"] for rank in ranks) / whole, 4),
        round(sum(rank["session_blocks"] for rank in ranks) / whole, 4),
        round(sum(engine["kv_usage"] for engine in engines) / max(1, len(engines)), 4),
        running,
        sum(sum(rank["waiting"].values()) for rank in ranks),
        round(sum(known) / len(known), 2) if known and running else None,
        None if status["recompute_share"] is None else round(status["recompute_share"], 4),
    )
