"""``modes``: which of the four ways to fail a node shows, in a recorded series or watched as it runs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from serving.cli.command import Command, Context, Exit
from serving.cli.observe import key_of, page_of, status_of
from serving.errors import ServingUsageError

if TYPE_CHECKING:
    from serving.telemetry.modes import Found, Look

RUNBOOK: Final = "docs/how-to/runbook.md"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="a series, as --write or `metrics --series` wrote it",
    )
    parser.add_argument("--url", metavar="URL", help="watch this gate or engine instead")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="the gate's key, if it asks for one")
    parser.add_argument(
        "--looks", type=int, default=7, metavar="N", help="at the node, with --url; default 7"
    )
    parser.add_argument(
        "--every", type=float, default=10.0, metavar="S", help="seconds between two looks; default 10"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the series that was watched")
    parser.add_argument(
        "--periods", type=int, default=3, metavar="N", help="for which a mode must hold; default 3"
    )


def _run(args: argparse.Namespace, context: Context) -> int:
    from serving.telemetry.modes import Thresholds, find_modes

    if (args.file is None) == (args.url is None):
        raise ServingUsageError("Name a series, FILE, or a node to watch, --url URL.")
    if args.looks < 2 or args.every <= 0 or args.periods < 1:
        raise ServingUsageError("--looks is 2 or more, --every positive and --periods 1 or more.")
    looks = _kept(args.file) if args.file else _watched(args, context)
    if len(looks) <= args.periods:
        raise ServingUsageError(
            f"{args.periods} periods take {args.periods + 1} looks; here are {len(looks)}."
        )
    found = find_modes(looks, Thresholds(periods=args.periods))
    if context.console.as_json:
        told = [{**asdict(mode), "runbook": runbook_of(mode)} for mode in found]
        context.console.json({"looks": len(looks), "modes": told})
    else:
        context.console.text("\n".join(_shown(looks, found)))
    return Exit.FAILED if found else Exit.DONE


def _kept(path: Path) -> Sequence[Look]:
    from serving.telemetry.series import parse_series

    try:
        with path.open(encoding="utf-8") as file:
            return tuple(parse_series(file))
    except (OSError, ValueError) as error:
        raise ServingUsageError(f"{path} cannot be read: {error}.") from error


def _watched(args: argparse.Namespace, context: Context) -> Sequence[Look]:
    from serving.telemetry.series import as_line, look_of

    key = key_of(args)
    looks: list[Look] = []
    began = time.monotonic()
    kept = args.write.open("a", encoding="utf-8") if args.write else None
    try:
        for number in range(args.looks):
            context.console.progress(f"look {number + 1} of {args.looks}")
            time.sleep(max(0.0, began + number * args.every - time.monotonic()))
            looks.append(look_of(time.time(), page_of(args.url, key), status_of(args.url, key)))
            if kept is not None:
                kept.write(as_line(looks[-1]) + "\n")
                kept.flush()
    finally:
        context.console.progress("")
        if kept is not None:
            kept.close()
    return looks


def runbook_of(found: Found) -> str:
    """Where the runbook tells of a mode."""
    return f"{RUNBOOK}#{found.mode.value.replace('_', '-')}"


def _shown(looks: Sequence[Look], found: Sequence[Found]) -> Iterator[str]:
    first, last = looks[0].seconds, looks[-1].seconds
    for mode in found:
        name = mode.mode.value.replace("_", " ")
        span = f"{mode.begin_seconds - first:.0f} to {mode.end_seconds - first:.0f} s"
        yield f"{name.upper()}  {span}: {mode.evidence}"
        yield f"  what to do: {runbook_of(mode)}"
    said = f"{len({mode.mode for mode in found})} of four failure modes" if found else "no failure mode"
    yield f"{said} in {len(looks):,} looks over {last - first:,.0f} s"


COMMAND: Final = Command(
    name="modes",
    help="find the four failure modes in a series of looks at a node",
    description="""Find the four failure modes in a series of looks at a node; exit status 1 if there is one.

Slow-down spiral, eviction storm, prefill freeze and static waste: each is called where it held for three
periods without a break. A series is a file of JSON lines, recorded by `metrics --listen --series` or by
--write, or is watched here. docs/how-to/runbook.md says what to do about each.""",
    examples=(
        "mcp-offload-serving modes node.jsonl",
        "mcp-offload-serving --json modes --url http://127.0.0.1:8080 --looks 31 --write node.jsonl",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
