"""All predictors on the same runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from serving.forecast.predictors import LEARNED, PREDICTORS, Known, Prediction
from serving.forecast.runs import Run, split
from serving.forecast.scores import (
    Score,
    SignTest,
    Variation,
    mean_interval,
    score,
    sign_test,
    variation,
)
from serving.forecast.target import PEAK_TOKENS, Target

LEAST_RUNS: Final = 20
"""Runs under which a table would say nothing: three to test by."""

SIGNIFICANT: Final = 0.05


@dataclass(frozen=True)
class Row:
    """One predictor on the test runs.

    Attributes:
        predictor: B0, B1, B2, B3 or B5.
        score: on the test runs.
        mape_interval: 95 percent, by drawing prompts anew.
        against_mean: the sign test against B3, by each prompt's mean relative error.
    """

    predictor: str
    score: Score
    mape_interval: tuple[float, float]
    against_mean: SignTest


@dataclass(frozen=True)
class Table:
    """The result.

    Attributes:
        rows: by predictor.
        runs: trained on, held for choosing, tested on.
        variation: of the target in all runs, by group.
        recommended: the learned predictor that may be used; B3 where none beats it.
    """

    rows: tuple[Row, ...]
    runs: tuple[int, int, int]
    variation: Variation
    recommended: str


@dataclass(frozen=True)
class Judged:
    """One test run: what each predictor said of it, and what was true.

    Attributes:
        run, unit, group: names.
        truth: of the target.
        predictions: by predictor.
    """

    run: str
    unit: str
    group: str
    truth: float
    predictions: Mapping[str, Prediction]


def predict(
    runs: Sequence[Run], *, seed: str, limit_tokens: int | None = None, target: Target = PEAK_TOKENS
) -> tuple[Judged, ...]:
    """Splits runs, makes every predictor from the first part, and asks each about the last.

    Raises:
        ValueError: there are too few runs.
    """
    parts = split(runs, seed)
    if len(runs) < LEAST_RUNS or not parts.test:
        raise ValueError(
            f"{len(runs)} runs are too few; {LEAST_RUNS} are the least, in groups of four and more"
        )
    known = Known(parts.train, limit_tokens, target, parts.validation)
    made = {name: make(known) for name, make in PREDICTORS.items()}
    return tuple(
        Judged(
            run.name,
            run.unit,
            run.group,
            target.truth(run),
            {name: predictor(run) for name, predictor in made.items()},
        )
        for run in parts.test
    )


def judge(judged: Sequence[Judged], seed: str) -> tuple[Row, ...]:
    """Scores predictions, a row a predictor.

    Raises:
        ValueError: there are none.
    """
    truths = [entry.truth for entry in judged]
    errors = {name: _by_unit(judged, name) for name in PREDICTORS}
    means = {name: [sum(cluster) / len(cluster) for cluster in clusters] for name, clusters in errors.items()}
    return tuple(
        Row(
            name,
            score([entry.predictions[name] for entry in judged], truths),
            mean_interval(errors[name], seed),
            sign_test(means[name], means["B3"]),
        )
        for name in PREDICTORS
    )


def evaluate(
    runs: Sequence[Run], *, seed: str, limit_tokens: int | None = None, target: Target = PEAK_TOKENS
) -> Table:
    """Splits runs, makes every predictor from the first part and scores it on the last.

    Args:
        runs: of one model.
        seed: of the split.
        limit_tokens: the longest context that the engine takes, which bounds the worst case.
        target: what is forecast.

    Raises:
        ValueError: there are too few runs.
    """
    rows = judge(predict(runs, seed=seed, limit_tokens=limit_tokens, target=target), seed)
    parts = split(runs, seed)
    groups: dict[str, list[float]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(target.truth(run))
    sizes = (len(parts.train), len(parts.validation), len(parts.test))
    return Table(rows, sizes, variation(groups), recommended(rows))


def _by_unit(judged: Sequence[Judged], predictor: str) -> list[list[float]]:
    """Relative errors, by prompt."""
    clusters: dict[str, list[float]] = {}
    for entry in judged:
        error = abs(entry.predictions[predictor].point - entry.truth) / entry.truth
        clusters.setdefault(entry.unit, []).append(error)
    return [clusters[unit] for unit in sorted(clusters)]


def recommended(rows: Sequence[Row]) -> str:
    """The learned predictor with the least error among those that beat the constant mean in the sign test."""
    winners = [
        row
        for row in rows
        if row.predictor in LEARNED
        and row.against_mean.p is not None
        and row.against_mean.p < SIGNIFICANT
        and row.against_mean.better > row.against_mean.worse
    ]
    return min(winners, key=lambda row: row.score.mape).predictor if winners else "B3"
