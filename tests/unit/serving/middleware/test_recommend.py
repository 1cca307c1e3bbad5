"""Which mode is recommended after what."""

from __future__ import annotations

from typing import Any

import pytest

from serving.middleware.recommend import recommend


def status(
    *,
    requests: int,
    delayed: int = 0,
    overruns: int = 0,
    preemptions: int = 0,
    recompute: float | None = None,
) -> dict[str, Any]:
    rank = {
        "overruns": overruns,
        "shadow_delayed": {"memory": delayed} if delayed else {},
        "shadow_denied": {"deadline": 1} if delayed else {},
    }
    engine = {"0": {"preemptions": preemptions}}
    outcomes = {"answered": requests - 1, "left": 1}
    return {"outcomes": outcomes, "ranks": {"0": rank}, "engine": engine, "recompute_share": recompute}


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (status(requests=10), "too early to say: 10 of 200 requests seen"),
        (status(requests=500), "leave it in shadow: nothing of 500 requests would have waited"),
        (
            status(requests=500, delayed=20, recompute=0.02),
            "leave it in shadow: 20 of 500 requests would have waited, yet the engine preempted nothing",
        ),
        (
            status(requests=500, delayed=20, preemptions=9, recompute=0.3),
            "on, expected: 9 preemptions since the engine started, 30% of the time recomputing;"
            " 20 of 500 requests would have waited",
        ),
        (
            status(requests=500, overruns=40, preemptions=9),
            "on, strict: 9 preemptions since the engine started, 0% of the time recomputing;"
            " 40 of 500 requests wrote more than expected of them",
        ),
    ],
)
def test_recommendations(seen: dict[str, Any], told: str) -> None:
    assert str(recommend(seen)) == told
