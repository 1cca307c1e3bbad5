"""``bench``: measure a node, replay agents on it, and compare what was measured."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from serving.cli.command import Command, Context, Exit, add_globals
from serving.errors import ServingUsageError

_ABOUT: Final = {
    "decode": (
        "decode velocity by depth, KV cache and speculation",
        """Measure the decode velocity of streams at several depths, with a KV cache in 16 bits and in FP8,
with speculation and without, at one concurrency for all.

Velocity is read while all streams decode at once: neither prompts nor ended streams are in it.""",
        ("mcp-offload-serving bench decode qwen3.6-27b-2xh100 --concurrency 8",),
    ),
    "runtimes": (
        "a contiguous cache against paged, FP8, chunked, speculation with leases",
        """Measure the same prompts on the same model with a contiguous static cache (transformers), then with
a paged cache in 16 bits, in FP8, with prompts in chunks, and with speculation and leases besides.""",
        ("mcp-offload-serving bench runtimes ./my-node.toml --prompts 64",),
    ),
    "replay": (
        "agents of a trace file, each waiting for its answers",
        """Replay agents from a trace: long prompts, short answers, pauses while tools run. Each request is
sent once the answer before it is there and the tool's time is over.

Without --trace the shipped one is replayed: four agents of 43 turns. `bench trace` writes larger ones.""",
        ("mcp-offload-serving bench replay qwen3.6-27b-2xh100 --trace agents.jsonl",),
    ),
    "gate": (
        "the same agents with the gate off, in shadow and on",
        "Replay agents from a trace with the gate before the engine in modes off, shadow and on, in turn.",
        ("mcp-offload-serving bench gate qwen3.6-27b-2xh100 --repeats 5",),
    ),
    "report": (
        "write table and charts of results again",
        "Write table and charts of results again, as after a run that was ended, or without matplotlib.",
        ("mcp-offload-serving bench report bench-decode",),
    ),
    "compare": (
        "two results of one benchmark, or two cells, with intervals",
        """Compare results of a benchmark cell by cell: the ratio of the second to the first, over repeats
that had the same prompts, with a 95 % interval. With --by the values of one factor are compared within one
result.""",
        (
            "mcp-offload-serving bench compare before/ after/",
            "mcp-offload-serving bench compare bench-gate --by gate --metric throughput",
        ),
    ),
    "trace": (
        "write a trace of agents, JSON lines",
        """Write a trace of agents on standard output, the same for the same arguments.

