"""Agents as they load a node: long contexts that grow, short answers, pauses for tools. Deterministic."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of an agent.

    Attributes:
        new_tokens: what its prompt adds to the context before it: a tool's result.
        output_tokens: what the model writes before it stops by itself.
        pause_seconds: how long the tool runs that follows it.
    """

    new_tokens: int
    output_tokens: int
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent's whole life: the context it begins with, and its turns."""

    name: str
    base_tokens: int
    turns: tuple[Turn, ...]

    @property
    def peak_tokens(self) -> int:
        """Its context at the end of its last turn."""
        return self.base_tokens + sum(turn.new_tokens + turn.output_tokens for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Workload:
    """What agents are drawn from.

    Attributes:
        agents: how many begin at once.
        turns: of each.
        base_tokens: the mean context that an agent begins with; drawn evenly within half of it.
        new_tokens: the mean of what a tool's result adds; exponential.
        output_median: the median of what a turn writes; lognormal.
        output_sigma: the logarithm's standard deviation.
        pause_seconds: the mean time of a tool; exponential.
        max_output_tokens: the limit that each request sets.
    """

    agents: int
    turns: int
    base_tokens: int
    new_tokens: int
    output_median: float = 444.0
    output_sigma: float = 0.8
    pause_seconds: float = 4.0
    max_output_tokens: int = 4096

    def draw(self, seed: int) -> list[Agent]:
        """The agents of one run."""
        rng = random.Random(seed)  # noqa: S311  a workload, not a secret
        return [self._agent(f"a{i}", rng) for i in range(self.agents)]

    def _agent(self, name: str, rng: random.Random) -> Agent:
        base = round(self.base_tokens * rng.uniform(0.5, 1.5))
        turns = tuple(
            Turn(
                new_tokens=1 + round(rng.expovariate(1 / self.new_tokens)),
                output_tokens=self._output(rng),
                pause_seconds=rng.expovariate(1 / self.pause_seconds),
            )
            for _ in range(self.turns)
        )
        return Agent(name, base, turns)

    def _output(self, rng: random.Random) -> int:
        drawn = math.exp(rng.gauss(math.log(self.output_median), self.output_sigma))
        return max(1, min(self.max_output_tokens, round(drawn)))


OVERCOMMITTED: Final = Workload(agents=40, turns=12, base_tokens=12_000, new_tokens=1_850)
"""Forty agents whose contexts come to 41,000 tokens on average: 3.4 times what a pool of 480,000 holds.

Source: medians of public agent traces, vLLM blog of 2026-09-08 on agentic workloads (output 444 tokens)."""

LIGHT: Final = Workload(agents=8, turns=4, base_tokens=12_000, new_tokens=1_850)
"""Eight agents in the same pool, which holds them all."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """How long one step of an engine takes, by what it reads and computes.

    Attributes:
        read_bytes: weights that a step reads.
        kv_bytes_per_token: of every token in the context of a request that decodes.
        bandwidth_bytes_per_second: what is reached of the GPUs' own, together.
        flop_per_token: of the weights, for each token computed.
        flop_per_second: what is reached of the GPUs' own, together.
        overhead_seconds: of a step, whatever it does.
    """

    read_bytes: float
    kv_bytes_per_token: float
    bandwidth_bytes_per_second: float
    flop_per_token: float
    flop_per_second: float
    overhead_seconds: float = 0.0

    def step_seconds(self, computed_tokens: int, context_tokens: int) -> float:
        """A step that computes so many tokens while so many stand in the contexts it reads."""
        reading = (
            self.read_bytes + self.kv_bytes_per_token * context_tokens
        ) / self.bandwidth_bytes_per_second
        computing = self.flop_per_token * computed_tokens / self.flop_per_second
        return self.overhead_seconds + max(reading, computing)


LLAMA_70B_ON_TWO_H100: Final = Roofline(
    read_bytes=70.55e9,
    kv_bytes_per_token=163_840,
    bandwidth_bytes_per_second=2 * 3.35e12 * 0.8,
    flop_per_token=2 * 70.55e9,
    flop_per_second=2 * 1.979e15 * 0.5,
)
"""Llama-3.x-70B with FP8 weights and KV cache on two H100 SXM: 80 % of the bandwidth and half of the dense
FP8 rate are assumed to be reached; attention's own arithmetic is left out.

Source: NVIDIA H100 data sheet (3.35 TB/s, 1,979 TFLOPS dense FP8); parameters from the model's config."""
