"""Prints the result table of the forecasts from frozen predictions: the same digits, without a model.

``python examples/kernel_agent/traces/table.py``; ``freeze`` makes the predictions anew from the traces, and
``publish FILE`` the traces from JSON lines; both need duckdb. ``page`` writes the table into its page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from serving.forecast.predictors import Prediction
from serving.forecast.runs import Run, split
from serving.forecast.scores import variation
from serving.forecast.table import Judged, judge, predict, recommended
from serving.forecast.target import Target, kv_blocks, process_bytes
from serving.forecast.traces import run_of
from serving.profile.memory import SequenceBytes

HERE = Path(__file__).parent
TRACES = HERE / "traces.parquet"
PREDICTIONS = HERE / "predictions.json"
PAGE = HERE.parents[2] / "docs" / "explanation" / "forecast.md"
BEGIN, END = "<!-- table -->\n", "\n<!-- end of table -->"
SEED = "20261201"
LIMIT_TOKENS = 8192
BLOCK_TOKENS = 32
KV_ELEMENTS = {"smollm2": 2 * 30 * 3 * 64, "tiny": 2 * 2 * 1 * 32}
"""Keys and values of a token: 2 x layers x KV heads x head dimension, as the models' config.json tell."""
KV_BYTES = {"auto": 2, "fp8": 1}
OUTCOMES = ("solved", "gave up", "out of scope", "failed")

Traces = Sequence[dict[str, Any]]


def load() -> Traces:
    """The published traces."""
    import duckdb

    rows = duckdb.read_parquet(str(TRACES)).order("run")
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def publish(source: Path) -> None:
    """Write traces that were recorded as JSON lines to Parquet."""
    import duckdb

    duckdb.read_json(str(source), format="newline_delimited", sample_size=-1).order("run").write_parquet(
        str(TRACES), compression="zstd"
    )


def frozen(traces: Traces) -> dict[str, Any]:
    """Predictions for the test part of each section, and what is counted of all traces."""
    sections: list[dict[str, Any]] = []
    models = sorted({trace["model"] for trace in traces})
    for model in models:
        runs = _runs([trace for trace in traces if trace["model"] == model])
        sections.append(_section(f"{model}, both cache types", runs, kv_blocks(BLOCK_TOKENS)))
    for model in models:
        for cache in KV_BYTES:
            cell = [t for t in traces if (t["model"], t["cache_dtype"]) == (model, cache)]
            runs = _runs(cell)
            if len(runs) < 20:
                continue
            sections.append(_section(f"{model}, {cache}", runs, _memory(model, cache, cell, runs)))
    return {"seed": SEED, "sections": sections, "outcomes": _outcomes(traces)}


def _runs(traces: Traces) -> list[Run]:
    return [run for trace in traces if (run := run_of(trace)) is not None]


def _memory(model: str, cache: str, traces: Traces, runs: Sequence[Run]) -> Target:
    """Weights and activations are the least that was seen in runs to learn from: the engine just loaded."""
    learned = {run.name for run in split(runs, SEED).train}
    least = min(
        sample["process_bytes"] for trace in traces if trace["run"] in learned for sample in trace["memory"]
    )
    return process_bytes(SequenceBytes(KV_ELEMENTS[model] * KV_BYTES[cache], 0, 0, 0), float(least))


