"""Charts drawn with matplotlib, which is loaded when the first one is asked for."""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from serving.errors import MissingExtraError
from serving.report.chart import Axis, Chart, Panel, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS: Final = ("svg", "png", "pdf")

# Source: Okabe and Ito, Color Universal Design (2008): told apart by all kinds of colour vision. Their
# yellow, too light for a line on white, is left out.
_PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS: Final = "osD^vPX"
_PANEL_INCHES: Final = (6.2, 4.2)


def draw(chart: Chart, kind: str = "svg") -> bytes:
    """A picture's bytes, the same for the same chart.

    Args:
        chart: what it shows.
        kind: one of :data:`FORMATS`.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ValueError: the format is another, or the chart has no panels.
    """
    if kind not in FORMATS:
        raise ValueError(f"{kind!r} is none of {', '.join(FORMATS)}")
    if not chart.panels:
        raise ValueError("a chart has one panel at least")
    try:
        matplotlib: Any = import_module("matplotlib")
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("Charts need matplotlib: pip install 'mcp-offload[plots]'.") from error
    columns = min(chart.columns, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    width, height = _PANEL_INCHES
    figure = Figure(figsize=(width * columns, height * rows + 0.6), layout="constrained")
    figure.suptitle(chart.title, fontweight="bold")  # pyright: ignore[reportUnknownMemberType]
    grid: Any = figure.subplots(rows, columns, squeeze=False)
    places: list[Axes] = [axes for row in grid for axes in row]
    for panel, axes in zip(chart.panels, places, strict=False):
        _panel(panel, axes)
    for empty in places[len(chart.panels) :]:
        empty.set_visible(False)
    if chart.note:
        figure.supxlabel(chart.note, fontsize="x-small", color="0.35")  # pyright: ignore[reportUnknownMemberType]
    told = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    # A salt, or the names of an SVG's clip paths are drawn by chance.
    with matplotlib.rc_context({"svg.hashsalt": "mcp-offload", "svg.fonttype": "none"}):
        figure.savefig(told, format=kind, dpi=120, metadata=metadata)  # pyright: ignore[reportUnknownMemberType]
    return told.getvalue()


def _panel(panel: Panel, axes: Any) -> None:
    drawn = [series for series in panel.series if series.points]
    for place, series in enumerate(drawn):
        _series(series, place if series.color is None else series.color, place, axes)
    for level, name in panel.levels:
        axes.axhline(level, color="0.5", lw=1, ls=":")
        axes.annotate(
            name, (0.995, level), xycoords=("axes fraction", "data"), xytext=(0, 2),
            textcoords="offset points", ha="right", fontsize="x-small", color="0.35",
        )  # fmt: skip
    axes.set_title(panel.title, fontsize="medium")
    _axis(panel.x, axes, "x")
    _axis(panel.y, axes, "y")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if any(series.label for series in drawn):
        axes.legend(fontsize="small", framealpha=0.85)


def _series(series: Series, color_place: int, place: int, axes: Any) -> None:
    color = _PALETTE[color_place % len(_PALETTE)]
    x, y = [point[0] for point in series.points], [point[1] for point in series.points]
    label = series.label or None
    if series.kind in ("steps", "area"):
        axes.step(x, y, where="post", color=color, label=label, lw=1.4)
        if series.kind == "area":
            axes.fill_between(x, y, step="post", color=color, alpha=0.18, lw=0)
    else:
        style = {"line": "-", "dashed": "--", "points": ""}[series.kind]
        marker = _MARKERS[place % len(_MARKERS)]
        axes.plot(x, y, ls=style, marker=marker, ms=5, color=color, label=label)
    if series.intervals:
        below = [max(0.0, value - low) for value, (low, _) in zip(y, series.intervals, strict=True)]
        above = [max(0.0, high - value) for value, (_, high) in zip(y, series.intervals, strict=True)]
        axes.errorbar(x, y, yerr=(below, above), fmt="none", ecolor=color, elinewidth=1, capsize=3, alpha=0.7)
    for name, point in zip(series.names, series.points, strict=False):
        axes.annotate(name, point, xytext=(5, 5), textcoords="offset points", fontsize="x-small", color=color)


def _axis(axis: Axis, axes: Any, which: str) -> None:
    axes.set(**{f"{which}label": axis.label})
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
    if axis.ticks:
        side = getattr(axes, f"{which}axis")
        side.set_ticks([at for at, _ in axis.ticks], [name for _, name in axis.ticks])
        side.set_tick_params(which="minor", length=0)
        side.set_minor_locator(_no_ticks())
    if axis.from_zero and not axis.log:
        axes.set(**{f"{which}lim": (0, None)})


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
