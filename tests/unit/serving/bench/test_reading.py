"""Velocities from what the load generator tells, where they are known beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from serving.bench.reading import answers, figures, together
from serving.telemetry import EngineSample


def told(streams: list[tuple[float, float, int, float]], tokens_an_event: int = 1) -> dict[str, Any]:
    """Streams of (start, first token after, events, seconds an event)."""
    return {
        "start_times": [100 + start for start, *_ in streams],
        "ttfts": [first for _, first, _, _ in streams],
        "itls": [[gap] * events for _, _, events, gap in streams],
        "latencies": [first + events * gap for _, first, events, gap in streams],
        "input_lens": [1000] * len(streams),
        "output_lens": [1 + events * tokens_an_event for _, _, events, _ in streams],
        "errors": [""] * len(streams),
        "duration": 10.0,
    }


def test_a_steady_stream() -> None:
    read = figures(told([(0, 1.0, 40, 0.05)] * 2), None)
    assert read["velocity"] == pytest.approx(20)
    assert read["velocity_whole"] == pytest.approx(20)
    assert read["throughput"] == pytest.approx(82 / 10)
    assert read["together"] == 1


def test_what_the_others_prompts_cost_is_not_in_it() -> None:
    late = told([(0, 1.0, 60, 0.05), (0, 2.5, 40, 0.05)])
    late["itls"][0][:10] = [0.15] * 10  # while the other's prompt is computed
    late["latencies"][0] += 1.0
    read = figures(late, None)
    assert read["velocity"] == pytest.approx(20, rel=0.02)
    assert read["velocity_whole"] is not None
    assert read["velocity_whole"] < 16


def test_tokens_are_counted_and_not_events() -> None:
    assert figures(told([(0, 1.0, 40, 0.05)], tokens_an_event=3), None)["velocity"] == pytest.approx(60)


def test_streams_that_never_decode_together_have_no_such_velocity() -> None:
    assert together(answers(told([(0, 1.0, 20, 0.05), (5, 1.0, 20, 0.05)]))) is None


def test_a_burst_is_no_velocity() -> None:
    """A client that lagged reads at once what the engine wrote in two seconds."""
    lagged = told([(0, 1.0, 40, 0.05), (0, 3.0, 40, 0.000_004)])
    read = figures(lagged, EngineSample(steps=80, step_seconds=4.0))
    assert (read["bursts"], read["velocity"]) == (1, pytest.approx(20))


def test_a_request_that_failed_is_counted_as_that() -> None:
    failed = told([(0, 1.0, 40, 0.05), (0, 0.0, 0, 0.0)])
    failed["errors"][1] = "Traceback ...\nValueError: too long\n"
    failed["output_lens"][1] = 0
    read = figures(failed, None)
    assert (read["failed"], read["requests"]) == (1, 2)
    assert answers(failed)[1].error == "ValueError: too long"