Its lines are requests as in Alibaba's Bailian traces, with blocks of 512 tokens and pause_seconds
besides.""",
        ("mcp-offload-serving bench trace --agents 40 --seed 2 > agents.jsonl",),
    ),
}
METRICS: Final = ("velocity", "throughput", "first_token_p50", "first_token_p99", "latency_p99", "recomputed")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    adders: dict[str, Callable[[argparse.ArgumentParser], None]] = {
        "decode": _add_decode,
        "runtimes": _add_runtimes,
        "replay": _add_replay,
        "gate": _add_replay,
        "report": _add_report,
        "compare": _add_compare,
        "trace": _add_trace,
    }
    names = parser.add_subparsers(dest="benchmark", metavar="NAME", required=True, parser_class=type(parser))
    for name, (told, description, examples) in _ABOUT.items():
        shown = "examples:\n" + "\n".join(f"  {line}" for line in examples)
        below = names.add_parser(name, help=told, description=description, epilog=shown)
        adders[name](below)
        add_globals(below)


def _add_node(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", metavar="PROFILE", help="a shipped profile, or a .toml file")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="results, table, charts and logs; default: bench-NAME"
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="try every part in minutes, without a GPU; what it measures is no velocity of anything",
    )
    parser.add_argument("--repeats", type=count, metavar="N", help="of every cell; default 3")
    parser.add_argument("--model", metavar="MODEL", help="another checkpoint than the profile's")
    parser.add_argument("--max-model-len", type=tokens, metavar="TOKENS", help="instead of the profile's")
    parser.add_argument("--draft", metavar="MODEL", help="draft model of speculation; default: the profile's")
    parser.add_argument(
        "--draft-tokens", type=count, metavar="N", help="drafted a step; default: the profile's, else 3"
    )
    parser.add_argument("--port", type=count, metavar="PORT", help="of the engine, instead of the profile's")
    parser.add_argument("--vllm", default="vllm", metavar="PATH", help="the vllm command (vllm)")
    parser.add_argument("--any-version", action="store_true", help="take another vLLM than the profile's")
    parser.add_argument(
        "--engine-option", action="append", default=[], metavar="WORD", help="passed to vllm serve as it is"
    )
    parser.add_argument("--no-charts", action="store_true", help="draw nothing")


def _add_decode(parser: argparse.ArgumentParser) -> None:
    _add_node(parser)
    parser.add_argument(
        "--depths", type=_depths, metavar="TOKENS,...", help="default 2k,8k,16k,32k,64k; k is 1,024"
    )
    parser.add_argument(
        "--output-tokens", type=tokens, metavar="TOKENS", help="each stream writes; default 4,096"
    )
    parser.add_argument("--concurrency", type=count, metavar="N", help="streams at once; default 4")


def _add_runtimes(parser: argparse.ArgumentParser) -> None:
    _add_node(parser)
    parser.add_argument("--prompts", type=count, metavar="N", help="default 32")
    parser.add_argument("--prompt-tokens", type=tokens, metavar="TOKENS", help="their mean; default 8k")
    parser.add_argument("--answer-tokens", type=tokens, metavar="TOKENS", help="their mean; default 1k")
    parser.add_argument("--concurrency", type=count, metavar="N", help="streams at once; default 4")


def _add_replay(parser: argparse.ArgumentParser) -> None:
    _add_node(parser)
    parser.add_argument("--trace", type=Path, metavar="FILE", help="JSON lines; default: the shipped one")
    parser.add_argument("--agents", type=count, metavar="N", help="the first N of the trace; default all")
    parser.add_argument("--turns", type=count, metavar="N", help="of each agent; default all")
    parser.add_argument(
        "--block-tokens",
        type=count,
        metavar="N",
        help="that a block becomes, 512 for the trace as it is; lengths and pauses shrink in proportion",
    )


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, metavar="DIR", help="where a benchmark left its results")
    parser.add_argument("--no-charts", action="store_true", help="draw nothing")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, nargs="+", metavar="DIR", help="one result, or two")
    parser.add_argument("--by", metavar="FACTOR", help="compare this factor's values within one result")
    parser.add_argument("--metric", choices=METRICS, default="velocity", help="what is compared (velocity)")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agents", type=count, default=4, metavar="N", help="default 4")
    parser.add_argument("--turns", type=count, default=43, metavar="N", help="of each; default 43")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is drawn; default 1")


def _run(args: argparse.Namespace, context: Context) -> int:
    from serving.cli.bench_run import measure, write_report

    if args.benchmark == "report":
        return write_report(args.results, context, charts=not args.no_charts)
    if args.benchmark == "compare":
        return _compare(args, context)
    if args.benchmark == "trace":
        return _trace(args, context)
    return measure(args, context)


def _compare(args: argparse.Namespace, context: Context) -> int:
    from dataclasses import asdict

    from serving.bench.compare import by_factor, compared, table
    from serving.bench.results import load

    if len(args.results) != (1 if args.by else 2):
        raise ServingUsageError("Name two results to compare, or one and a factor with --by.")
    loaded = [load(path) for path in args.results]
    try:
        if args.by:
            pairs = by_factor(loaded[0], args.by, args.metric)
        else:
            pairs = compared(loaded[0], loaded[1], args.metric)
    except ValueError as error:
        raise ServingUsageError(f"{error}.") from error
    smoke = any(one.smoke for one in loaded)
    if context.console.as_json:
        rows = [asdict(pair) for pair in pairs]
        context.console.json({"metric": args.metric, "smoke": smoke, "comparisons": rows})
        return Exit.DONE
    made = table(pairs, args.metric)
    context.console.text(made.markdown() if args.markdown else made.text())
    if smoke:
        context.console.text("Of smoke runs: nothing here is a velocity of anything.")
    return Exit.DONE


def _trace(args: argparse.Namespace, context: Context) -> int:
    from dataclasses import asdict, replace

    from serving.bench.trace import AGENTS, dump, generate, summary

    made = generate(replace(AGENTS, agents=args.agents, turns=args.turns), args.seed)
    told = summary(made)
    if context.console.as_json:
        context.console.json({**asdict(told), "requests_list": [asdict(request) for request in made]})
        return Exit.DONE
    context.console.text(dump(made))
    context.console.note(
        f"{told.agents} agents, {told.requests} requests, {told.input_tokens:,} prompt tokens, of which"
        f" {told.reused:.1%} were there before; the longest sequence has {told.longest_tokens:,}"
    )
    return Exit.DONE


def tokens(text: str) -> int:
    """A number of tokens from ``4096`` or ``4k``, where k is 1,024."""
    match = re.fullmatch(r"(\d+)([kK]?)", text)
    number = int(match[1]) * (1024 if match[2] else 1) if match else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a number of tokens as 4096 or 4k: {text}")
    return number


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on: {text}")
    return int(text)


def _depths(text: str) -> tuple[int, ...]:
    return tuple(sorted({tokens(part.strip()) for part in text.split(",")}))


COMMAND: Final = Command(
    name="bench",
    help="measure a node, replay agents on it, and compare what was measured",
    description="""Measure a node, replay agents on it, and compare what was measured.

decode, runtimes, replay and gate start the engines that they need from a profile, load them with vLLM's own
generator, and write results as JSON lines with machine, versions and commands, a table, and charts. What was
measured stays when they are ended, and the same command goes on from there. Exit status 1 where a cell
failed.""",
    examples=(
        "mcp-offload-serving bench decode qwen3.6-27b-2xh100",
        "mcp-offload-serving bench gate cpu-smoke --model ./SmolLM2-135M-Instruct --smoke",
        "mcp-offload-serving bench compare before/ after/ --metric throughput",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
