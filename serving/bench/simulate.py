"""Agents against vLLM's scheduler, with and without leases, on a clock of its own.

Run where vLLM is installed: ``python -m serving.bench.simulate --model DIR --policy default``. Prints one
JSON object a run.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from serving.admission import (
    Admitted,
    Ask,
    CapRule,
    Ledger,
    Policy,
    Pool,
    Reason,
    Reserve,
    SessionCap,
    StepTime,
    Window,
    recompute_share,
)
from serving.bench.scheduler import Engine
from serving.bench.workload import LIGHT, LLAMA_70B_ON_TWO_H100, OVERCOMMITTED, Agent, Turn, Workload

CONTROL_SECONDS = 5.0


@dataclass(slots=True)
class _Run:
    """An agent on its way through its turns."""

    agent: Agent
    number: int
    tokens: list[int]
    turn: int = 0
    asked_seconds: float = 0.0
    promised: bool = True

    @property
    def current(self) -> Turn:
        return self.agent.turns[self.turn]

    @property
    def request(self) -> str:
        return f"{self.agent.name}.{self.turn}"


@dataclass(slots=True)
class _Window:
    """Tokens since the last control."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    new_tokens: int = 0
    computed_tokens: int = 0
    prefill_seconds: float = 0.0
    began_seconds: float = 0.0


@dataclass(slots=True)
class Result:
    """What one run came to; see :meth:`as_dict` for the names."""

    seconds: float = 0.0
    new_tokens: int = 0
    first_token_seconds: list[float] = field(default_factory=list[float])
    wait_seconds: list[float] = field(default_factory=list[float])
    job_seconds: list[float] = field(default_factory=list[float])
    requests: int = 0
    shares: list[float] = field(default_factory=list[float])


