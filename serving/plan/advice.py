"""Whether the gate, a CPU tier or offloading changes anything for a load, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from serving.plan.choice import Candidate
from serving.plan.load import Load

OFFLOADED_DEPTH_TOKENS = 18_000
"""The context that an agent keeps to where files and logs stay out of it."""

ROOM = 0.9
"""Below this share of the pool nothing is evicted that is still wanted."""

THRASHING = 1.3
"""From this overcommitment on, blocks of idle sessions are evicted between their turns. Source: a run of vLLM
0.33.0's own scheduler with a roofline clock; the optimum lay at 1.3 to 1.5, the cliff just past."""


@dataclass(frozen=True)
class Advice:
    """What three measures would change.

    Attributes:
        occupancy: the load's contexts over what the pools hold.
        gate: what the gate would do.
        gate_matters: False where it would change nothing.
        cpu_tier: what a KV cache in the host's memory would do.
        cpu_tier_matters: False where it would change nothing.
        offloading: what bounding contexts would do.
        offloading_matters: False where it would change nothing.
    """

    occupancy: float
    gate: str
    gate_matters: bool
    cpu_tier: str
    cpu_tier_matters: bool
    offloading: str
    offloading_matters: bool


def advise(chosen: Candidate, load: Load) -> Advice:
    """Judge the measures for one candidate under a load."""
    occupancy = load.agents / chosen.in_memory if chosen.in_memory else float("inf")
    gate, gate_matters = _gate(occupancy, chosen, load)
    tier, tier_matters = _cpu_tier(occupancy, chosen, load)
    bounded, bounded_matters = _offloading(occupancy, chosen, load)
    return Advice(occupancy, gate, gate_matters, tier, tier_matters, bounded, bounded_matters)


def _gate(occupancy: float, chosen: Candidate, load: Load) -> tuple[str, bool]:
    slow = chosen.above_floor < load.agents
    if occupancy <= ROOM and not slow:
        return (
            f"Nothing: the agents fill {occupancy:.0%} of the pool, so no session is evicted. Leave it in"
            " shadow mode.",
            False,
        )
    if slow and occupancy <= ROOM:
        return (
            f"Its velocity limit: memory has room, but only {chosen.above_floor} agents keep"
            f" {load.floor_tokens_per_second:g} tok/s at this depth.",
            True,
        )
    if occupancy < THRASHING:
        return (
            f"Perhaps: at {occupancy:.0%} of the pool some idle sessions are evicted. Run it in shadow mode"
            " and switch it on where it measures recomputation.",
            True,
        )
    return (
        f"Much: at {occupancy:.0%} of the pool idle sessions are evicted between turns and every prompt is"
        f" computed again. Its session cap keeps about {int(chosen.in_memory * THRASHING)} live.",
        True,
    )


def _cpu_tier(occupancy: float, chosen: Candidate, load: Load) -> tuple[str, bool]:
    if occupancy <= ROOM:
        return "Nothing: what is kept on the GPUs need not come back from the host.", False
    engine = chosen.engine
    # The group's GPUs load over their own links at once.
    links = engine.topology.tensor_parallel * engine.gpu.host_link_bytes_per_second
    loading = engine.sequence.at(load.depth_tokens) / links
    computing = engine.prefill_seconds(load.depth_tokens)
    excess_gib = (
        max(0.0, load.agents - ROOM * chosen.in_memory) * engine.sequence.at(load.depth_tokens) / 2**30
    )
    told = (
        f"An evicted session of {load.depth_tokens:,} tokens comes back in {loading:.2f} s over the host's"
        f" links at their peak, against {computing:.1f} s of prefill;"
        f" {excess_gib:,.0f} GiB would hold the excess."
    )
    return told, loading < computing


def _offloading(occupancy: float, chosen: Candidate, load: Load) -> tuple[str, bool]:
    if load.depth_tokens <= OFFLOADED_DEPTH_TOKENS:
        return f"Nothing: contexts are within {OFFLOADED_DEPTH_TOKENS:,} tokens already.", False
    engine = chosen.engine
    pools = engine.topology.pools
    held = pools * engine.agents_in_memory(OFFLOADED_DEPTH_TOKENS)
    decoding = max(1.0, chosen.agents_per_pool * engine.assume.busy)
    faster = engine.velocity(decoding, OFFLOADED_DEPTH_TOKENS) / chosen.velocity if chosen.velocity else 0.0
    told = (
        f"Bounding contexts to {OFFLOADED_DEPTH_TOKENS:,} tokens holds {held} agents instead of"
        f" {chosen.in_memory}, and the load's streams decode {faster:.2f} times as fast."
    )
    return told, occupancy > ROOM or faster >= 1.1 or chosen.above_floor < load.agents


def shallower(load: Load) -> Load:
    """The same agents with bounded contexts."""
    return replace(load, depth_tokens=min(load.depth_tokens, OFFLOADED_DEPTH_TOKENS))
