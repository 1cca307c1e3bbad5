"""Records the series in examples/serving/modes: each failure mode, and the same load without it.

vLLM's own scheduler and KV-cache manager on the clock of :mod:`serving.bench.simulate`; the looks are made
every ten seconds of that clock. Run where vLLM is installed: ``python -m tests.serving.record_modes MODEL``.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from serving.admission import Ledger, Policy, Pool, Reserve, recompute_share
from serving.bench.scheduler import Engine
from serving.bench.simulate import Simulation
from serving.bench.workload import LLAMA_70B_ON_TWO_H100, OVERCOMMITTED, Agent, Turn
from serving.telemetry import EngineSample
from serving.telemetry.modes import Look
from serving.telemetry.series import as_line

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "serving" / "modes"
PERIOD_SECONDS = 10.0
LONGEST_SECONDS = 300.0
HEAD = "# vLLM's scheduler on a simulated clock (two H100, Llama 70B in FP8); no GPU ran."


@dataclass(frozen=True)
class Case:
    """One series.

    Attributes:
        told: what happens, in a line.
        agents: each with the second at which it begins.
        reserve: of run leases; None for no gate.
        blocks: the pool, the null block included.
        chunk_tokens: ``max_num_batched_tokens``.
        limit_tokens: each request's own output limit.
    """

    told: str
    agents: tuple[tuple[float, Agent], ...]
    reserve: Reserve | None = None
    blocks: int = 30_000
    chunk_tokens: int = 2048
    limit_tokens: int = 32_768


class Recorded(Simulation):
    """A simulation that is looked at as a node is."""

    def __init__(self, engine: Engine, case: Case, ledger: Ledger | None) -> None:
        super().__init__(engine, [agent for _, agent in case.agents], case.limit_tokens, ledger, None)
        begins = {agent.name: begin for begin, agent in case.agents}
        self._due = [(begins[run.agent.name], number, run) for _, number, run in self._due]
        heapq.heapify(self._due)
        self.looks: list[Look] = []
        self._told = EngineSample()
        self._last: dict[str, float] = {}
        self._share = 0.0
        self._since = (0.0, 0, 0, 0, 0, 0.0)
        self._seen = {"prompt": 0, "cached": 0, "new": 0}
        self._look()

    def _wrote(self, name: str, output_tokens: int) -> None:
        now, before = self._engine.now, self._last.get(name)
        self._last[name] = now
        self._told.generation_tokens += 1
        if before is not None:
            self._told.steps += 1
            self._told.step_seconds += now - before
            self._told.steps_within_second += now - before <= 1
        super()._wrote(name, output_tokens)

    def _answered(self, run: Any, computed_tokens: int) -> None:
        self._last.pop(run.request, None)
        self._seen["prompt"] += len(run.tokens)
        self._seen["cached"] += max(0, len(run.tokens) - computed_tokens)
        self._seen["new"] += run.current.new_tokens if run.turn else len(run.tokens)
        super()._answered(run, computed_tokens)

    def _control(self) -> None:
        super()._control()
        while self._engine.now >= self.looks[-1].seconds + PERIOD_SECONDS:
            self._look()
        if self._engine.now > LONGEST_SECONDS:
            self._due.clear()
            self._runs.clear()

    def _look(self) -> None:
        engine, told, tallies = self._engine, self._told, self._engine.tallies
        inside = len(engine._scheduler.running)
        told.running, told.waiting = float(inside), float(len(engine.live) - inside)
        told.kv_usage, told.finished = engine.usage, float(self.result.requests)
        told.preemptions = float(
            tallies.preemptions + sum(live.request.num_preemptions for live in engine.live.values())
        )
        state = self._ledger.state() if self._ledger else None
        seconds = self.looks[-1].seconds + PERIOD_SECONDS if self.looks else 0.0
        look = Look(
            seconds,
            replace(told, step_seconds=round(told.step_seconds, 4), kv_usage=round(told.kv_usage, 4)),
            recompute_share=round(self._recomputed(seconds), 4),
            leased=round(state.leased / state.leasable, 4) if state else None,
            gate_waiting=sum(state.waiting.values()) if state else 0,
        )
        self.looks.append(look)

    def _recomputed(self, now: float) -> float:
        seen, tallies = self._seen, self._engine.tallies
        then, prompt, cached, new, computed, spent = self._since
        tokens = tallies.computed_prompt_tokens - computed
        each = (tallies.prefill_seconds - spent) / tokens if tokens else 0.0
        self._since = (
            now, seen["prompt"], seen["cached"], seen["new"],
            tallies.computed_prompt_tokens, tallies.prefill_seconds,
        )  # fmt: skip
        if now <= then:
            return 0.0
        parts = (seen["prompt"] - prompt, seen["cached"] - cached, seen["new"] - new)
        return recompute_share(*parts, each, now - then)


def writers(count: int, base: int, output: int, apart: float = 0.0) -> tuple[tuple[float, Agent], ...]:
    """Agents with one long answer each, which begin so many seconds apart."""
    return tuple((place * apart, Agent(f"w{place}", base, (Turn(1, output, 0.0),))) for place in range(count))


def askers(count: int, every: float, prompt: int) -> tuple[tuple[float, Agent], ...]:
    """Agents that come one after another with a long prompt and a short answer."""
    return tuple(
        (every * (place + 1), Agent(f"p{place}", prompt, (Turn(1, 60, 0.0),))) for place in range(count)
    )


def talkers(count: int, turns: int) -> tuple[tuple[float, Agent], ...]:
    """Agents with small contexts and short answers, turn after turn."""
    turn = Turn(20, 200, 1.0)
    return tuple((0.0, Agent(f"t{place}", 500, (turn,) * turns)) for place in range(count))


def cases() -> Iterator[tuple[str, Case]]:
    """Each series by the name of its file."""
    busy = tuple((0.0, agent) for agent in OVERCOMMITTED.draw(1))
    yield "eviction-storm", Case("40 agents overcommit the pool 3.4 times; no gate", busy)
    few = tuple((0.0, agent) for agent in replace(OVERCOMMITTED, agents=10).draw(1))
    yield "agents-that-fit", Case("10 such agents, whose contexts the pool holds", few)
    yield (
        "slow-down-spiral",
        Case("30 streams whose contexts grow from 1,000 to 15,500 tokens", writers(30, 1000, 14_500)),
    )
    yield (
        "more-streams",
        Case("streams are added, each step takes longer, and more is written", writers(90, 4000, 3_000, 3.0)),
    )
    long = writers(8, 2000, 12_000) + askers(40, 8.0, 60_000)
    yield (
        "prefill-freeze",
        Case("a prompt of 60,000 tokens every 8 s, in one step", long, chunk_tokens=65_536),
    )
    yield "prefill-chunked", Case("the same prompts in chunks of 2,048 tokens", long)
    yield (
        "static-waste",
        Case(
            "30 agents ask for 32,768 tokens of output and write 200; strict leases",
            talkers(30, 16),
            Reserve.STRICT,
            blocks=12_000,
            limit_tokens=32_768,
        ),
    )
    yield (
        "expected-leases",
        Case(
            "the same agents; leases hold what they wrote before",
            talkers(30, 16),
            Reserve.EXPECTED,
            blocks=12_000,
            limit_tokens=32_768,
        ),
    )


def record(model: Path, case: Case) -> list[Look]:
    """The looks at one case."""
    engine = Engine(
        model,
        blocks=case.blocks,
        block_tokens=16,
        roofline=LLAMA_70B_ON_TWO_H100,
        chunk_tokens=case.chunk_tokens,
    )
    ledger = None
    if case.reserve is not None:
        policy = Policy(reserve=case.reserve, queue_limit=10**6, session_patience_seconds=math.inf)
        ledger = Ledger(Pool(case.blocks - 1, 16, watermark=0.02), policy)
    simulation = Recorded(engine, case, ledger)
    simulation.run()
    return simulation.looks


def main() -> None:
    """Write all series, or those that are named."""
    wanted = sys.argv[2:]
    for name, case in cases():
        if wanted and name not in wanted:
            continue
        looks = record(Path(sys.argv[1]), case)
        lines = [HEAD, f"# {case.told}.", *map(as_line, looks)]
        (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        sys.stderr.write(f"{name}: {len(looks)} looks\n")


if __name__ == "__main__":
    main()
