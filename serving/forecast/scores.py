"""How good predictions were, and what varies at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from serving.forecast.predictors import Prediction


@dataclass(frozen=True)
class Score:
    """Of one predictor over runs.

    Attributes:
        mape: mean of |point - truth| / truth.
        mae_tokens: mean of |point - truth|.
        undercoverage: share of runs whose truth exceeds the upper bound.
        over_allocation: tokens that upper bounds hold in vain, over tokens needed.
    """

    mape: float
    mae_tokens: float
    undercoverage: float
    over_allocation: float


def score(predictions: Sequence[Prediction], truths: Sequence[float]) -> Score:
    """Scores predictions.

    Raises:
        ValueError: there are none, their number is not that of the truths, or a truth is not positive.
    """
    if not truths or min(truths) <= 0:
        raise ValueError("truths must be positive, and one at least")
    pairs = list(zip(predictions, truths, strict=True))
    errors = [abs(prediction.point - truth) for prediction, truth in pairs]
    wasted = sum(max(0.0, prediction.upper - truth) for prediction, truth in pairs)
    return Score(
        mape=sum(error / truth for error, truth in zip(errors, truths, strict=True)) / len(pairs),
        mae_tokens=sum(errors) / len(pairs),
        undercoverage=sum(truth > prediction.upper for prediction, truth in pairs) / len(pairs),
        over_allocation=wasted / sum(truths),
    )


@dataclass(frozen=True)
class SignTest:
    """Of two predictors on the same runs.

    Attributes:
        better, worse: runs on which the first had the smaller, the larger error.
        ties: runs on which they had the same; they are dropped.
        p: exact, two-sided; None where every pair ties, because nothing was compared then.
    """

    better: int
    worse: int
    ties: int
    p: float | None


def sign_test(first: Sequence[float], second: Sequence[float]) -> SignTest:
    """The paired sign test of two lists of errors, exact: the binomial with one half.

    Source: Conover, Practical Nonparametric Statistics, 3.4.
    """
    pairs = list(zip(first, second, strict=True))
    better = sum(a < b for a, b in pairs)
    worse = sum(a > b for a, b in pairs)
    trials = better + worse
    if not trials:
        return SignTest(0, 0, len(pairs), None)
    tail = sum(math.comb(trials, k) for k in range(min(better, worse) + 1))
    # Divided as whole numbers, for which no power of two is too large.
    return SignTest(better, worse, len(pairs) - trials, min(1.0, 2 * tail / 2**trials))


@dataclass(frozen=True)
class Variation:
    """What varies, and how much of it a grouping explains.

    Attributes:
        mean: of the values.
        cv: standard deviation over mean; 0 is a constant, which any predictor forecasts.
        eta_squared: between-group over total sum of squares; None where nothing varies.
        overdispersion: variance over mean; 1 for counts of independent events.
    """

    mean: float
    cv: float
    eta_squared: float | None
    overdispersion: float


def variation(values: Mapping[str, Sequence[float]]) -> Variation:
    """Decomposes values by group.

    Raises:
        ValueError: there are fewer than two values, or their mean is not positive.
    """
    every = [value for members in values.values() for value in members]
    mean = math.fsum(every) / len(every) if len(every) > 1 else 0.0
    if mean <= 0:
        raise ValueError("a decomposition takes two values or more, of a positive mean")
    total = math.fsum((value - mean) ** 2 for value in every)
    between = math.fsum(
        len(members) * (math.fsum(members) / len(members) - mean) ** 2
        for members in values.values()
        if members
    )
    variance = total / (len(every) - 1)
    explained = min(1.0, between / total) if total > 0 else None
    return Variation(mean, math.sqrt(variance) / mean, explained, variance / mean)
