"""``forecast``: how well an agent's peak context can be known beforehand, from recorded runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from serving.cli.command import Command, Context, Exit
from serving.cli.observe import records
from serving.errors import ServingUsageError

if TYPE_CHECKING:
    from serving.forecast.runs import Run
    from serving.forecast.table import Table


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "trace",
        type=Path,
        metavar="TRACE",
        help="what `gate --record-runs` or `--record` wrote, or an agent's traces: JSON lines",
    )
    parser.add_argument("--seed", default="0", metavar="TEXT", help="of the split; default 0")
    parser.add_argument(
        "--limit", type=int, metavar="TOKENS", help="the longest context that the engine takes; bounds B0"
    )
    parser.add_argument(
        "--block-tokens", type=int, default=16, metavar="N", help="tokens of a KV block, for errors in blocks"
    )


def _run(args: argparse.Namespace, context: Context) -> int:
    from serving.forecast.table import evaluate

    if args.block_tokens < 1 or (args.limit is not None and args.limit < 1):
        raise ServingUsageError("--block-tokens and --limit are whole numbers from 1 on.")
    found, whole = _runs(args.trace)
    try:
        table = evaluate(found, seed=args.seed, limit_tokens=args.limit)
    except ValueError as error:
        raise ServingUsageError(f"{args.trace}: {error}.") from error
    if context.console.as_json:
        context.console.json(asdict(table))
    else:
        context.console.text("\n".join(_shown(table, args.block_tokens)))
        if whole:
            context.console.note(f"{whole:,} records tell no prompt or no exact output and were left out")
    return Exit.DONE


def _runs(path: Path) -> tuple[Sequence[Run], int]:
    """Runs by session, and how many records could not be used."""
    from serving.forecast.runs import Turn, runs_of
    from serving.forecast.traces import run_of

    if (traces := _traces(path)) is not None:
        try:
            found = [run_of(trace) for trace in traces]
        except ValueError as error:
            raise ServingUsageError(f"{path}: {error}.") from error
        return [run for run in found if run is not None], found.count(None)
    turns: list[Turn] = []
    left = 0
    for record in records(path):
        if record.outcome not in ("answered", "bypassed"):
            continue
        if not record.prompt_tokens or not record.output_exact:
            left += 1
            continue
        order = record.arrived_unix_seconds
        turns.append(
            Turn(record.session_id, record.agent_class, order, record.prompt_tokens, record.output_tokens)
        )
    return runs_of(turns), left


def _traces(path: Path) -> Sequence[dict[str, Any]] | None:
    """The file as traces of runs; None where its first line is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        if not lines or "nodes" not in json.loads(lines[0]):
            return None
        return [json.loads(line) for line in lines]
    except (OSError, ValueError, TypeError):
        return None


def _shown(table: Table, block_tokens: int) -> Iterator[str]:
    train, validation, test = table.runs
    yield f"peak context of a run; {train} runs to learn from, {validation} held, {test} to test by"
    varies = table.variation
    explained = "undefined" if varies.eta_squared is None else f"{varies.eta_squared:.3f}"
    yield (
        f"mean {varies.mean:,.0f} tokens, CV {varies.cv:.1%}, {explained} of the variance by agent class"
        f" (eta squared), variance / mean {varies.overdispersion:,.0f}"
    )
    yield ""
    yield "     MAPE     MAE tokens   MAE blocks  undercoverage  over-allocation  p against B3"
    for row in table.rows:
        told, versus = row.score, row.against_mean
        p = "-" if row.predictor == "B3" else "undefined" if versus.p is None else f"{versus.p:.3g}"
        side = f" ({versus.better}:{versus.worse})" if versus.p is not None else ""
        in_blocks = told.mae / block_tokens
        yield (
            f"{row.predictor:<4} {told.mape:<8.2%} {told.mae:<12,.0f} {in_blocks:<11,.1f}"
            f" {told.undercoverage:<14.1%} {told.over_allocation:<16.1%} {p}{side}"
        )
    yield ""
    yield f"use {table.recommended}: " + (
        "no learned predictor beats the constant mean in the paired test"
        if table.recommended == "B3"
        else "it beats the constant mean in the paired test"
    )


COMMAND: Final = Command(
    name="forecast",
    help="tell how well an agent's peak context can be known beforehand",
    description="""Tell how well an agent's peak context can be known beforehand, from recorded runs.

Splits the runs 70/15/15 in each agent class, makes five predictors from the first part and scores them
on the last: B0 the worst case, B1 a line over the first prompt's length, B2 that and the agent class, or
what a trace tells of the prompt, B3 the mean, B5 the closed form given the true steps and outputs. Runs of
one prompt stay together. The sign test is exact, paired by prompt and without ties; intervals come from
drawing prompts anew. Sessions that were still going on when the records end count with what they had
reached.""",
    examples=(
        "mcp-offload-serving forecast requests.jsonl",
        "mcp-offload-serving --json forecast requests.jsonl --limit 131072 --seed 20260715",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
