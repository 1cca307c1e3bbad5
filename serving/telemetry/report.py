"""All readings of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serving.telemetry.cache import failures, hits, preemptions, recomputing, saturation, speculation
from serving.telemetry.definitions import make
from serving.telemetry.engine import EngineSample
from serving.telemetry.node import Node
from serving.telemetry.reading import Reading
from serving.telemetry.requests import ServedRequest, wall_seconds
from serving.telemetry.speed import times, velocities
from serving.telemetry.work import utilization


@dataclass(frozen=True)
class Observed:
    """What is known of a run.

    Attributes:
        requests: the gate's records.
        engine: counters over the same time; None without a page.
        gate: what ``/gate/status`` answered; None without a gate.
        node: None where the model or the GPU is not known.
        base_step_seconds: of a stream without speculation under the same load, where it was measured.
        price_per_hour: of the node; None where nothing is told.
        restarts_seen: of the engine, by whoever watched its pages; None where nobody did.
        seconds: that all this took; None takes the time from the first arrival to the last byte.
    """

    requests: Sequence[ServedRequest] = ()
    engine: EngineSample | None = None
    gate: Mapping[str, Any] | None = None
    node: Node | None = None
    base_step_seconds: float | None = None
    price_per_hour: float | None = None
    restarts_seen: int | None = None
    seconds: float | None = None


def readings(observed: Observed) -> tuple[Reading, ...]:
    """Every metric, in the order of the reference; those that cannot be had say what is missing."""
    return tuple(_readings(observed))


def _readings(observed: Observed) -> Iterator[Reading]:
    requests, engine, node = observed.requests, observed.engine, observed.node
    seconds = wall_seconds(requests) if observed.seconds is None else observed.seconds
    yield from velocities(requests, engine, node)
    yield from preemptions(engine)
    yield from recomputing(requests, engine, node, seconds)
    yield hits(engine)
    yield from speculation(engine, observed.base_step_seconds)
    yield from saturation(engine, observed.gate)
    yield from utilization(requests, engine, node, seconds)
    yield from times(requests, engine)
    yield from failures(observed.gate, observed.restarts_seen)
    sessions = {request.session_id for request in requests}
    if observed.price_per_hour is not None and sessions:
        spent = observed.price_per_hour * seconds / 3600
        yield make("cost_per_session", spent / len(sessions), samples=len(sessions))
