"""Predictors of a run's peak context, each made from runs to learn from.

They are numbered as in arXiv 2608.15117. All but B5 know of a run only what is known before it begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from serving.forecast.context import Course
from serving.forecast.runs import Run

WIDTH: Final = 1.96
"""Residual standard deviations that the upper bound of a learned predictor lies above its point."""


class Prediction(NamedTuple):
    """Peak tokens of a run: the expected figure, and what should not be exceeded."""

    point: float
    upper: float


Predictor: TypeAlias = Callable[[Run], Prediction]


@dataclass(frozen=True)
class Known:
    """What predictors are made from.

    Attributes:
        train: runs to learn from; one at least.
        limit_tokens: the longest context that the engine takes.
    """

    train: Sequence[Run]
    limit_tokens: int | None = None


def worst_case(known: Known) -> Predictor:
    """B0: the closed form with the most steps, the longest answer and the longest tool return in each."""
    steps = max(run.steps for run in known.train)
    output = max(run.largest_output_tokens for run in known.train)
    tool = max(run.largest_tool_tokens for run in known.train)

    def predict(run: Run) -> Prediction:
        peak = Course(run.base_tokens, steps, steps * output, (steps - 1) * tool).peak_tokens
        bounded = peak if known.limit_tokens is None else min(peak, known.limit_tokens)
        return Prediction(bounded, bounded)

    return predict


def prompt_length(known: Known) -> Predictor:
    """B1: a straight line over the first prompt's length."""
    everything = {"": known.train}
    return _line(known.train, everything, lambda _: "")


def learned(known: Known) -> Predictor:
    """B2: linear regression on the first prompt's length and the kind of agent.

    Least squares with one slope and one intercept a group; a group that was not seen has all runs' line.
    """
    groups: dict[str, list[Run]] = {}
    for run in known.train:
        groups.setdefault(run.group, []).append(run)
    unseen = prompt_length(known)
    seen = _line(known.train, groups, lambda run: run.group)
    return lambda run: seen(run) if run.group in groups else unseen(run)


def constant_mean(known: Known) -> Predictor:
    """B3: the mean peak, whatever the run."""
    peaks = [run.peak_tokens for run in known.train]
    mean = sum(peaks) / len(peaks)
    spread = _deviation([peak - mean for peak in peaks], parameters=1)
    return lambda _: Prediction(mean, mean + WIDTH * spread)


def closed_form(_: Known) -> Predictor:
    """B5: the closed form given the run's true steps and expansion, without tools: a yardstick."""

    def predict(run: Run) -> Prediction:
        peak = Course(run.base_tokens, run.steps, run.expansion_tokens).peak_tokens
        return Prediction(peak, peak)

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


def _line(train: Sequence[Run], groups: Mapping[str, Sequence[Run]], key: Callable[[Run], str]) -> Predictor:
    """One slope, an intercept a group: deviations from the groups' means give the slope."""
    means = {
        name: (
            sum(run.base_tokens for run in members) / len(members),
            sum(run.peak_tokens for run in members) / len(members),
        )
        for name, members in groups.items()
    }
    across = along = 0.0
    for run in train:
        x, y = means[key(run)]
        across += (run.base_tokens - x) * (run.peak_tokens - y)
        along += (run.base_tokens - x) ** 2
    slope = across / along if along else 0.0

    def point(run: Run) -> float:
        x, y = means[key(run)]
        return y + slope * (run.base_tokens - x)

    spread = _deviation([run.peak_tokens - point(run) for run in train], parameters=len(groups) + 1)
    return lambda run: Prediction(point(run), point(run) + WIDTH * spread)


def _deviation(residuals: Sequence[float], *, parameters: int) -> float:
    free = max(1, len(residuals) - parameters)
    return math.sqrt(sum(residual**2 for residual in residuals) / free)