class Simulation:
    """One workload against one engine, through a ledger or straight.

    Args:
        engine: made for this run.
        agents: all begin at time 0.
        limit_tokens: each request's own output limit.
        ledger: what admits; None for whatever vLLM does by itself.
        cap: caps live agents; None for no cap.
    """

    def __init__(
        self,
        engine: Engine,
        agents: list[Agent],
        limit_tokens: int,
        ledger: Ledger | None,
        cap: SessionCap | None,
    ) -> None:
        self.result = Result()
        self._engine = engine
        self._ledger = ledger
        self._cap = cap
        self._limit = limit_tokens
        self._runs: dict[str, _Run] = {}
        self._due: list[tuple[float, int, _Run]] = []
        self._window = _Window()
        for number, agent in enumerate(agents):
            tokens = [1_000_000 * (number + 1) + i for i in range(agent.base_tokens)]
            heapq.heappush(self._due, (0.0, number, _Run(agent, number, tokens)))
            self.result.new_tokens += agent.base_tokens

    def run(self) -> Result:
        """Until every agent has had its last turn."""
        engine = self._engine
        while self._due or self._runs:
            while self._due and self._due[0][0] <= engine.now:
                self._ask(heapq.heappop(self._due)[2])
            self._settle()
            if engine.running:
                for name, computed in engine.step(self._wrote):
                    self._answered(self._runs.pop(name), computed)
            else:
                self._skip()
            self._control()
        self.result.seconds = engine.now
        return self.result

    def _ask(self, run: _Run) -> None:
        turn = run.current
        first = len(run.tokens) + 1_000_000 * (run.number + 1)
        run.tokens += range(first, first + turn.new_tokens)
        run.asked_seconds = self._engine.now
        self.result.new_tokens += turn.new_tokens
        self._runs[run.request] = run
        if self._ledger is None:
            self._start(run, 0.0)
            return
        ask = Ask(run.request, run.agent.name, len(run.tokens), self._limit)
        refused = self._ledger.submit(ask, self._engine.now)
        if refused is not None:
            raise RuntimeError(f"{run.request} was refused: {refused.reason}")

    def _settle(self) -> None:
        if self._ledger is None:
            return
        for outcome in self._ledger.settle(self._engine.now):
            assert isinstance(outcome, Admitted), outcome
            run = self._runs[outcome.request_id]
            run.promised = outcome.resumed
            self._start(run, outcome.waited_seconds)

    def _start(self, run: _Run, waited_seconds: float) -> None:
        self.result.wait_seconds.append(waited_seconds)
        known = len(run.tokens) - run.current.new_tokens if run.turn else 0
        self._engine.submit(run.request, list(run.tokens), run.current.output_tokens, self._limit, known)

    def _wrote(self, name: str, output_tokens: int) -> None:
        if output_tokens == 1:
            self.result.first_token_seconds.append(self._engine.now - self._runs[name].asked_seconds)
        if self._ledger is not None:
            self._ledger.wrote(name, output_tokens)

    def _answered(self, run: _Run, computed_tokens: int) -> None:
        engine, turn, window = self._engine, run.current, self._window
        window.prompt_tokens += len(run.tokens)
        window.cached_tokens += max(0, len(run.tokens) - computed_tokens)
        window.new_tokens += turn.new_tokens if run.promised else len(run.tokens)
        self.result.requests += 1
        if self._ledger is not None:
            self._ledger.release(run.request, engine.now, output_tokens=turn.output_tokens)
        run.tokens += range(7, 7 + turn.output_tokens)
        run.turn += 1
        if run.turn < len(run.agent.turns):
            heapq.heappush(self._due, (engine.now + turn.pause_seconds, run.number, run))
        else:
            self.result.job_seconds.append(engine.now)

    def _skip(self) -> None:
        """Nothing runs: go on to whatever happens next."""
        moments = [self._due[0][0]] if self._due else []
        if self._ledger is not None:
            moments.append(self._ledger.next_change_seconds(self._engine.now))
        later = min(moments, default=math.inf)
        if math.isinf(later):
            raise RuntimeError("nothing runs and nothing will: the ledger is stuck")
        self._engine.now = max(self._engine.now, later)

    def _control(self) -> None:
        if self._ledger is None or self._cap is None:
            return
        window, tallies, now = self._window, self._engine.tallies, self._engine.now
        seconds = now - window.began_seconds
        if seconds < CONTROL_SECONDS:
            return
        computed = tallies.computed_prompt_tokens - window.computed_tokens
        spent = tallies.prefill_seconds - window.prefill_seconds
        state = self._ledger.state()
        told = Window(
            recompute_share=recompute_share(
                window.prompt_tokens,
                window.cached_tokens,
                window.new_tokens,
                spent / computed if computed else 0.0,
                seconds,
            ),
            preempted_share=0.0,
            session_share=state.session_blocks / state.leasable,
            sessions_wait=Reason.SESSIONS in state.waiting,
        )
        before = self._cap.share
        if self._cap.update(told) != before:
            self._ledger.set_session_share(self._cap.share, trim=self._cap.trim)
        self.result.shares.append(self._cap.share)
        self._window = _Window(
            computed_tokens=tallies.computed_prompt_tokens,
            prefill_seconds=tallies.prefill_seconds,
            began_seconds=now,
        )


POLICIES: dict[str, tuple[Policy | None, bool]] = {
    "default": (None, False),
    "strict": (Policy(reserve=Reserve.STRICT), False),
    "expected": (Policy(reserve=Reserve.EXPECTED), False),
    "strict+cap": (Policy(reserve=Reserve.STRICT), True),
    "expected+cap": (Policy(reserve=Reserve.EXPECTED), True),
    "default+tier": (None, False),
    "expected+cap+tier": (Policy(reserve=Reserve.EXPECTED), True),
}
"""Run leases, and whether live agents are capped, by name; ``+tier`` has a KV-cache tier in host memory."""

HOST_BYTES_PER_SECOND = 2 * 50e9
"""What two GPUs read from host memory at once: PCIe 5.0 x16 carries 63 GB/s each way, of which 80 % is taken
to be reached. Source: PCI Express Base Specification 5.0 (32 GT/s, 128b/130b, 16 lanes)."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One run's setting.

    Attributes:
        policy: a name of :data:`POLICIES`.
        workload: what agents are drawn from.
        seed: of the draw.
        blocks: the pool, the null block included.
        watermark: the part of it that is never leased.
        floor: tokens a second that each stream keeps; None for no floor.
    """

    policy: str
    workload: Workload
    seed: int
    blocks: int = 30_000
    watermark: float = 0.02
    floor: float | None = None


