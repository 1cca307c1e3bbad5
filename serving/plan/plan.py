"""Puts a plan together: one request in, one value with every figure out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from serving.plan.advice import Advice, advise
from serving.plan.choice import Candidate, best, candidates, reason
from serving.plan.engine import Engine
from serving.plan.figures import figures
from serving.plan.profile import planned_profile
from serving.plan.refusal import alternatives, check
from serving.plan.request import Request
from serving.plan.speculation import SpeculationVerdict, judged
from serving.profile.figure import Figure
from serving.profile.formats import KV_16BIT, KV_FORMATS
from serving.profile.gpu import Gpu
from serving.profile.model import Profile

DEPTHS_TOKENS = (2_000, 8_000, 18_000, 32_000, 64_000, 128_000)


@dataclass(frozen=True)
class KvRow:
    """One format of the KV cache under the load, in the chosen topology or what is best for it.

    Attributes:
        name: 16bit, fp8 or int8.
        bytes_per_token: on one pool's group, in layers without a window.
        bytes_per_agent: at the load's depth.
        in_memory: agents that all pools hold.
        above_floor: agents that keep the velocity floor.
    """

    name: str
    bytes_per_token: int
    bytes_per_agent: float
    in_memory: int
    above_floor: int


@dataclass(frozen=True)
class DepthRow:
    """The chosen topology at one depth.

    Attributes:
        depth_tokens: of every agent.
        in_memory: agents that all pools hold.
        above_floor: agents that keep the velocity floor.
        alone_bound, alone: velocity of a single stream, at most and expected.
        full_bound, full: the same with as many streams as fit memory and floor.
        aggregate: tokens per second of all those streams, expected.
    """

    depth_tokens: int
    in_memory: int
    above_floor: int
    alone_bound: float
    alone: float
    full_bound: float
    full: float
    aggregate: float


@dataclass(frozen=True)
class Plan:
    """What fits, how fast it is, and how to run it.

    Attributes:
        request: what was asked for.
        candidates: every topology.
        chosen: the one to run.
        why: the reason, one sentence.
        carries: False where the load exceeds memory or the velocity floor.
        kv: the formats of the KV cache, compared.
        depths: the chosen topology at several depths.
        speculation: the ways to draft, judged.
        advice: what gate, CPU tier and offloading would change.
        alternatives: what would carry the load, where the chosen topology does not.
        figures: every number with its basis, formula and source.
        profile: the engine's settings.
    """

    request: Request
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    why: str
    carries: bool
    kv: tuple[KvRow, ...]
    depths: tuple[DepthRow, ...]
    speculation: tuple[SpeculationVerdict, ...]
    advice: Advice
    alternatives: tuple[str, ...]
    figures: tuple[Figure, ...]
    profile: Profile


def make_plan(request: Request, others: Iterable[Gpu] = ()) -> Plan:
    """Plan a node.

    Args:
        request: model, hardware and load.
        others: GPUs that may be named where these do not carry the load.

    Raises:
        ServingUsageError: the depth is beyond what the model was made for.
        DoesNotFitError: not one agent fits or is fast enough; its alternatives were computed.
    """
    others = tuple(others)
    check(request, others)
    load = request.load
    found = candidates(request.engine(), request.gpus, load)
    chosen = best(found, load)
    carries = chosen.carries(load)
    verdicts = tuple(judged(chosen.engine, draft, load, chosen.agents_per_pool) for draft in request.drafts)
    return Plan(
        request=request,
        candidates=found,
        chosen=chosen,
        why=reason(chosen, found, load),
        carries=carries,
        kv=_kv_rows(request),
        depths=_depth_rows(request, chosen.engine),
        speculation=verdicts,
        advice=advise(chosen, load),
        alternatives=() if carries else tuple(alternatives(request, others)),
        figures=figures(request, chosen),
        profile=planned_profile(request, chosen, verdicts),
    )


def _kv_rows(request: Request) -> tuple[KvRow, ...]:
    rows: list[KvRow] = []
    for form in KV_FORMATS.values():
        best_of = best(candidates(request.engine(form), request.gpus, request.load), request.load)
        sequence = best_of.engine.sequence
        rows.append(
            KvRow(
                form.name,
                sequence.per_token,
                sequence.at(request.load.depth_tokens),
                best_of.in_memory,
                best_of.above_floor,
            )
        )
    return tuple(rows)


def _depth_rows(request: Request, engine: Engine) -> tuple[DepthRow, ...]:
    depths = {*DEPTHS_TOKENS, request.load.depth_tokens}
    allowed = sorted(depth for depth in depths if depth <= request.model.architecture.max_positions)
    return tuple(_depth_row(engine, depth, request.load.floor_tokens_per_second) for depth in allowed)


def _depth_row(engine: Engine, depth: int, floor: float) -> DepthRow:
    pools, busy = engine.topology.pools, engine.assume.busy
    held, fast = engine.agents_in_memory(depth), engine.streams_above(floor, depth)
    streams = max(1, min(int(held * busy), fast))
    full = engine.velocity(streams, depth)
    return DepthRow(
        depth_tokens=depth,
        in_memory=pools * held,
        above_floor=int(pools * fast / busy),
        alone_bound=engine.velocity(1, depth, least_time=True),
        alone=engine.velocity(1, depth),
        full_bound=engine.velocity(streams, depth, least_time=True),
        full=full,
        aggregate=pools * streams * full if held else 0.0,
    )


def sixteen_bit_agents(plan: Plan) -> int:
    """Agents that fit with keys and values in 16 bits."""
    return next(row.in_memory for row in plan.kv if row.name == KV_16BIT.name)
