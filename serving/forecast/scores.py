"""How good predictions were, and what varies at all."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from serving.forecast.predictors import Prediction


@dataclass(frozen=True)
class Score:
    """Of one predictor over runs.

    Attributes:
        mape: mean of |point - truth| / truth.
        mae: mean of |point - truth|.
        undercoverage: share of runs whose truth exceeds the upper bound.
        over_allocation: what upper bounds hold in vain, over what was needed.
    """

    mape: float
    mae: float
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
        mae=sum(errors) / len(pairs),
        undercoverage=sum(truth > prediction.upper for prediction, truth in pairs) / len(pairs),
        over_allocation=wasted / sum(truths),
    )


def mean_interval(
    clusters: Sequence[Sequence[float]], seed: str, *, draws: int = 2000, confidence: float = 0.95
) -> tuple[float, float]:
    """Between what the mean over all values lies, by drawing whole clusters with replacement.

    Values of one cluster, as runs of one prompt, are not independent. The draws come from a hash, so that
    they are the same everywhere. Source: Efron, Tibshirani, An introduction to the bootstrap, 13.3.

    Raises:
        ValueError: there are no clusters, or one is empty.
    """
    if not clusters or not all(clusters):
        raise ValueError("an interval takes clusters of one value at least")
    sums = [(math.fsum(cluster), len(cluster)) for cluster in clusters]
    means: list[float] = []
    for draw in range(draws):
        chosen = [sums[number] for number in _drawn(f"{seed}/{draw}", len(sums))]
        means.append(math.fsum(total for total, _ in chosen) / sum(count for _, count in chosen))
    means.sort()
    beyond = int(draws * (1 - confidence) / 2)
    return means[beyond], means[draws - 1 - beyond]


def _drawn(seed: str, count: int) -> list[int]:
    """As many numbers under ``count``, each by 16 hashed bytes, whose remainder is even enough."""
    stream = hashlib.shake_128(seed.encode("utf-8", "surrogatepass")).digest(16 * count)
    return [int.from_bytes(stream[at : at + 16], "big") % count for at in range(0, len(stream), 16)]


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
