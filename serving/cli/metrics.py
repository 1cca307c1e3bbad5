"""``metrics``: what a node did, each figure with its basis, bounds and source."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from serving.cli.command import Command, Context, Exit
from serving.cli.observe import add_observed, observe
from serving.telemetry.reading import Reading


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_observed(parser)
    parser.add_argument("--explain", action="store_true", help="print formula and source under each figure")
    group = parser.add_argument_group("as an exporter")
    group.add_argument(
        "--listen", metavar="HOST:PORT", help="serve the figures for Prometheus until interrupted"
    )
    group.add_argument(
        "--window-seconds",
        type=float,
        default=300.0,
        metavar="S",
        help="how far back its figures reach; default 300",
    )
    group.add_argument(
        "--series", type=Path, metavar="FILE", help="append each look at the node there, for `modes`"
    )


def _run(args: argparse.Namespace, context: Context) -> int:
    if args.listen:
        from serving.cli.listen import listen

        return listen(args, context)
    from serving.telemetry import readings

    found = readings(observe(args, context))
    impossible = [reading for reading in found if reading.impossible]
    if context.console.as_json:
        context.console.json({"figures": [asdict(reading) for reading in found]})
    else:
        context.console.text("\n".join(as_lines(found, explain=args.explain)))
    return Exit.FAILED if impossible else Exit.DONE


def as_lines(found: Sequence[Reading], *, explain: bool = False) -> Iterator[str]:
    """Readings for a person, a line each, those that could not be made last."""
    made = [reading for reading in found if reading.value is not None or reading.high is not None]
    width = max((len(_name(reading)) for reading in made), default=0)
    for reading in made:
        yield f"{_name(reading):<{width}}  {shown(reading)}"
        if reading.impossible:
            yield f"{'':<{width}}  IMPOSSIBLE: {reading.impossible}"
        if reading.note:
            yield f"{'':<{width}}  {reading.note}"
        if explain:
            yield f"{'':<{width}}  = {reading.formula} [{reading.source}]"
    for reading in found:
        if reading not in made:
            yield f"{_name(reading)}: not measurable; {reading.note}"


def shown(reading: Reading) -> str:
    """A reading's value with unit, basis, bounds and number of samples."""
    parts = ["between bounds" if reading.value is None else f"{number(reading.value)} {reading.unit}"]
    parts.append(f"[{reading.basis.value}]")
    if reading.low is not None or reading.high is not None:
        low = "" if reading.low is None else number(reading.low)
        high = "" if reading.high is None else number(reading.high)
        kind = f"; {reading.bounds}" if reading.bounds else ""
        parts.append(f"({low}..{high}{kind})")
    if reading.samples is not None:
        parts.append(f"n={reading.samples:,}")
    return " ".join(parts)


def number(value: float) -> str:
    """Four digits, without an exponent where that can be avoided."""
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def _name(reading: Reading) -> str:
    return f"{reading.name}[{reading.group}]" if reading.group else reading.name


COMMAND: Final = Command(
    name="metrics",
    help="tell what a node did, from the gate's records and the engine's metrics",
    description="""Tell what a node did: velocity by depth, preemptions, recomputing, utilization, waits.

Made from the gate's records and the engine's metrics page. Every figure says whether it was measured or
computed, of how many requests, and between what it lies; what no machine can have done is flagged, and then
the exit status is 1. docs/reference/metrics.md defines each. With --listen the same figures are served
for Prometheus, over the last minutes; the node is read whenever that is asked.""",
    examples=(
        "mcp-offload-serving metrics --records requests.jsonl",
        "mcp-offload-serving metrics --records requests.jsonl --url http://127.0.0.1:8080"
        " --model qwen3.6-27b --gpu h100-sxm --gpus 2",
        "mcp-offload-serving metrics --listen 127.0.0.1:9109 --url http://127.0.0.1:8080"
        " --records requests.jsonl --model qwen3.6-27b --gpu h100-sxm --gpus 2",
        "mcp-offload-serving --json metrics --records requests.jsonl --page before.txt --page after.txt",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
