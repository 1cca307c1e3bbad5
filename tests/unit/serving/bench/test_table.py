"""Means, ratios and bounds of simulated runs; and the workloads they ran."""

from __future__ import annotations

import pytest

from serving.bench.table import preempted_bound, table
from serving.bench.workload import LIGHT, LLAMA_70B_ON_TWO_H100, OVERCOMMITTED


def run(policy: str, seed: int, speed: float, preempted: int = 0) -> dict[str, object]:
    return {
        "policy": policy, "seed": seed, "requests": 480, "preempted_requests": preempted,
        "output_tokens_per_second": speed, "recompute_factor": 2.0, "first_token_p50_seconds": 1.0,
        "first_token_p99_seconds": 3.0,
        "longest_wait_seconds": 4.0, "mean_job_seconds": 5.0, "mean_usage": 0.5,
    }  # fmt: skip


def test_a_policy_is_held_against_vllm_alone_on_the_seeds_both_ran() -> None:
    runs = [
        run("default", 1, 100.0, 7),
        run("capped", 1, 150.0),
        run("capped", 2, 999.0),
        run("strict", 3, 1.0),
    ]
    rows = table(runs).splitlines()
    assert "1.50x (1.50 to 1.50, 1 seeds)" in rows[3]
    assert "| 960 | 0 | 0.31% |" in rows[3]
    assert rows[4].endswith("| not run |")
    assert "| 480 | 7 |" in rows[2]


@pytest.mark.parametrize(
    ("preempted", "requests", "bound"),
    [(0, 6000, 0.000499), (0, 300, 0.00994), (7, 480, 0.0272), (10, 10, 1.0)],
)
def test_the_bound_is_clopper_and_pearsons(preempted: int, requests: int, bound: float) -> None:
    assert preempted_bound(preempted, requests) == pytest.approx(bound, rel=0.01)


def test_workloads_are_the_same_for_the_same_seed_and_as_large_as_said() -> None:
    assert OVERCOMMITTED.draw(1) == OVERCOMMITTED.draw(1)
    assert OVERCOMMITTED.draw(1) != OVERCOMMITTED.draw(2)
    peaks = [agent.peak_tokens for seed in range(20) for agent in OVERCOMMITTED.draw(seed)]
    assert sum(peaks) / len(peaks) == pytest.approx(41_000, rel=0.05)
    assert 40 * sum(peaks) / len(peaks) / 480_000 == pytest.approx(3.4, rel=0.06)
    assert len(LIGHT.draw(1)) == 8
    outputs = sorted(
        turn.output_tokens for seed in range(20) for a in OVERCOMMITTED.draw(seed) for turn in a.turns
    )
    assert outputs[len(outputs) // 2] == pytest.approx(444, rel=0.05)


def test_a_step_takes_what_reading_or_computing_takes() -> None:
    node = LLAMA_70B_ON_TWO_H100
    # 70.55e9 B of weights and 480,000 tokens of 163,840 B at 5.36e12 B/s: 27.8 ms.
    assert node.step_seconds(10, 480_000) == pytest.approx(0.0278, rel=0.01)
    # 2,048 tokens of 141.1e9 operations at 1.979e15 a second: 146 ms.
    assert node.step_seconds(2048, 0) == pytest.approx(0.146, rel=0.01)
