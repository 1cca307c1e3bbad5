"""Which topology carries a load best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from serving.plan.engine import Engine
from serving.plan.load import Load
from serving.plan.topology import Topology, topologies
from serving.profile.memory import replication


@dataclass(frozen=True)
class Candidate:
    """One topology under a load.

    Attributes:
        engine: one of its pools.
        agents_per_pool: the load, spread evenly.
        in_memory: agents at the load's depth that all pools hold.
        above_floor: agents at the load's depth that may live while those that decode keep the floor.
        velocity: tokens per second of one stream under the load, expected.
        velocity_bound: the same, at most.
        stored_times: copies of each key and value.
    """

    engine: Engine
    agents_per_pool: int
    in_memory: int
    above_floor: int
    velocity: float
    velocity_bound: float
    stored_times: float

    @property
    def topology(self) -> Topology:
        """How the GPUs share the work."""
        return self.engine.topology

    @property
    def limit(self) -> int:
        """Agents that it carries: the smaller of memory and velocity."""
        return min(self.in_memory, self.above_floor)

    @property
    def weights_fit(self) -> bool:
        """True where any KV cache is left beside the weights."""
        return self.engine.pool_bytes > 0

    def carries(self, load: Load) -> bool:
        """True where memory and velocity allow it."""
        return self.limit >= load.agents


def candidates(engine: Engine, gpus: int, load: Load) -> tuple[Candidate, ...]:
    """Every topology of so many GPUs under a load, in the order of :func:`topologies`.

    Args:
        engine: model, formats, GPU, draft and assumptions; its topology is replaced.
        gpus: of the node.
        load: what they should carry.
    """
    return tuple(
        _judged(replace(engine, topology=topology), load) for topology in topologies(gpus, engine.model)
    )


def _judged(engine: Engine, load: Load) -> Candidate:
    pools = engine.topology.pools
    each = math.ceil(load.agents / pools)
    decoding = max(1.0, each * engine.assume.busy)
    fits = engine.pool_bytes > 0
    streams = engine.streams_above(load.floor_tokens_per_second, load.depth_tokens) if fits else 0
    return Candidate(
        engine=engine,
        agents_per_pool=each,
        in_memory=pools * engine.agents_in_memory(load.depth_tokens) if fits else 0,
        above_floor=int(pools * streams / engine.assume.busy),
        velocity=engine.velocity(decoding, load.depth_tokens) if fits else 0.0,
        velocity_bound=engine.velocity(decoding, load.depth_tokens, least_time=True) if fits else 0.0,
        stored_times=replication(engine.model, engine.topology.tensor_parallel),
    )


def best(found: Sequence[Candidate], load: Load) -> Candidate:
    """The one to run: of those that carry the load the fastest, else the one that carries most.

    Between velocities within a tenth the one with fewer pools wins: it shares prefixes and needs no routing.
    """
    carrying = [candidate for candidate in found if candidate.carries(load)]
    if not carrying:
        return max(found, key=lambda candidate: (candidate.limit, candidate.in_memory, candidate.velocity))
    fastest = max(candidate.velocity for candidate in carrying)
    close = [candidate for candidate in carrying if candidate.velocity >= 0.9 * fastest]
    return min(close, key=lambda candidate: (candidate.topology.pools, -candidate.velocity))


def reason(chosen: Candidate, found: Sequence[Candidate], load: Load) -> str:
    """Why it is that one, in one sentence."""
    others = [candidate for candidate in found if candidate is not chosen]
    if not others:
        return "There is no other way to lay this model over these GPUs."
    if not chosen.carries(load):
        return f"No topology carries the load; {chosen.topology} carries most: {chosen.limit} agents."
    failing = [candidate for candidate in others if not candidate.carries(load)]
    rival = max(others, key=lambda candidate: candidate.velocity if candidate.carries(load) else 0.0)
    if not rival.carries(load):
        return f"{chosen.topology} alone carries the load; {failing[0].topology} carries {failing[0].limit}."
    wasted = f", which stores each key {rival.stored_times:g} times" if rival.stored_times > 1 else ""
    compared = f"{chosen.velocity:.0f} tok/s each against {rival.velocity:.0f} with {rival.topology}{wasted}"
    few = " and fewer pools" if chosen.topology.pools < rival.topology.pools else ""
    return f"{chosen.topology} gives {compared}{few}."
