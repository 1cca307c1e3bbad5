"""What became of the KV cache: preemptions, recomputing, prefix hits, saturation, speculation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from serving.profile.arithmetic import projection_flops
from serving.telemetry.definitions import make, missing
from serving.telemetry.engine import EngineSample
from serving.telemetry.node import Node
from serving.telemetry.reading import Reading
from serving.telemetry.requests import ServedRequest, new_tokens, wall_seconds
from serving.telemetry.statistics import clean_trials_needed, proportion_bounds

CLAIM_SHARE: Final = 0.0005
"""The preempted share that is commonly claimed to be undercut."""

_PAGE: Final = "needs the engine's metrics page"


def preemptions(engine: EngineSample | None) -> Iterator[Reading]:
    """Events, requests that were hit with bounds, and how many clean requests a claim takes."""
    needed = clean_trials_needed(CLAIM_SHARE)
    if engine is None or not engine.finished:
        note = _PAGE if engine is None else "no request has ended"
        yield missing("preemption_events", note)
        yield missing("preempted_requests", note)
    else:
        finished, events = int(engine.finished), int(engine.preemptions)
        yield make("preemption_events", events / finished, samples=finished)
        yield _preempted(engine, finished, events, needed)
    yield make("preemption_claim_requests", needed)


def _preempted(engine: EngineSample, finished: int, events: int, needed: int) -> Reading:
    # vLLM's first bucket ends at 1, so that requests hit once hide among those never hit.
    several = int(max(0.0, engine.preemption_requests - engine.at_most_once))
    least = min(finished, max(several, 1 if events else 0))
    most = min(finished, several + max(0, events - 2 * several))
    low, high = proportion_bounds(least, finished)[0], proportion_bounds(most, finished)[1]
    note = ""
    if events == 0 and finished < needed:
        note = f"{needed - finished:,} more requests without one are needed to claim under {CLAIM_SHARE:.2%}"
    elif least != most:
        note = f"between {least:,} and {most:,} requests were hit by {events:,} preemptions"
    value = most / finished if least == most else None
    kind = "95 % one-sided each, Clopper-Pearson"
    return make("preempted_requests", value, low=low, high=high, bounds=kind, samples=finished, note=note)


def recomputing(
    requests: Sequence[ServedRequest],
    engine: EngineSample | None = None,
    node: Node | None = None,
    seconds: float | None = None,
) -> Iterator[Reading]:
    """How often prompt tokens were computed, and the share of time that went into doing so again.

    Args:
        requests: of one run.
        engine: its counters over the same time.
        node: that it ran on.
        seconds: that it took; None takes what the requests tell.
    """
    fresh = new_tokens(requests)
    prompt = sum(requests[place].prompt_tokens or 0 for place in fresh)
    cached, told = _cached(requests, fresh, engine)
    needed = sum(fresh.values())
    if cached is None or not needed:
        note = told if cached is None else "no record tells a prompt"
        yield missing("recompute_factor", note)
        yield missing("recompute_share", note)
        return
    computed = max(0, prompt - cached)
    yield make("recompute_factor", computed / needed, samples=len(fresh), note=told)
    excess = max(0, computed - needed)
    seconds = wall_seconds(requests) if seconds is None else seconds
    if engine is None or not engine.computed_tokens or seconds <= 0:
        yield missing("recompute_share", _PAGE)
        return
    each = engine.prefill_seconds / engine.computed_tokens
    low = None
    if node is not None:
        low = projection_flops(node.model, excess, 0) / node.peak_flops / seconds
    copies = node.copies if node is not None else 1
    share = min(1.0, excess * each / (seconds * copies))
    bounds = "low: the arithmetic at the GPUs' peak" if node is not None else ""
    yield make("recompute_share", share, low=low, bounds=bounds, samples=len(fresh))


def _cached(
    requests: Sequence[ServedRequest], fresh: Mapping[int, int], engine: EngineSample | None
) -> tuple[int | None, str]:
    """Tokens of these prompts that came from the cache, and what to keep in mind."""
    known = [requests[place].cached_tokens for place in fresh]
    if known and all(tokens is not None for tokens in known):
        return sum(tokens or 0 for tokens in known), ""
    if engine is not None and engine.prompt_tokens:
        prompt = sum(requests[place].prompt_tokens or 0 for place in fresh)
        share = engine.cached_tokens / engine.prompt_tokens
        return round(prompt * share), "cached tokens by the engine's share; records lack them"
    return None, "records tell no cached tokens; start the engine with --enable-prompt-tokens-details"


def hits(engine: EngineSample | None) -> Reading:
    """The prefix cache's."""
    if engine is None or not engine.prefix_queries:
        return missing("prefix_hit_share", _PAGE if engine is None else "the prefix cache was not asked")
    share = engine.prefix_hits / engine.prefix_queries
    wrong = "more hits than queries: two pages of different engines?" if share > 1 else ""
    return make("prefix_hit_share", share, impossible=wrong)


