"""When an engine that runs counts as hung."""

from __future__ import annotations

from serving.process.pulse import Patience, Pulse
from serving.telemetry import EngineSample, Scrape

PATIENCE = Patience(start_seconds=100, silent_seconds=30, hang_seconds=10, stall_seconds=20)


def page(iterations: float, running: float = 1.0) -> Scrape:
    return Scrape(engines={"0": EngineSample(iterations=iterations, running=running)})


def test_a_start_that_prints_has_until_its_deadline() -> None:
    pulse = Pulse(PATIENCE, 0.0)
    for now in range(0, 100, 20):
        pulse.printed(now)
        assert pulse.starting(now + 19, "loading weights") is None
    pulse.printed(90)
    cause = pulse.starting(100, "loading weights")
    assert cause and cause.kind == "hung" and not cause.lasting
    assert "not ready after 100 s, in phase 'loading weights'" in cause.message


def test_a_start_that_prints_nothing_ends_sooner() -> None:
    cause = Pulse(PATIENCE, 5.0).starting(35, "profiling")
    assert cause and "printed nothing for 30 s" in cause.message


def test_health_that_comes_back_counts_anew() -> None:
    pulse = Pulse(PATIENCE, 0.0)
    for now, healthy in ((0, True), (9, False), (11, True), (20, False)):
        assert pulse.serving(now, healthy=healthy, page=None) is None
    cause = pulse.serving(21, healthy=False, page=None)
    assert cause and "did not answer its health check for 10 s" in cause.message


def test_requests_without_a_step_are_a_hang() -> None:
    pulse = Pulse(PATIENCE, 0.0)
    still = page(7)
    for now in (0, 19):
        assert pulse.serving(now, healthy=True, page=still) is None
    cause = pulse.serving(20, healthy=True, page=still)
    assert cause and "made no step for 20 s" in cause.message


def test_steps_and_idleness_are_no_hang() -> None:
    pulse = Pulse(PATIENCE, 0.0)
    for step in range(10):
        assert pulse.serving(step * 15, healthy=True, page=page(step)) is None
    for now in range(150, 500, 15):
        assert pulse.serving(now, healthy=True, page=page(9, running=0.0)) is None
    assert pulse.serving(510, healthy=True, page=page(9)) is None
