"""Predictors of what a run needs at its peak, each made from runs to learn from.

They are numbered as in arXiv 2608.15117. All but B5 know of a run only what is known before it begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from serving.forecast.context import Course
from serving.forecast.regression import ridge
from serving.forecast.runs import Run
from serving.forecast.target import PEAK_TOKENS, Target

WIDTH: Final = 1.96
"""Residual standard deviations that the upper bound of a learned predictor lies above its point."""


class Prediction(NamedTuple):
    """The target of a run: the expected figure, and what should not be exceeded."""

    point: float
    upper: float


Predictor: TypeAlias = Callable[[Run], Prediction]


@dataclass(frozen=True)
class Known:
    """What predictors are made from.

    Attributes:
        train: runs to learn from; one at least.
        limit_tokens: the longest context that the engine takes.
        target: what is forecast.
        validation: runs to choose by.
    """

    train: Sequence[Run]
    limit_tokens: int | None = None
    target: Target = PEAK_TOKENS
    validation: Sequence[Run] = ()


def worst_case(known: Known) -> Predictor:
    """B0: the closed form with the most steps, the longest answer and the longest tool return in each."""
    steps = max(run.steps for run in known.train)
    output = max(run.largest_output_tokens for run in known.train)
    tool = max(run.largest_tool_tokens for run in known.train)

    def predict(run: Run) -> Prediction:
        peak = Course(run.base_tokens, steps, steps * output, (steps - 1) * tool).peak_tokens
        figure = known.target.of_tokens(peak if known.limit_tokens is None else min(peak, known.limit_tokens))
        return Prediction(figure, figure)

    return predict


def prompt_length(known: Known) -> Predictor:
    """B1: a straight line over the first prompt's length."""
    everything = {"": known.train}
    return _line(known, everything, lambda _: "")


def learned(known: Known) -> Predictor:
    """B2: linear regression on what is known beforehand.

    Where the runs have features of their prompts: ridge regression on these and the prompt's length, with the
    penalty that errs least on the validation runs. Else least squares on the first prompt's length with one
    slope and one intercept a group; a group that was not seen has all runs' line.
    """
    if all(run.features for run in known.train):
        return _on_features(known)
    groups: dict[str, list[Run]] = {}
    for run in known.train:
        groups.setdefault(run.group, []).append(run)
    unseen = prompt_length(known)
    seen = _line(known, groups, lambda run: run.group)
    return lambda run: seen(run) if run.group in groups else unseen(run)


def constant_mean(known: Known) -> Predictor:
    """B3: the mean peak, whatever the run."""
    truths = [known.target.truth(run) for run in known.train]
    mean = sum(truths) / len(truths)
    spread = _deviation([truth - mean for truth in truths], parameters=1)
    return lambda _: Prediction(mean, mean + WIDTH * spread)


def closed_form(known: Known) -> Predictor:
    """B5: the closed form given the run's true steps and expansion, without tools: a yardstick."""

    def predict(run: Run) -> Prediction:
        figure = known.target.of_tokens(Course(run.base_tokens, run.steps, run.expansion_tokens).peak_tokens)
        return Prediction(figure, figure)

    return predict


PREDICTORS: Final[Mapping[str, Callable[[Known], Predictor]]] = {
    "B0": worst_case,
    "B1": prompt_length,
    "B2": learned,
    "B3": constant_mean,
    "B5": closed_form,
}

LEARNED: Final = ("B1", "B2")
"""Those that must beat the constant mean before anything relies on them."""


PENALTIES: Final = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Of which B2 takes the one that errs least on the validation runs."""


def _on_features(known: Known) -> Predictor:
    truth = known.target.truth

    def row(run: Run) -> list[float]:
        return [float(run.base_tokens), *run.features]

    rows, values = [row(run) for run in known.train], [truth(run) for run in known.train]
    functions = [ridge(rows, values, penalty) for penalty in PENALTIES]
    judges = known.validation or known.train
    errors = [math.fsum(abs(found(row(run)) - truth(run)) for run in judges) for found in functions]
    best = functions[errors.index(min(errors))]
    residuals = [value - best(known_row) for known_row, value in zip(rows, values, strict=True)]
    spread = _deviation(residuals, parameters=len(rows[0]) + 1)
    return lambda run: Prediction(best(row(run)), best(row(run)) + WIDTH * spread)


def _line(known: Known, groups: Mapping[str, Sequence[Run]], key: Callable[[Run], str]) -> Predictor:
    """One slope, an intercept a group: deviations from the groups' means give the slope."""
    truth = known.target.truth
    means = {
        name: (
            sum(run.base_tokens for run in members) / len(members),
            sum(truth(run) for run in members) / len(members),
        )
        for name, members in groups.items()
    }
    across = along = 0.0
    for run in known.train:
        x, y = means[key(run)]
        across += (run.base_tokens - x) * (truth(run) - y)
        along += (run.base_tokens - x) ** 2
    slope = across / along if along else 0.0

    def point(run: Run) -> float:
        x, y = means[key(run)]
        return y + slope * (run.base_tokens - x)

    spread = _deviation([truth(run) - point(run) for run in known.train], parameters=len(groups) + 1)
    return lambda run: Prediction(point(run), point(run) + WIDTH * spread)


def _deviation(residuals: Sequence[float], *, parameters: int) -> float:
    free = max(1, len(residuals) - parameters)
    return math.sqrt(sum(residual**2 for residual in residuals) / free)
