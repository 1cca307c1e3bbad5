"""Readings as Prometheus metrics: names with their units, one sample a reading, flags for what cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from serving.telemetry.definitions import DEFINITIONS
from serving.telemetry.modes import Found, Look, Mode
from serving.telemetry.reading import Reading

PREFIX: Final = "mcp_offload_node_"

_SUFFIXES: Final = {
    "tok/s": "_tokens_per_second",
    "share of 1": "_ratio",
    "ratio": "_ratio",
    "s": "_seconds",
    "per request": "_per_request",
    "requests": "_requests",
    "restarts": "",
    "failures": "",
    "tokens": "",  # tokens_per_step tells its unit
    "currency": "_currency",
}
_COUNTED: Final = frozenset({"lease_overruns", "engine_restarts", "memory_failures"})
"""Figures that count since the gate started, and so are counters."""


def metric_name(figure: str, end: str = "") -> str:
    """The Prometheus name of a figure, as ``mcp_offload_node_mbu_ratio``.

    Args:
        figure: a name of the reference of metrics.
        end: ``low`` or ``high`` for a bound of it.

    Raises:
        KeyError: there is no such figure.
    """
    suffix = _SUFFIXES[DEFINITIONS[figure].unit]
    stem = figure.removesuffix(suffix) if suffix else figure
    return f"{PREFIX}{stem}{f'_{end}' if end else ''}{suffix}"


def figure_families(readings: Sequence[Reading]) -> Iterator[Metric]:
    """A family for each figure and bound, and three that tell of all: samples, measurable, impossible.

    A figure that could not be had has no sample, and 0 in ``measurable``.
    """
    for figure, definition in DEFINITIONS.items():
        found = [reading for reading in readings if reading.name == figure]
        told = f"{definition.meaning} ({definition.basis.value}: {definition.formula})"
        if figure in _COUNTED:
            yield _counter(figure, told, found)
            continue
        yield _gauge(metric_name(figure), told, [(reading, reading.value) for reading in found])
        for end in ("low", "high"):
            bounds = [(reading, getattr(reading, end)) for reading in found]
            if any(value is not None for _, value in bounds):
                yield _gauge(metric_name(figure, end), f"{end} bound: {_bounds(found)}", bounds)
    yield from _about(readings)


def _about(readings: Sequence[Reading]) -> Iterator[Metric]:
    samples = GaugeMetricFamily(
        f"{PREFIX}figure_samples", "requests, or other events, that a figure rests on", labels=_ABOUT
    )
    measurable = GaugeMetricFamily(
        f"{PREFIX}figure_measurable", "whether a figure could be had: 0 or 1", labels=_ABOUT
    )
    impossible = GaugeMetricFamily(
        f"{PREFIX}figure_impossible",
        "1 where no machine can have done it, so that model, format, GPU or the records are not as told",
        labels=_ABOUT,
    )
    for reading in readings:
        labels = [reading.name, reading.group, reading.basis.value]
        if reading.samples is not None:
            samples.add_metric(labels, reading.samples)
        measurable.add_metric(labels, float(reading.value is not None or reading.high is not None))
        impossible.add_metric(labels, float(bool(reading.impossible)))
    yield from (samples, measurable, impossible)


_ABOUT: Final = ("figure", "depth", "basis")
_LABELS: Final = ("depth", "basis")


def _gauge(name: str, text: str, values: Iterable[tuple[Reading, float | None]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=_LABELS)
    for reading, value in values:
        if value is not None:
            family.add_metric([reading.group, reading.basis.value], value)
    return family


def _counter(figure: str, text: str, found: Iterable[Reading]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"{PREFIX}{figure}", text, labels=_LABELS)
    for reading in found:
        if reading.value is not None:
            family.add_metric([reading.group, reading.basis.value], reading.value)
    return family


def _bounds(found: Iterable[Reading]) -> str:
    return next((reading.bounds for reading in found if reading.bounds), "")


def mode_family(found: Iterable[Found], looks: Sequence[Look]) -> Metric:
    """Which ways to fail hold at the last look: one sample for each, 0 or 1."""
    last = looks[-1].seconds if looks else None
    now = {mode.mode for mode in found if mode.end_seconds == last}
    family = GaugeMetricFamily(
        f"{PREFIX}failure_mode", "whether the node fails in this way now: 0 or 1", labels=["mode"]
    )
    for mode in Mode:
        family.add_metric([mode.value], float(mode in now))
    return family