def speculation(engine: EngineSample | None, base_step_seconds: float | None = None) -> Iterator[Reading]:
    """What drafting brought; nothing where nothing was drafted.

    Args:
        engine: its counters.
        base_step_seconds: a stream's step without speculation, measured under the same load.
    """
    if engine is None or not engine.drafts:
        return
    gained = engine.tokens_per_step
    drafted = 1 + engine.draft_tokens / engine.drafts
    wrong = f"more than the {drafted:.2f} that are drafted" if gained > drafted else ""
    yield make(
        "tokens_per_step", gained, low=1.0, high=drafted, bounds="none accepted, all", impossible=wrong
    )
    if engine.draft_tokens:
        yield make(
            "acceptance", engine.accepted_tokens / engine.draft_tokens, samples=int(engine.draft_tokens)
        )
    if base_step_seconds is None or not engine.steps:
        note = "needs a stream's step time without speculation under the same load"
        yield missing("speculation_gain", note, high=gained, bounds="at most tokens_per_step")
    else:
        step = engine.step_seconds / engine.steps
        yield make("speculation_gain", gained * base_step_seconds / step, high=gained, bounds="at most")


def saturation(engine: EngineSample | None, gate: Mapping[str, Any] | None = None) -> Iterator[Reading]:
    """The pool as running requests, leases and live agents see it.

    Args:
        engine: now.
        gate: what ``/gate/status`` answers; None without a gate.
    """
    yield make("kv_active", engine.kv_usage) if engine else missing("kv_active", _PAGE)
    ranks = list((gate or {}).get("ranks", {}).values())
    leasable = sum(rank["leasable"] for rank in ranks)
    for name, key in (("kv_leased", "leased"), ("kv_warm", "session_blocks")):
        if leasable:
            yield make(name, sum(rank[key] for rank in ranks) / leasable)
        else:
            yield missing(name, "needs the gate's /gate/status")
    if ranks:
        yield make("lease_overruns", sum(rank["overruns"] for rank in ranks))
    else:
        yield missing("lease_overruns", "needs the gate's /gate/status")


def failures(gate: Mapping[str, Any] | None = None, restarts_seen: int | None = None) -> Iterator[Reading]:
    """Restarts of the engine, and those for want of memory.

    Args:
        gate: what ``/gate/status`` answers; it knows causes where ``up`` started the engine.
        restarts_seen: restarts that pages showed; None where nobody watched.
    """
    process: Mapping[str, Any] | None = (gate or {}).get("process")
    if process is not None:
        yield make("engine_restarts", process["restarts"])
        yield make("memory_failures", process.get("failures", {}).get("out_of_memory", 0))
        return
    if restarts_seen is None:
        yield missing(
            "engine_restarts", "needs the status of a gate that `up` started, or `metrics --listen`"
        )
    else:
        yield make("engine_restarts", restarts_seen, note="as pages showed them")
    yield missing("memory_failures", "needs the status of a gate that `up` started")