def simulate(model: Path, setting: Setting) -> dict[str, Any]:
    """One run, as a JSON object; seconds are the simulated node's."""
    engine = Engine(
        model,
        blocks=setting.blocks,
        block_tokens=16,
        roofline=LLAMA_70B_ON_TWO_H100,
        host_bytes_per_second=HOST_BYTES_PER_SECOND if setting.policy.endswith("+tier") else None,
    )
    rules, capped = POLICIES[setting.policy]
    ledger = None if rules is None else _ledger(rules, setting)
    cap = SessionCap(CapRule()) if capped else None
    agents = setting.workload.draw(setting.seed)
    result = Simulation(engine, agents, setting.workload.max_output_tokens, ledger, cap).run()
    peak = sum(agent.peak_tokens for agent in agents)
    return {
        "policy": setting.policy,
        "seed": setting.seed,
        "agents": len(agents),
        "overcommit": round(peak / (16 * (setting.blocks - 1)), 2),
        **_told(engine, result, ledger),
    }


def _ledger(rules: Policy, setting: Setting) -> Ledger:
    rules = replace(rules, queue_limit=10**6, session_patience_seconds=math.inf)
    ledger = Ledger(Pool(setting.blocks - 1, 16, watermark=setting.watermark), rules)
    if setting.floor is not None:
        node = LLAMA_70B_ON_TWO_H100
        step = StepTime.from_bandwidth(
            node.read_bytes, node.kv_bytes_per_token, node.bandwidth_bytes_per_second, 1.0
        )
        ledger.set_context_limit(step.context_limit_tokens(setting.floor))
    return ledger


def _told(engine: Engine, result: Result, ledger: Ledger | None) -> dict[str, Any]:
    tallies = engine.tallies
    return {
        "requests": result.requests,
        "seconds": round(result.seconds, 1),
        "output_tokens_per_second": round(tallies.output_tokens / result.seconds, 1),
        "preemptions": tallies.preemptions,
        "preempted_requests": tallies.preempted_requests,
        "recompute_factor": round(
            (tallies.computed_prompt_tokens + tallies.reloaded_prompt_tokens) / result.new_tokens, 2
        ),
        "mean_usage": round(tallies.usage_seconds / tallies.busy_seconds, 3),
        "first_token_p50_seconds": round(_quantile(result.first_token_seconds, 0.5), 2),
        "first_token_p99_seconds": round(_quantile(result.first_token_seconds, 0.99), 1),
        "longest_wait_seconds": round(max(result.wait_seconds), 1),
        "mean_job_seconds": round(sum(result.job_seconds) / len(result.job_seconds), 1),
        "overruns": ledger.counters.overruns if ledger else None,
        "session_breaks": ledger.counters.session_breaks if ledger else None,
        "shares": [round(share, 2) if math.isfinite(share) else None for share in result.shares[::6]],
    }


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m serving.bench.simulate")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--policy", choices=sorted(POLICIES), nargs="+", default=["default", "expected+cap"])
    parser.add_argument("--workload", choices=("overcommitted", "light"), default="overcommitted")
    parser.add_argument("--agents", type=int)
    parser.add_argument("--turns", type=int)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--blocks", type=int, default=30_000)
    parser.add_argument("--watermark", type=float, default=0.02)
    parser.add_argument("--floor", type=float)
    args = parser.parse_args()
    workload = OVERCOMMITTED if args.workload == "overcommitted" else LIGHT
    workload = replace(workload, agents=args.agents or workload.agents, turns=args.turns or workload.turns)
    for seed in args.seeds:
        for policy in args.policy:
            setting = Setting(policy, workload, seed, args.blocks, args.watermark, args.floor)
            told = {"workload": args.workload, **simulate(args.model, setting)}
            sys.stdout.write(json.dumps(told) + "\n")  # noqa: TID251  a program of its own
            sys.stdout.flush()  # noqa: TID251


if __name__ == "__main__":
    main()
