"""Velocity by depth, and times as requests saw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from serving.telemetry.definitions import FORMAL_OUTPUT_TOKENS, make, missing
from serving.telemetry.engine import EngineSample
from serving.telemetry.node import Node
from serving.telemetry.reading import Reading
from serving.telemetry.requests import ServedRequest
from serving.telemetry.statistics import median_interval, quantile

BUCKETS: Final = (0, 2_000, 8_000, 16_000, 32_000, 64_000, 128_000)
"""Lower ends of the depth buckets, tokens of context at the first token."""

SHORT_OUTPUT_TOKENS: Final = 32
_INTERVAL: Final = "95 % interval of the median, from order statistics"


def bucket_of(context_tokens: int) -> str:
    """The name of a depth's bucket, as ``32k-64k`` or ``128k+``."""
    low = max(end for end in BUCKETS if end <= context_tokens)
    above = [end for end in BUCKETS if end > context_tokens]
    return f"{low // 1000}k-{above[0] // 1000}k" if above else f"{low // 1000}k+"


def velocities(
    requests: Sequence[ServedRequest], engine: EngineSample | None = None, node: Node | None = None
) -> Iterator[Reading]:
    """Sustained and ordinary velocity by depth bucket; each is flagged that exceeds what memory allows."""
    long = _by_bucket(requests, FORMAL_OUTPUT_TOKENS)
    if not long:
        note = f"no streamed, complete answer has {FORMAL_OUTPUT_TOKENS:,} tokens that the engine counted"
        yield missing("sustained_velocity_median", note)
        yield missing("sustained_velocity_p10", note)
    for bucket, served in long.items():
        speeds = [speed for speed, _ in served]
        told = _told(served, engine, node, bucket)
        yield make("sustained_velocity_median", quantile(speeds, 0.5), **told, **_interval(speeds))
        yield make("sustained_velocity_p10", quantile(speeds, 0.1), **told)
    for bucket, served in _by_bucket(requests, SHORT_OUTPUT_TOKENS).items():
        speeds = [speed for speed, _ in served]
        told = _told(served, engine, node, bucket)
        yield make("decode_velocity_median", quantile(speeds, 0.5), **told, **_interval(speeds))


_Served = list[tuple[float, ServedRequest]]


def _by_bucket(requests: Sequence[ServedRequest], least_output_tokens: int) -> dict[str, _Served]:
    found: dict[str, _Served] = {}
    for request in sorted(requests, key=lambda request: request.prompt_tokens or 0):
        speed = request.decode_tokens_per_second
        if request.prompt_tokens is None or speed is None or request.output_tokens < least_output_tokens:
            continue
        found.setdefault(bucket_of(request.prompt_tokens), []).append((speed, request))
    return found


def _interval(speeds: Sequence[float]) -> dict[str, object]:
    between = median_interval(speeds)
    if between is None:
        return {"bounds": "none: an interval of the median takes six requests"}
    return {"low": between[0], "high": between[1], "bounds": _INTERVAL}


def _told(served: _Served, engine: EngineSample | None, node: Node | None, bucket: str) -> dict[str, object]:
    return {"group": bucket, "samples": len(served), "impossible": _impossible(served, engine, node)}


def _impossible(served: _Served, engine: EngineSample | None, node: Node | None) -> str:
    if node is None:
        return ""
    most = 1.0  # tokens a step, were every draft accepted
    if engine is not None and engine.drafts:
        most = 1 + engine.draft_tokens / engine.drafts
    for speed, request in served:
        bound = node.velocity_bound(request.prompt_tokens or 0, most)
        if speed > bound:
            return (
                f"a request decoded at {speed:.1f} tok/s from {request.prompt_tokens:,} tokens; reading"
                " weights"
                f" and KV cache once a step allows {bound:.1f}. Is the model, its format or the GPU another?"
            )
    return ""


def times(requests: Sequence[ServedRequest], engine: EngineSample | None = None) -> Iterator[Reading]:
    """Waits and latencies."""
    waits = [request.waited_seconds for request in requests]
    yield _quantile("queue_wait_p50", waits, 0.5)
    yield _quantile("queue_wait_p99", waits, 0.99)
    if engine is not None and engine.queued:
        mean = engine.queue_seconds / engine.queued
        yield make("engine_queue_mean", mean, samples=int(engine.queued))
    else:
        yield missing("engine_queue_mean", "needs the engine's metrics page")
    answered = [request for request in requests if request.outcome in ("answered", "bypassed")]
    firsts = [request.first_seconds for request in answered if request.first_seconds is not None]
    lasts = [request.last_seconds for request in answered if request.last_seconds is not None]
    yield _quantile("first_token_p99", firsts, 0.99)
    yield _quantile("latency_p99", lasts, 0.99)
    middle = quantile(lasts, 0.5) if lasts else 0.0
    if middle > 0:
        yield make("latency_volatility", quantile(lasts, 0.99) / middle, samples=len(lasts))
    else:
        yield missing("latency_volatility", "no request was answered")


def _quantile(name: str, values: Sequence[float], part: float) -> Reading:
    if not values:
        return missing(name, "no request tells it")
    return make(name, quantile(values, part), samples=len(values))
