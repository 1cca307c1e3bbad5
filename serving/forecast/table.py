"""All predictors on the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from serving.forecast.predictors import LEARNED, PREDICTORS, Known
from serving.forecast.runs import Run, split
from serving.forecast.scores import Score, SignTest, Variation, score, sign_test, variation

LEAST_RUNS: Final = 20
"""Runs under which a table would say nothing: three to test by."""

SIGNIFICANT: Final = 0.05


@dataclass(frozen=True)
class Row:
    """One predictor on the test runs.

    Attributes:
        predictor: B0, B1, B2, B3 or B5.
        score: on the test runs.
        against_mean: the sign test against B3, by relative error.
    """

    predictor: str
    score: Score
    against_mean: SignTest


@dataclass(frozen=True)
class Table:
    """The result.

    Attributes:
        rows: by predictor.
        runs: trained on, held for choosing, tested on.
        variation: of the peaks of all runs, by group.
        recommended: the learned predictor that may be used; B3 where none beats it.
    """

    rows: tuple[Row, ...]
    runs: tuple[int, int, int]
    variation: Variation
    recommended: str


def evaluate(runs: Sequence[Run], *, seed: str, limit_tokens: int | None = None) -> Table:
    """Splits runs, makes every predictor from the first part and scores it on the last.

    Args:
        runs: of one model.
        seed: of the split.
        limit_tokens: the longest context that the engine takes, which bounds the worst case.

    Raises:
        ValueError: there are too few runs.
    """
    parts = split(runs, seed)
    if len(runs) < LEAST_RUNS or not parts.test:
        raise ValueError(
            f"{len(runs)} runs are too few; {LEAST_RUNS} are the least, in groups of four and more"
        )
    truths = [float(run.peak_tokens) for run in parts.test]
    known = Known(parts.train, limit_tokens)
    predicted = {name: [make(known)(run) for run in parts.test] for name, make in PREDICTORS.items()}
    relative = {
        name: [abs(p.point - truth) / truth for p, truth in zip(found, truths, strict=True)]
        for name, found in predicted.items()
    }
    rows = tuple(
        Row(name, score(found, truths), sign_test(relative[name], relative["B3"]))
        for name, found in predicted.items()
    )
    groups: dict[str, list[float]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(float(run.peak_tokens))
    sizes = (len(parts.train), len(parts.validation), len(parts.test))
    return Table(rows, sizes, variation(groups), _recommended(rows))


def _recommended(rows: Sequence[Row]) -> str:
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
