"""Ridge regression on standardised features, in plain floating point: the same digits everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Row = Sequence[float]


def ridge(rows: Sequence[Row], values: Sequence[float], penalty: float) -> Callable[[Row], float]:
    """The linear function with the least squared error plus ``penalty`` times the squared slopes.

    Slopes are of features in standard deviations, so that their units do not matter; a feature that never
    varies has none. The intercept is free of the penalty.
    Source: Hoerl, Kennard, Ridge regression, Technometrics 12 (1970).

    Raises:
        ValueError: there are no rows, or the penalty is not positive.
    """
    if not rows or penalty <= 0:
        raise ValueError("a regression takes one row at least, and a positive penalty")
    columns = [list(column) for column in zip(*rows, strict=True)]
    means = [math.fsum(column) / len(rows) for column in columns]
    spreads = [
        math.sqrt(math.fsum((x - mean) ** 2 for x in column) / len(rows))
        for column, mean in zip(columns, means, strict=True)
    ]

    def standard(row: Row) -> list[float]:
        return [
            (x - mean) / spread if spread else 0.0
            for x, mean, spread in zip(row, means, spreads, strict=True)
        ]

    level = math.fsum(values) / len(values)
    known = [standard(row) for row in rows]
    size = len(means)
    left = [
        [math.fsum(row[i] * row[j] for row in known) + (penalty if i == j else 0.0) for j in range(size)]
        for i in range(size)
    ]
    right = [
        math.fsum(row[i] * (value - level) for row, value in zip(known, values, strict=True))
        for i in range(size)
    ]
    slopes = _solved(left, right)
    return lambda row: level + math.fsum(x * slope for x, slope in zip(standard(row), slopes, strict=True))


def _solved(left: list[list[float]], right: list[float]) -> list[float]:
    """Gauss elimination; the penalty on the diagonal keeps the matrix positive definite."""
    size = len(right)
    for i in range(size):
        for j in range(i + 1, size):
            factor = left[j][i] / left[i][i]
            for k in range(i, size):
                left[j][k] -= factor * left[i][k]
            right[j] -= factor * right[i]
    solution = [0.0] * size
    for i in reversed(range(size)):
        rest = math.fsum(left[i][k] * solution[k] for k in range(i + 1, size))
        solution[i] = (right[i] - rest) / left[i][i]
    return solution
