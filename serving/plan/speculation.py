"""Whether drafting tokens pays under a load."""

from __future__ import annotations

from dataclasses import dataclass, replace

from serving.plan.engine import Draft, Engine
from serving.plan.load import Load


@dataclass(frozen=True)
class SpeculationVerdict:
    """One way to draft, beside none.

    Attributes:
        draft: the way.
        alone: velocity of a single stream, over that without drafting.
        loaded: the same under the load.
        agents_in_memory: of one pool, with what the draft takes.
        agents_without: of one pool, without it.
        break_even_acceptance: the acceptance at which it neither gains nor loses under the load; None where
            even certain acceptance loses.
    """

    draft: Draft
    alone: float
    loaded: float
    agents_in_memory: int
    agents_without: int
    break_even_acceptance: float | None

    def pays(self, agents_per_pool: int) -> bool:
        """True where it gains a tenth or more under the load, and the pool still holds the agents."""
        holds = self.agents_in_memory >= min(agents_per_pool, self.agents_without)
        return self.loaded >= 1.1 and holds


def judged(engine: Engine, draft: Draft, load: Load, agents_per_pool: int) -> SpeculationVerdict:
    """Compare an engine without drafting to itself with it.

    Args:
        engine: its draft is ignored.
        draft: the way to compare.
        load: gives the depth.
        agents_per_pool: of which the busy share decodes.
    """
    plain, drafting = replace(engine, draft=None), replace(engine, draft=draft)
    decoding = max(1.0, agents_per_pool * engine.assume.busy)
    depth = load.depth_tokens
    return SpeculationVerdict(
        draft=draft,
        alone=drafting.velocity(1, depth) / plain.velocity(1, depth),
        loaded=drafting.velocity(decoding, depth) / plain.velocity(decoding, depth),
        agents_in_memory=drafting.agents_in_memory(depth) if drafting.pool_bytes > 0 else 0,
        agents_without=plain.agents_in_memory(depth),
        break_even_acceptance=_break_even(plain, draft, decoding, depth),
    )


def _break_even(plain: Engine, draft: Draft, decoding: float, depth: int) -> float | None:
    """The acceptance at which the velocities are equal, by bisection."""
    target = plain.velocity(decoding, depth)

    def gains(acceptance: float) -> bool:
        drafting = replace(plain, draft=replace(draft, acceptance=acceptance))
        return drafting.velocity(decoding, depth) >= target

    low, high = 0.0, 0.999
    if not gains(high):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if gains(middle) else (middle, high)
    return high


GUESSED_ACCEPTANCE = 0.7
"""Of a draft model or prediction layers. Between .6 and .9 are usual; measure it on your own load."""

GUESSED_LOOKUP_ACCEPTANCE = 0.3
"""Of n-grams looked up in the prompt; near 0 in new text and near 1 in copied text."""


def candidate_drafts(engine: Engine, acceptance: float | None) -> tuple[Draft, ...]:
    """What can be tried without another checkpoint: the model's own prediction layers, and n-grams.

    Args:
        engine: tells whether the model has prediction layers.
        acceptance: measured; None takes guesses.
    """
    found = [Draft("ngram", 3, acceptance or GUESSED_LOOKUP_ACCEPTANCE)]
    if engine.model.mtp_layers:
        found.insert(0, Draft("mtp", 1, acceptance or GUESSED_ACCEPTANCE))
    return tuple(found)
