"""What the simulated runs came to, as a Markdown table; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Run = Mapping[str, Any]
"""One line of ``python -m serving.bench.simulate``."""

BASE: Final = "default"
COLUMNS: Final = (
    ("output_tokens_per_second", "tok/s", 1),
    ("recompute_factor", "recomputed", 2),
    ("first_token_p50_seconds", "first token p50 s", 1),
    ("first_token_p99_seconds", "p99 s", 1),
    ("longest_wait_seconds", "longest wait s", 1),
    ("mean_job_seconds", "mean job s", 0),
    ("mean_usage", "pool in use", 2),
)


def table(runs: Iterable[Run]) -> str:
    """A row a policy: means over its seeds, and its speed against vLLM's own on the seeds both ran."""
    by_policy: dict[str, list[Run]] = {}
    for run in runs:
        by_policy.setdefault(str(run["policy"]), []).append(run)
    names = ["policy", "seeds", "requests", "preempted", "95 % bound", *(name for _, name, _ in COLUMNS)]
    lines = ["| " + " | ".join([*names, "against vLLM alone"]) + " |", "|" + " --- |" * (len(names) + 1)]
    base = {run["seed"]: run for run in by_policy.get(BASE, [])}
    lines += [_row(policy, policy_runs, base) for policy, policy_runs in by_policy.items()]
    return "\n".join(lines) + "\n"


def preempted_bound(preempted: int, requests: int) -> float:
    """The 95 % upper bound of the share of requests that are preempted.

    Source: Clopper and Pearson 1934, one-sided; solved by bisection. With none preempted it is about
    3/requests, the rule of three.
    """
    low, high = preempted / requests, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_most(preempted, requests, middle) > 0.05:
            low = middle
        else:
            high = middle
    return high


def _row(policy: str, runs: Sequence[Run], base: Mapping[int, Run]) -> str:
    requests = sum(run["requests"] for run in runs)
    preempted = sum(run["preempted_requests"] for run in runs)
    cells = [
        policy,
        str(len(runs)),
        f"{requests:,}",
        str(preempted),
        f"{preempted_bound(preempted, requests):.2%}",
    ]
    cells += [f"{sum(run[key] for run in runs) / len(runs):.{digits}f}" for key, _, digits in COLUMNS]
    return "| " + " | ".join([*cells, _against(runs, base)]) + " |"


def _against(runs: Sequence[Run], base: Mapping[int, Run]) -> str:
    key = "output_tokens_per_second"
    ratios = [run[key] / base[run["seed"]][key] for run in runs if run["seed"] in base]
    if not ratios:
        return "not run"
    mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
    return f"{mean:.2f}x ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} seeds)"


def _at_most(successes: int, trials: int, part: float) -> float:
    """The chance of at most so many successes."""
    if part >= 1.0:
        return 0.0 if successes < trials else 1.0
    total = 0.0
    for count in range(successes + 1):
        log = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
        log += (count * math.log(part) if count else 0.0) + (trials - count) * math.log1p(-part)
        total += math.exp(log)
    return total
