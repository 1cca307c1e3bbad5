"""Comparisons: paired by cell and repeat, with Student's interval."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from serving.bench.compare import by_factor, compared, ratio_interval, student_t, table
from serving.bench.results import Loaded

HEADER: dict[str, Any] = {"benchmark": "decode", "settings": {"scale": {"repeats": 3}, "trace": None}}


def measures(**by_cell: list[float]) -> list[dict[str, Any]]:
    return [
        {"kind": "measure", "cell": {"kv": kv}, "repeat": repeat, "figures": {"velocity": value}}
        for kv, values in by_cell.items()
        for repeat, value in enumerate(values)
    ]


def loaded(name: str, header: dict[str, Any] | None = None, **by_cell: list[float]) -> Loaded:
    return Loaded(header or HEADER, measures(**by_cell), Path(name) / "results.jsonl")


@given(st.floats(0.5, 0.999), st.integers(1, 60))
def test_the_quantile_is_students(confidence: float, degrees: int) -> None:
    theirs = stats.t.ppf((1 + confidence) / 2, degrees)
    assert student_t(confidence, degrees) == pytest.approx(theirs, rel=1e-6)


def test_the_interval_is_that_of_paired_logarithms() -> None:
    ratios = [1.1, 1.2, 1.15]
    between = ratio_interval(ratios)
    logs = [math.log(ratio) for ratio in ratios]
    low, high = stats.t.interval(0.95, 2, loc=sum(logs) / 3, scale=stats.sem(logs))
    assert between == pytest.approx((math.exp(low), math.exp(high)))
    assert ratio_interval([1.0]) is None


def test_each_cell_is_compared_with_itself() -> None:
    base = loaded("a", **{"16bit": [10, 20, 30], "fp8": [10, 10, 10]})
    other = loaded("b", **{"16bit": [20, 40, 61], "fp8": [11, 9, 10]})
    higher, same = compared(base, other, "velocity")
    assert (higher.cell, higher.pairs, higher.verdict) == ("kv 16bit", 3, "higher")
    assert higher.ratio == pytest.approx(2.01, abs=0.01)
    assert same.verdict == "no difference shown"
    assert "2.011" in table([higher], "velocity").text()


def test_repeats_that_one_lacks_are_left_out() -> None:
    (pair,) = compared(loaded("a", fp8=[10, 20]), loaded("b", fp8=[5]), "velocity")
    assert (pair.pairs, pair.ratio, pair.verdict) == (1, pytest.approx(0.5), "one pair: no interval")


def test_factors_within_one_result() -> None:
    (pair,) = by_factor(loaded("a", **{"16bit": [10, 11], "fp8": [20, 22]}), "kv", "velocity")
    assert (pair.base, pair.other, pair.ratio) == ("kv 16bit", "kv fp8", pytest.approx(2))
    with pytest.raises(ValueError, match="depth tells no cells apart; factors are kv"):
        by_factor(loaded("a", fp8=[1.0]), "depth", "velocity")


def test_other_prompts_are_not_compared() -> None:
    other = {**HEADER, "settings": {"scale": {"repeats": 9}, "trace": None}}
    with pytest.raises(ValueError, match="scale differs"):
        compared(loaded("a", fp8=[1.0]), loaded("b", other, fp8=[1.0]), "velocity")
    with pytest.raises(ValueError, match="one result is of decode"):
        compared(loaded("a", fp8=[1.0]), loaded("b", {**HEADER, "benchmark": "gate"}, fp8=[1.0]), "velocity")
    with pytest.raises(ValueError, match="no cell has velocity in both"):
        compared(loaded("a", fp8=[1.0]), loaded("b", **{"16bit": [1.0]}), "velocity")
