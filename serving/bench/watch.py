"""What the engine and the gate say of themselves while they are measured."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, Final

from serving.errors import EngineError
from serving.process.ask import HttpClient
from serving.telemetry import EngineSample, Scrape, parse, total

_ASK_SECONDS: Final = 10.0

Look = tuple[float, float, float, float, float | None, float | None]
"""Seconds; the share of blocks in use; requests that run and that wait in the engine; the share of blocks
that the gate leased, and requests that wait at it."""


def scrape(url: str) -> Scrape:
    """An engine's metrics page.

    Raises:
        EngineError: it does not answer, or with something else.
    """
    try:
        return parse(HttpClient(url, timeout_seconds=_ASK_SECONDS).get("/metrics").decode("utf-8", "replace"))
    except ValueError as error:
        raise EngineError(f"{url}/metrics is not understood: {error}.") from error


def gate_status(url: str) -> dict[str, Any]:
    """What the gate tells of itself.

    Raises:
        EngineError: it does not answer.
    """
    return json.loads(HttpClient(url, timeout_seconds=_ASK_SECONDS).get("/gate/status"))


class PoolWatch:
    """Looks at the pool again and again, until it is cancelled.

    Attributes:
        looks: so far.

    Args:
        engine_url: of the engine.
        gate_url: of the gate; None without one.
        seconds: between two looks.
        tell: is given how many requests were answered, and the share of blocks in use.
    """

    def __init__(
        self, engine_url: str, gate_url: str | None, seconds: float, tell: Callable[[int, float], None]
    ) -> None:
        self.looks: list[Look] = []
        self._engine_url = engine_url
        self._gate_url = gate_url
        self._seconds = seconds
        self._tell = tell

    async def run(self, before: Scrape) -> None:
        """Look until cancelled; a look that fails is left out."""
        began = time.monotonic()
        while True:
            try:
                page = await asyncio.to_thread(scrape, self._engine_url)
                gate = await asyncio.to_thread(gate_status, self._gate_url) if self._gate_url else None
            except EngineError:
                page = gate = None
            if page is not None:
                now = total(page)
                at = round(time.monotonic() - began, 3)
                self.looks.append((at, now.kv_usage, now.running, now.waiting, *_of_gate(gate)))
                self._tell(int(total(page, before).finished), now.kv_usage)
            await asyncio.sleep(self._seconds)


def _of_gate(told: dict[str, Any] | None) -> tuple[float | None, float | None]:
    if told is None or not told["ranks"]:
        return None, None
    ranks: list[dict[str, Any]] = list(told["ranks"].values())
    leasable = sum(rank["leasable"] for rank in ranks)
    leased = sum(rank["leased"] for rank in ranks)
    waiting = sum(sum(rank["waiting"].values()) for rank in ranks)
    return (leased / leasable if leasable else None), float(waiting)


def counters(engine: EngineSample) -> dict[str, Any]:
    """An engine's counters as JSON takes them."""
    return {name: getattr(engine, name) for name in EngineSample.__slots__}
