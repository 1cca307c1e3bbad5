"""Samples, the velocity line and the cap on live agents."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.admission import CapRule, History, Sample, SessionCap, StepFit, StepTime, Window, recompute_share

TOKENS = st.lists(st.integers(0, 5000), min_size=1, max_size=60)


@given(TOKENS, st.integers(1, 5000))
def test_moments_are_those_of_the_cut_values(values: list[int], limit: int) -> None:
    sample = Sample()
    for value in values:
        sample.add(value)
    cut = [min(value, limit) for value in values]
    moments = sample.moments(limit)
    assert moments is not None
    assert moments == pytest.approx((statistics.fmean(cut), statistics.pvariance(cut)))


@given(TOKENS, st.integers(1, 20))
def test_only_the_last_values_count(values: list[int], size: int) -> None:
    sample = Sample(size)
    for value in values:
        sample.add(value)
    kept = sorted(values[-size:])
    assert len(sample) == len(kept)
    assert sample.quantile(0.0) == kept[0]
    assert sample.quantile(1.0) == kept[-1]
    assert sample.quantile(0.5) == kept[len(kept) // 2]


def test_a_class_speaks_for_itself_once_it_has_enough() -> None:
    history = History(enough=3)
    assert history.output("coder", 500) == (500.0, 0.0)
    for _ in range(3):
        history.wrote("other", 100)
    assert history.output("coder", 500) == (100.0, 0.0)
    for _ in range(3):
        history.wrote("coder", 300)
    assert history.output("coder", 500) == (300.0, 0.0)
    assert history.output("coder", 200) == (200.0, 0.0)
    assert history.peak_tokens("coder", 0.5) == 0
    assert history.idle_seconds("coder", 0.9) is None


def test_the_velocity_limit_of_a_dense_70b_model_on_eight_gpus() -> None:
    # Eight H100 at 3.35e12 B/s, 65 % reached, 70.55e9 B of FP8 weights, 163,840 B a token:
    # (0.65 * 26.8e12 / 30 - 70.55e9) / 163,840 = 3.11 million tokens for 30 tok/s.
    step = StepTime.from_bandwidth(70.55e9, 163_840, 8 * 3.35e12, 0.65)
    assert step.context_limit_tokens(30.0) == pytest.approx(3.11e6, rel=0.005)
    assert step.context_limit_tokens(50.0) == pytest.approx(1.70e6, rel=0.005)
    assert step.context_limit_tokens(10_000.0) == 0
    assert step.context_limit_tokens(30.0, tokens_per_step=2.0) > 2 * step.context_limit_tokens(30.0)


def test_the_line_is_found_and_follows_a_change() -> None:
    fit = StepFit(memory=0.9)
    assert fit.line() is None
    fit.observe(1000, 0.02)
    assert fit.line() is None
    for tokens in (1000, 50_000, 200_000, 80_000) * 5:
        fit.observe(tokens, 0.01 + 1e-7 * tokens)
    line = fit.line()
    assert line is not None
    assert (line.base_seconds, line.seconds_per_token) == pytest.approx((0.0105, 1e-7), rel=0.1)
    for tokens in (1000, 50_000, 200_000, 80_000) * 30:
        fit.observe(tokens, 0.03 + 2e-7 * tokens)
    line = fit.line()
    assert line is not None
    assert (line.base_seconds, line.seconds_per_token) == pytest.approx((0.03, 2e-7), rel=0.01)


def test_a_prior_speaks_first_and_then_gives_way() -> None:
    fit = StepFit(StepTime(0.02, 1e-7))
    line = fit.line()
    assert line is not None
    assert (line.base_seconds, line.seconds_per_token) == pytest.approx((0.02, 1e-7))
    for tokens in (10_000, 200_000) * 200:
        fit.observe(tokens, 0.01 + 3e-7 * tokens)
    line = fit.line()
    assert line is not None
    assert line.seconds_per_token == pytest.approx(3e-7, rel=0.01)


def test_a_light_node_is_never_capped() -> None:
    cap = SessionCap()
    for share in (0.1, 3.0, 10.0):
        assert cap.update(Window(0.05, 0.0, share, sessions_wait=True)) == math.inf


def test_the_cap_starts_at_what_is_live_falls_and_rises() -> None:
    cap = SessionCap(CapRule(fall=0.8, rise=0.04, near=0.9, hold=2, least=0.5, release=4.0))
    assert cap.update(Window(0.4, 0.0, 3.0, sessions_wait=False)) == pytest.approx(2.4)
    assert cap.trim
    for _ in range(2):  # what began before the fall tells of then
        assert cap.update(Window(0.9, 0.0, 2.5, sessions_wait=True)) == pytest.approx(2.4)
        assert not cap.trim
    assert cap.update(Window(0.0, 0.01, 2.5, sessions_wait=True)) == pytest.approx(2.0)
    assert not cap.trim  # nothing severe: only new agents wait
    for _ in range(2):
        cap.update(Window(0.0, 0.0, 2.0, sessions_wait=True))
    assert cap.update(Window(0.05, 0.0, 2.0, sessions_wait=True)) == pytest.approx(2.0)
    assert cap.update(Window(0.0, 0.0, 2.0, sessions_wait=False)) == pytest.approx(2.0)
    assert cap.update(Window(0.0, 0.0, 2.0, sessions_wait=True)) == pytest.approx(2.04)
    for _ in range(6):
        cap.update(Window(0.0, 0.0, 2.0, sessions_wait=True))
    assert cap.update(Window(0.0, 0.0, 2.0, sessions_wait=True)) == pytest.approx(2.28 + 0.01)  # near 2.5
    for _ in range(50):
        cap.update(Window(1.0, 0.0, 0.4, sessions_wait=True))
    assert cap.share == 0.5
    for _ in range(500):
        cap.update(Window(0.0, 0.0, 1.0, sessions_wait=True))
    assert cap.share == math.inf


def test_the_recompute_share_counts_only_what_was_computed_before() -> None:
    # 100,000 prompt tokens, 60,000 cached, 10,000 new: 30,000 computed again at 0.1 ms each in 10 s.
    assert recompute_share(100_000, 60_000, 10_000, 1e-4, 10.0) == pytest.approx(0.3)
    assert recompute_share(100_000, 99_000, 10_000, 1e-4, 10.0) == 0.0
    assert recompute_share(10**9, 0, 0, 1e-4, 10.0) == 1.0
    assert recompute_share(10, 0, 0, 1.0, 0.0) == 0.0