def _section(title: str, runs: Sequence[Run], target: Target) -> dict[str, Any]:
    parts = split(runs, SEED)
    groups: dict[str, list[float]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(target.truth(run))
    varies = variation(groups)
    judged = predict(runs, seed=SEED, limit_tokens=LIMIT_TOKENS, target=target)
    return {
        "title": f"{target.name}, {title}",
        "unit": target.unit,
        "runs": [len(parts.train), len(parts.validation), len(parts.test)],
        "mean": varies.mean,
        "cv": varies.cv,
        "eta_squared": varies.eta_squared,
        "overdispersion": varies.overdispersion,
        "test": [
            {"run": j.run, "unit": j.unit, "group": j.group, "truth": j.truth, "predictions": j.predictions}
            for j in judged
        ],
    }


def _outcomes(traces: Traces) -> list[dict[str, Any]]:
    cells = sorted({(trace["model"], trace["cache_dtype"]) for trace in traces})
    told: list[dict[str, Any]] = []
    for model, cache in cells:
        cell = [t for t in traces if (t["model"], t["cache_dtype"]) == (model, cache)]
        begun = [trace for trace in cell if trace["compiles"]]
        attempts = [attempt for trace in begun for attempt in trace["compiles"]]
        told.append({
            "model": model,
            "cache": cache,
            "runs": len(cell),
            **{name: sum(trace["outcome"] == name for trace in cell) for name in OUTCOMES},
            "generated": len(begun),
            "compiled": sum(any(a["compiled"] for a in t["compiles"]) for t in begun),
            "attempts": len(attempts),
            "attempts_compiled": sum(attempt["compiled"] for attempt in attempts),
        })  # fmt: skip
    return told


def table(told: dict[str, Any]) -> Iterator[str]:
    """The result as Markdown."""
    yield "| model, cache | runs | out of scope | gave up | failed | solved | compiled | attempts compiled |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in told["outcomes"]:
        yield (
            f"| {row['model']}, {row['cache']} | {row['runs']} | {row['out of scope']} | {row['gave up']}"
            f" | {row['failed']} | {row['solved']} | {row['compiled']} of {row['generated']} runs"
            f" | {row['attempts_compiled']} of {row['attempts']} |"
        )
    for section in told["sections"]:
        yield ""
        yield from _shown(section)


def _shown(section: dict[str, Any]) -> Iterator[str]:
    judged = [
        Judged(
            entry["run"], entry["unit"], entry["group"], entry["truth"],
            {name: Prediction(*found) for name, found in entry["predictions"].items()},
        )
        for entry in section["test"]
    ]  # fmt: skip
    rows = judge(judged, SEED)
    mega, unit = (1e6, "MB") if section["unit"] == "bytes" else (1.0, section["unit"])
    explained = "undefined" if section["eta_squared"] is None else f"{section['eta_squared']:.4f}"
    train, validation, test = section["runs"]
    prompts = len({entry.unit for entry in judged})
    yield (
        f"**{section['title']}**: {train} + {validation} + {test} runs,"
        f" {prompts} prompts to test by; mean {section['mean'] / mega:.4f} {unit}, CV {section['cv']:.4f},"
        f" eta squared of prompt families {explained},"
        f" variance / mean {section['overdispersion'] / mega:.4f}."
    )
    yield ""
    yield f"| | MAPE | 95 % | MAE, {unit} | undercoverage | over-allocation | sign test against B3 |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        found, (low, high), versus = row.score, row.mape_interval, row.against_mean
        p = "undefined" if versus.p is None else f"{versus.better}:{versus.worse}, p {versus.p:.4f}"
        yield (
            f"| {row.predictor} | {found.mape:.4%} | {low:.2%} to {high:.2%} | {found.mae / mega:.4f}"
            f" | {found.undercoverage:.4f} | {found.over_allocation:.4f}"
            f" | {'-' if row.predictor == 'B3' else p} |"
        )
    yield ""
    best = recommended(rows)
    yield "No learned predictor beats the mean." if best == "B3" else f"{best} beats the mean."


def main(arguments: Sequence[str]) -> int:
    """Print the table, or make what it is printed from."""
    match arguments:
        case []:
            print("\n".join(table(json.loads(PREDICTIONS.read_text(encoding="utf-8")))))
        case ["freeze"]:
            PREDICTIONS.write_text(json.dumps(frozen(load()), indent=1) + "\n", encoding="utf-8")
        case ["publish", source]:
            publish(Path(source))
        case ["page"]:
            before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
            told = "\n".join(table(json.loads(PREDICTIONS.read_text(encoding="utf-8"))))
            PAGE.write_text(f"{before}{BEGIN}{told}{END}{rest.split(END)[1]}", encoding="utf-8")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
