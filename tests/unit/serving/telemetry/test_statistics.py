"""Exact intervals, held against another implementation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from serving.telemetry.statistics import clean_trials_needed, median_interval, proportion_bounds, quantile


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_clopper_and_pearsons(case: tuple[int, int]) -> None:
    events, trials = case
    theirs = binomtest(events, trials).proportion_ci(confidence_level=0.90, method="exact")
    low, high = proportion_bounds(events, trials)
    assert low == pytest.approx(theirs.low, abs=1e-9)
    assert high == pytest.approx(theirs.high, abs=1e-9)
    assert low <= events / trials <= high


def test_the_rule_of_three() -> None:
    assert clean_trials_needed(0.0005) == 5_990
    assert proportion_bounds(0, 5_990)[1] < 0.0005 < proportion_bounds(0, 5_989)[1]


def test_nothing_is_known_without_trials() -> None:
    assert proportion_bounds(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="2 events"):
        proportion_bounds(2, 1)


def test_a_quantile_is_a_value_that_was_seen() -> None:
    values = [4.0, 1.0, 3.0, 2.0]
    assert [quantile(values, part) for part in (0.0, 0.1, 0.5, 0.51, 1.0)] == [1, 1, 2, 3, 4]


def test_the_medians_interval_is_of_order_statistics() -> None:
    """For 10 values it is from the 2nd to the 9th: 1 - 2 (1 + 10) / 1024 = 97.9 %."""
    assert median_interval(range(1, 11)) == (2, 9)
    assert median_interval(range(5)) is None
    assert median_interval(range(6)) == (0, 5)
