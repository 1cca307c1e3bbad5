"""A plan as a chart by depth: agents that fit, and velocity of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from serving.errors import MissingExtraError, ServingUsageError
from serving.plan.plan import DEPTHS_TOKENS, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS = (".svg", ".png", ".pdf")


def write_plot(plan: Plan, path: str) -> None:
    """Write the chart; the ending of the name says how.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ServingUsageError: the ending is not known, or the file cannot be written.
    """
    if Path(path).suffix not in _ENDINGS:
        raise ServingUsageError(f"{path} must end in one of {', '.join(_ENDINGS)}.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("--plot needs matplotlib: pip install 'mcp-offload[plots]'.") from error
    figure = Figure(figsize=(9, 4), layout="constrained")
    _drawn(plan, figure)
    try:
        figure.savefig(path)  # pyright: ignore[reportUnknownMemberType]
    except OSError as error:
        raise ServingUsageError(f"{path} cannot be written: {error.strerror}.") from error


def _drawn(plan: Plan, figure: Figure) -> None:
    rows = plan.depths
    depths = [row.depth_tokens for row in rows]
    agents, velocity = figure.subplots(1, 2)
    request = plan.request
    figure.suptitle(  # pyright: ignore[reportUnknownMemberType]
        f"{request.model.name}, {request.gpus} x {request.gpu.title}, {plan.chosen.topology}"
    )
    agents.plot(depths, [row.in_memory for row in rows], marker="o", label="fit in memory")
    agents.plot(depths, [row.above_floor for row in rows], marker="s", label="keep the floor (expected)")
    agents.plot(
        [request.load.depth_tokens], [request.load.agents], marker="*", ms=14, ls="", label="the load"
    )
    agents.set(xscale="log", yscale="log", xlabel="context of each agent, tokens", ylabel="agents")
    velocity.plot(depths, [row.alone_bound for row in rows], ls="--", label="alone, bound")
    velocity.plot(depths, [row.alone for row in rows], marker="o", label="alone, expected")
    engine, decoding = plan.chosen.engine, max(1.0, plan.chosen.agents_per_pool * request.assume.busy)
    loaded = [engine.velocity(decoding, depth) for depth in depths]
    velocity.plot(depths, loaded, marker="s", label=f"with {request.load.agents} agents, expected")
    velocity.axhline(request.load.floor_tokens_per_second, color="grey", lw=1, label="floor")
    velocity.set(
        xscale="log", xlabel="context of each agent, tokens", ylabel="tokens per second of one stream"
    )
    velocity.set_ylim(bottom=0)
    for axes in (agents, velocity):
        axes.set_xticks(DEPTHS_TOKENS, [f"{depth // 1000}k" for depth in DEPTHS_TOKENS])
        axes.set_xlim(depths[0] * 0.8, depths[-1] * 1.25)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
