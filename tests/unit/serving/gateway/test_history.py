"""What the gate's page draws."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from serving.gateway.history import COLUMNS, History
from tests.unit.serving.cli.test_metrics_command import RECORD

RANK: dict[str, Any] = {
    "leasable": 100, "leased": 25, "session_blocks": 60, "running": 2,
    "waiting": {"memory": 1, "velocity": 2},
}  # fmt: skip
STATUS: dict[str, Any] = {
    "ranks": {"0": RANK, "1": {**RANK, "leased": 75, "waiting": {}}},
    "engine": {
        "0": {"kv_usage": 0.5, "stream_tokens_per_second": 30.0},
        "1": {"kv_usage": 0.25, "stream_tokens_per_second": None},
    },
    "recompute_share": 0.125,
}


def rows(history: History, after: float = 0.0) -> list[dict[str, float | None]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in history.told(after)["rows"]]


def test_a_row_is_the_whole_node() -> None:
    history = History(lambda: STATUS, clock=lambda: 1000.0)
    history.look()
    assert rows(history) == [
        {
            "unix_seconds": 1000.0, "leased": 0.5, "session": 0.6, "active": 0.375, "running": 4,
            "waiting": 3,
            "velocity": 30.0, "recompute_share": 0.125,
        }
    ]  # fmt: skip


def test_an_idle_node_has_no_velocity() -> None:
    idle = {"ranks": {"0": {**RANK, "running": 0}}, "engine": {}, "recompute_share": None}
    history = History(lambda: idle, clock=lambda: 1000.0)
    history.look()
    (row,) = rows(history)
    assert (row["velocity"], row["recompute_share"], row["active"]) == (None, None, 0)


def test_only_what_is_newer_is_asked_for_and_the_oldest_is_forgotten() -> None:
    times = iter(range(2000))
    history = History(lambda: STATUS, clock=lambda: float(next(times)), every_seconds=2.0)
    for _ in range(1000):
        history.look()
    assert [row["unix_seconds"] for row in rows(history, 996)] == [997, 998, 999]
    assert len(rows(history)) == 900


def test_velocity_by_depth_is_of_requests_that_ended_lately() -> None:
    now = [1200.0]
    handed: list[Any] = []

    class Onward:
        def record(self, record: Any) -> None:
            handed.append(record)

    history = History(lambda: STATUS, Onward(), clock=lambda: now[0])
    history.record(RECORD)
    history.record(replace(RECORD, prompt_tokens=1000, output_tokens=101))
    told = {(entry["kind"], entry["depth"]): entry["value"] for entry in history.told()["velocity"]}
    assert told == {("sustained", "32k-64k"): 40.0, ("median", "32k-64k"): 40.0, ("median", "0k-2k"): 1.0}
    assert len(handed) == 2
    now[0] = 1000.0 + 1801
    assert history.told()["velocity"] == []


def test_it_looks_by_itself_until_it_is_cancelled() -> None:
    async def work() -> None:
        looked = asyncio.Event()

        def status() -> dict[str, Any]:
            looked.set()
            return STATUS

        running = asyncio.ensure_future(History(status, every_seconds=0.001).run())
        await looked.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(work())
