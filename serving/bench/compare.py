"""Two results compared, pair by pair of measurements that had the same prompts. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Final

from serving.bench.results import Line, Loaded
from serving.report import Table, number

CONFIDENCE: Final = 0.95
_FACTORS_OF_PROMPTS: Final = ("scale", "trace", "smoke")


@dataclass(frozen=True)
class Comparison:
    """One cell, or pair of cells, in two results.

    Attributes:
        cell: what both have in common.
        base: what the first is called.
        other: what the second is called.
        pairs: repeats that both have.
        base_mean: geometric mean of the first's.
        other_mean: of the second's.
        ratio: of the second to the first, geometric mean over pairs.
        low, high: between what the true ratio lies with 95 % confidence; None of one pair alone.
    """

    cell: str
    base: str
    other: str
    pairs: int
    base_mean: float
    other_mean: float
    ratio: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """Whether the two differ."""
        if self.low is None or self.high is None:
            return "one pair: no interval"
        if self.low > 1:
            return "higher"
        return "lower" if self.high < 1 else "no difference shown"


def compared(base: Loaded, other: Loaded, metric: str) -> list[Comparison]:
    """Each cell of both results.

    Raises:
        ValueError: they are of different benchmarks or prompts, or have no cell in common.
    """
    for name in ("benchmark",):
        if base.header[name] != other.header[name]:
            raise ValueError(f"one result is of {base.header[name]}, the other of {other.header[name]}")
    for name in _FACTORS_OF_PROMPTS:
        if base.header["settings"].get(name) != other.header["settings"].get(name):
            raise ValueError(f"their prompts are not the same: {name} differs")
    first, second = _values(base.measures, metric), _values(other.measures, metric)
    names = (str(base.path.parent), str(other.path.parent))
    return _all(((cell, first[cell], second[cell]) for cell in first if cell in second), names, metric)


def by_factor(loaded: Loaded, factor: str, metric: str) -> list[Comparison]:
    """Within one result: every value of a factor against its first, other factors being equal.

    Raises:
        ValueError: the benchmark has no such factor, or there is nothing to compare.
    """
    values = _values(loaded.measures, metric)
    levels = list(dict.fromkeys(json.loads(cell).get(factor) for cell in values))
    if None in levels or len(levels) < 2:
        known = sorted({name for cell in values for name in json.loads(cell)})
        raise ValueError(f"{factor} tells no cells apart; factors are {', '.join(known) or 'none'}")
    made: list[Comparison] = []
    for level in levels[1:]:
        pairs = (
            (_without(cell, factor), values[_with(cell, factor, levels[0])], found)
            for cell, found in values.items()
            if json.loads(cell)[factor] == level and _with(cell, factor, levels[0]) in values
        )
        made += _all(pairs, (f"{factor} {levels[0]}", f"{factor} {level}"), metric)
    return made


def table(comparisons: Sequence[Comparison], metric: str) -> Table:
    """For people."""
    columns = ["cell", "first", "second", "pairs", f"{metric}, first", "second", "ratio", "95 %", ""]
    rows = [
        [
            pair.cell or "all", pair.base, pair.other, str(pair.pairs), number(pair.base_mean, 2),
            number(pair.other_mean, 2), f"{pair.ratio:.3f}",
            "-" if pair.low is None or pair.high is None else f"{pair.low:.3f} to {pair.high:.3f}",
            pair.verdict,
        ]
        for pair in comparisons
    ]  # fmt: skip
    return Table(columns, rows, names=3)


def ratio_interval(ratios: Sequence[float]) -> tuple[float, float] | None:
    """Between what the true ratio lies: Student's t on logarithms; None of fewer than two."""
    if len(ratios) < 2:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    half = student_t(CONFIDENCE, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def student_t(confidence: float, degrees: int) -> float:
    """The t that a Student-distributed value's amount exceeds with probability 1 - confidence.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        if _within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(low)


def _within(angle: float, degrees: int) -> float:
    """The probability that the amount is under sqrt(degrees) tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2 == 1
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for k in range(degrees // 2):
        if k:
            term *= cosine**2 * (2 * k / (2 * k + 1) if odd else (2 * k - 1) / (2 * k))
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _all(
    found: Iterable[tuple[str, Mapping[int, float], Mapping[int, float]]], names: tuple[str, str], metric: str
) -> list[Comparison]:
    made = [_comparison(cell, first, second, names) for cell, first, second in found]
    kept = [pair for pair in made if pair is not None]
    if not kept:
        raise ValueError(f"no cell has {metric} in both")
    return kept


def _comparison(
    cell: str, first: Mapping[int, float], second: Mapping[int, float], names: tuple[str, str]
) -> Comparison | None:
    repeats = sorted(first.keys() & second.keys())
    if not repeats:
        return None
    ratios = [second[repeat] / first[repeat] for repeat in repeats]
    between = ratio_interval(ratios)
    return Comparison(
        cell=", ".join(f"{name} {value}" for name, value in json.loads(cell).items()),
        base=names[0],
        other=names[1],
        pairs=len(repeats),
        base_mean=_mean([first[repeat] for repeat in repeats]),
        other_mean=_mean([second[repeat] for repeat in repeats]),
        ratio=_mean(ratios),
        low=between[0] if between else None,
        high=between[1] if between else None,
    )


def _mean(values: Sequence[float]) -> float:
    """Geometric."""
    return math.exp(fmean(math.log(value) for value in values))


def _values(measures: Sequence[Line], metric: str) -> dict[str, dict[int, float]]:
    """A metric by cell and repeat, where it is positive: of nothing there is no ratio."""
    found: dict[str, dict[int, float]] = {}
    for line in measures:
        value: Any = line["figures"].get(metric) if line["kind"] == "measure" else None
        if value is not None and value > 0:
            found.setdefault(json.dumps(line["cell"]), {})[line["repeat"]] = float(value)
    return found


def _without(cell: str, factor: str) -> str:
    return json.dumps({name: value for name, value in json.loads(cell).items() if name != factor})


def _with(cell: str, factor: str, value: Any) -> str:
    return json.dumps({**json.loads(cell), factor: value})
