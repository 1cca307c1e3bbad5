"""The gate's own state, for people and for Prometheus."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from serving.admission import Reason
from serving.middleware.gate import Gate
from serving.middleware.lease import LeaseMiddleware
from serving.middleware.recommend import recommend
from serving.middleware.settings import Mode


def status(lease: LeaseMiddleware) -> dict[str, Any]:
    """The gate now, as JSON takes it: blocks but where names say otherwise, counts since it started."""
    engine = lease.engine
    told = {
        "mode": lease.settings.mode.value,
        "reserve": lease.settings.policy.reserve.value,
        "metrics_fresh": engine.fresh,
        "engine_error": engine.error,
        "recompute_share": engine.recompute_share,
        "velocity_floor": lease.settings.velocity_floor,
        "outcomes": dict(lease.outcomes),
        "ranks": {rank: _rank(gate) for rank, gate in engine.gates.items()},
        "engine": {
            rank: {
                "kv_usage": sample.kv_usage,
                "running": int(sample.running),
                "waiting": int(sample.waiting),
                "preemptions": int(sample.preemptions),
                "tokens_per_step": round(sample.tokens_per_step, 3),
                "stream_tokens_per_second": engine.velocities.get(rank),
            }
            for rank, sample in engine.sample.engines.items()
        },
    }
    return {**told, "recommendation": _recommendation(lease, told)}


def _recommendation(lease: LeaseMiddleware, told: Mapping[str, Any]) -> str | None:
    """What to do after what was seen in shadow mode; None in any other."""
    return str(recommend(told)) if lease.settings.mode is Mode.SHADOW else None


def metrics_page(lease: LeaseMiddleware) -> bytes:
    """The gate's metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Collector(lease))
    return generate_latest(registry)


def _rank(gate: Gate) -> dict[str, Any]:
    state, counters, pool = gate.ledger.state(), gate.ledger.counters, gate.ledger.pool
    share = state.session_share
    return {
        "block_tokens": pool.block_tokens,
        "leasable": state.leasable,
        "leased": state.leased,
        "tail": state.tail,
        "overrun": state.overrun,
        "running": state.running,
        "running_tokens": state.running_tokens,
        "waiting": {reason.value: count for reason, count in state.waiting.items()},
        "sessions": state.sessions,
        "session_blocks": state.session_blocks,
        "session_share": None if math.isinf(share) else share,
        "context_limit_tokens": state.context_limit_tokens,
        "admitted": counters.admitted,
        "released": counters.released,
        "refused": _named(counters.refused),
        "waited": _named(counters.waited),
        "overruns": counters.overruns,
        "session_leases": counters.session_leases,
        "session_breaks": counters.session_breaks,
        "session_expiries": counters.session_expiries,
        "shadow_delayed": _named(gate.delayed),
        "shadow_denied": _named(gate.denied),
    }


def _named(counts: Mapping[Reason, int]) -> dict[str, int]:
    return {reason.value: count for reason, count in counts.items() if count}


_GAUGES = (
    ("leasable", "leasable_blocks", "KV-cache blocks that run leases may hold"),
    ("leased", "leased_blocks", "KV-cache blocks that run leases hold"),
    ("tail", "tail_blocks", "pooled margin of expected leases"),
    ("overrun", "overrun_blocks", "blocks written past leases that could not grow"),
    ("running", "running_requests", "requests that hold a run lease"),
    ("running_tokens", "running_context_tokens", "tokens in the contexts of running requests"),
    ("sessions", "session_leases", "agents that hold a session lease"),
    ("session_blocks", "session_blocks", "blocks that session leases hold"),
)
_COUNTERS = (
    ("admitted", "admitted", "requests that were given a run lease"),
    ("released", "released", "run leases that ended"),
    ("overruns", "lease_overruns", "requests that wrote past a lease that could not grow"),
    ("session_breaks", "session_breaks", "session leases that were ended before their time"),
    ("session_expiries", "session_expiries", "session leases that ran out"),
)
_BY_REASON = (
    ("refused", "refused", "requests that were refused"),
    ("waited", "waited", "requests that waited"),
    ("shadow_delayed", "shadow_delayed", "requests that would have waited"),
    ("shadow_denied", "shadow_denied", "requests that would have been refused"),
)


class _Collector:
    """Reads the gate when Prometheus asks."""

    def __init__(self, lease: LeaseMiddleware) -> None:
        self._lease = lease

    def collect(self) -> list[Metric]:
        told = status(self._lease)
        ranks: dict[str, dict[str, Any]] = told["ranks"]
        metrics: list[Metric] = []
        for key, name, text in _GAUGES:
            gauge = GaugeMetricFamily(f"mcp_offload_gate_{name}", text, labels=["engine"])
            for rank, values in ranks.items():
                gauge.add_metric([rank], values[key])
            metrics.append(gauge)
        for key, name, text in _COUNTERS:
            counter = CounterMetricFamily(f"mcp_offload_gate_{name}", text, labels=["engine"])
            for rank, values in ranks.items():
                counter.add_metric([rank], values[key])
            metrics.append(counter)
        for key, name, text in _BY_REASON:
            counter = CounterMetricFamily(f"mcp_offload_gate_{name}", text, labels=["engine", "reason"])
            for rank, values in ranks.items():
                for reason, count in values[key].items():
                    counter.add_metric([rank, reason], count)
            metrics.append(counter)
        return [*metrics, *self._whole(told)]

    def _whole(self, told: Mapping[str, Any]) -> list[Metric]:
        outcomes = CounterMetricFamily(
            "mcp_offload_gate_requests", "generating requests by how they ended", labels=["outcome"]
        )
        for outcome, count in told["outcomes"].items():
            outcomes.add_metric([outcome], count)
        fresh = GaugeMetricFamily(
            "mcp_offload_gate_engine_metrics_fresh",
            "whether the engine's metrics were read lately",
            value=float(told["metrics_fresh"]),
        )
        share = GaugeMetricFamily(
            "mcp_offload_gate_recompute_share", "time spent on prompt tokens that had been computed before"
        )
        if told["recompute_share"] is not None:
            share.add_metric([], told["recompute_share"])
        waiting = GaugeMetricFamily(
            "mcp_offload_gate_waiting_requests",
            "requests that wait for their lease now, by what for",
            labels=["engine", "reason"],
        )
        for rank, values in told["ranks"].items():
            for reason in Reason:
                waiting.add_metric([rank, reason.value], values["waiting"].get(reason.value, 0))
        speed = GaugeMetricFamily(
            "mcp_offload_gate_stream_tokens_per_second",
            "tokens a second that a running stream was last seen to get",
            labels=["engine"],
        )
        for rank, engine in told["engine"].items():
            if engine["stream_tokens_per_second"] is not None:
                speed.add_metric([rank], engine["stream_tokens_per_second"])
        return [outcomes, fresh, share, waiting, speed]
