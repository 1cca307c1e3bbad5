"""The table, the plot and the page of the proof, from what was measured."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from scipy import stats

from serving.report import Axis, Chart, Panel, Series, Table, draw, number
from tests.benchmarks.proof.proof import Done

LEASE_TOKENS = 18_000
CONFIDENCE = 0.95
OURS = ("MCP only", "gateway only", "both")
Record = dict[str, Any]


def record(done: Sequence[Done]) -> list[Record]:
    """What is kept of a run, as JSON."""
    return [
        {
            "system": one.system,
            "task": one.outcome.task.name,
            "solved": one.solved,
            "failure": one.outcome.failure[:300],
            "found": one.outcome.found if one.solved else 0,
            "wanted": len(one.outcome.task.answers),
            "calls": len(one.outcome.calls),
            "dispensable": list(one.dispensable),
            "prompts": [[prompt.tokens, prompt.cached_tokens, prompt.seconds] for prompt in one.prompts],
        }
        for one in done
    ]


def peak(one: Record) -> int:
    """The largest prompt of a task."""
    return max((prompt[0] for prompt in one["prompts"]), default=0)


def computed(one: Record) -> int:
    """Prompt tokens that the engine computed."""
    return sum(prompt[0] - prompt[1] for prompt in one["prompts"])


def seconds(one: Record) -> float:
    """The engine's time."""
    return sum(prompt[2] for prompt in one["prompts"])


def ratio(base: Sequence[Record], other: Sequence[Record], of: Any) -> tuple[float, float, float] | None:
    """Of the second to the first, task by task: the geometric mean, and its interval by Student's t.

    Of tasks that both solved; None of fewer than two.
    """
    known = {one["task"]: one for one in base if one["solved"]}
    logs = [
        math.log(of(one) / of(known[one["task"]])) for one in other if one["solved"] and one["task"] in known
    ]
    if len(logs) < 2:
        return None
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs)), math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def wrong(measured: Sequence[Record], systems: Sequence[str] = OURS) -> list[str]:
    """Where the proof does not hold: tasks unsolved or over the lease with us, raw prompts that are small."""
    found: list[str] = []
    for one in measured:
        where = f"{one['system']}, {one['task']}"
        if one["system"] in systems and not one["solved"]:
            found.append(f"{where}: {one['failure']}")
        if one["system"] in systems and peak(one) > LEASE_TOKENS:
            found.append(f"{where}: {peak(one):,} tokens, {LEASE_TOKENS:,} are allowed")
        if one["system"] == "raw" and peak(one) <= 60_000:
            found.append(f"{where}: only {peak(one):,} tokens")
        found += [f"{where}: the result of {call} is not needed" for call in one["dispensable"]]
    return found


def by_system(measured: Sequence[Record]) -> Mapping[str, list[Record]]:
    """The records of each system, in order."""
    systems: dict[str, list[Record]] = {}
    for one in measured:
        systems.setdefault(one["system"], []).append(one)
    return systems


def table(measured: Sequence[Record]) -> Table:
    """A row for each system."""
    rows: list[list[str]] = []
    for system, ones in by_system(measured).items():
        sent = sum(prompt[0] for one in ones for prompt in one["prompts"])
        new = sum(map(computed, ones))
        rows.append(
            [
                system,
                f"{sum(one['solved'] for one in ones)} of {len(ones)}",
                f"{sum(one['found'] for one in ones)} of {sum(one['wanted'] for one in ones)}",
                number(median(map(peak, ones)), 0),
                number(max(map(peak, ones)), 0),
                number(sent, 0),
                number(new, 0),
                f"{100 * (1 - new / sent):.1f} %",
                number(sum(map(seconds, ones)), 1),
            ]
        )
    columns = (
        "Agent", "Solved", "Facts", "Peak, median", "Peak, largest", "Sent", "Computed", "Prefix hits",
        "Seconds",
    )  # fmt: skip
    return Table(columns, rows)


def ratios(measured: Sequence[Record]) -> Table:
    """Against raw, task by task."""
    systems = by_system(measured)
    rows = []
    for system, ones in systems.items():
        if system == "raw":
            continue
        cells = [_interval(ratio(systems["raw"], ones, of)) for of in (peak, computed, seconds)]
        rows.append([system, *cells])
    return Table(("Against raw", "Peak", "Computed", "Seconds"), rows)


def tasks(measured: Sequence[Record]) -> Table:
    """The peak of each task with each system."""
    systems = by_system(measured)
    names = list(dict.fromkeys(one["task"] for one in measured))
    rows = []
    for name in names:
        row = [name]
        for ones in systems.values():
            one = next((one for one in ones if one["task"] == name), None)
            row.append("-" if one is None else f"{peak(one):,}" + ("" if one["solved"] else " (failed)"))
        rows.append(row)
    return Table(("Task", *systems), rows)


def node(measured: Sequence[Record], model: str, gpus: int) -> Table:
    """What a node of H100s would hold of such agents, by the planner: modelled, not measured."""
    rows = []
    for system, ones in by_system(measured).items():
        depth = max(map(peak, ones))
        line = [sys.executable, "-m", "serving", "--json", "plan", model, "--gpu", "h100-sxm"]
        done = subprocess.run(
            [*line, "--gpus", str(gpus), "--depth", str(depth)], capture_output=True, check=True
        )
        best = next(one for one in json.loads(done.stdout)["topologies"] if one["chosen"])
        cells = [number(float(value), 0) for value in (depth, best["in_memory"], best["velocity"])]
        rows.append([system, *cells])
    return Table(("Agent", "Depth", "Agents in memory", "tok/s alone"), rows)


def plot(measured: Sequence[Record], note: str) -> bytes:
    """An SVG: peaks by task, and one task's prompts turn by turn."""
    systems = by_system(measured)
    names = list(dict.fromkeys(one["task"] for one in measured))
    level = [(float(LEASE_TOKENS), "lease")]
    peaks = [
        Series(system, [(float(names.index(one["task"])), float(peak(one))) for one in ones], "points")
        for system, ones in systems.items()
    ]
    longest = "rename across files"
    turns = [
        Series(system, [(float(at), float(prompt[0])) for at, prompt in enumerate(one["prompts"])], "line")
        for system, ones in systems.items()
        for one in ones
        if one["task"] == longest
    ]
    ticks = [(float(at), name.replace(" ", "\n", 1)) for at, name in enumerate(names)]
    tokens = Axis("tokens of the prompt", log=True)
    chart = Chart(
        "An agent's prompts",
        [
            Panel("The largest of each task", Axis("task", ticks=ticks), tokens, peaks, level),
            Panel(f"Turn by turn: {longest}", Axis("turn", from_zero=True), tokens, turns, level),
        ],
        note,
    )
    return draw(chart)


def _interval(found: tuple[float, float, float] | None) -> str:
    return "-" if found is None else f"{found[0]:.3f}x ({found[1]:.3f} to {found[2]:.3f})"
