"""What the gate adds to an engine: ``python -m serving.bench.overhead``.

An engine without a model, the gate before it in mode ``off`` and in mode ``on``, and a client, each in a
process of its own. Every figure of the gate stands beside the engine's own of the same run, taken in turn.
Prints a table; ``--write`` puts it between the marks of a page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from serving.bench.fake import PACE_FIELD
from serving.bench.load import Connection, Streamed, stream

PATH: Final = "/v1/chat/completions"
STREAMS: Final = 64
MARKS: Final = ("<!-- overhead -->", "<!-- /overhead -->")
_TICK_SECONDS: Final = 1.0 / os.sysconf("SC_CLK_TCK")
_PROMPT: Final = "Look at the failing test and say what is wrong with it. " * 70


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; a goal is None where there is none."""

    what: str
    engine: str
    off: str
    on: str
    goal: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """A server that was started."""

    url: str
    pid: int

    def cpu_seconds(self) -> float:
        """What it has computed so far, in user and system mode.

        Source: proc_pid_stat(5), fields 14 and 15.
        """
        told = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) * _TICK_SECONDS


@dataclass(frozen=True, slots=True)
class Rig:
    """The engine, and the gate before it in both modes."""

    engine: Process
    off: Process
    on: Process

    @property
    def all(self) -> tuple[Process, Process, Process]:
        """In the order of a table's columns."""
        return (self.engine, self.off, self.on)


@contextmanager
def rig() -> Generator[Rig]:
    """Start everything; ends it all on leaving."""
    with ExitStack() as stack:
        engine = stack.enter_context(_started("serving.bench.fake"))
        before = ("--json", "gate", "--engine", engine.url, "--listen", "127.0.0.1:0")
        off = stack.enter_context(_started("serving", *before, "--mode", "off"))
        on = stack.enter_context(_started("serving", *before, "--mode", "on"))
        yield Rig(engine, off, on)


@contextmanager
def _started(module: str, *arguments: str) -> Generator[Process]:
    line = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline()
            if not told:
                raise ConnectionError(f"{' '.join(line)} ended with {process.wait()}")
            yield Process(json.loads(told)["listening"], process.pid)
        finally:
            process.terminate()


def latency(made: Rig, requests: int) -> list[Row]:
    """Whole answers one after the other, the same prompt each time so that it is counted but once."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": _PROMPT}], "max_tokens": 16})
    connections = [Connection(process.url) for process in made.all]
    taken: list[list[float]] = [[] for _ in connections]
    for number in range(requests + 50):
        for connection, seconds in zip(connections, taken, strict=True):
            spent = connection.post(PATH, body.encode())
            if number >= 50:
                seconds.append(spent)
    for connection in connections:
        connection.close()
    middles = [median(seconds) for seconds in taken]
    lasts = [_quantile(seconds, 0.99) for seconds in taken]
    added = [_milliseconds(middle - middles[0]) for middle in middles]
    return [
        Row("a request of 4 kB, median", *map(_milliseconds, middles)),
        Row("a request of 4 kB, 99th of 100", *map(_milliseconds, lasts)),
        Row("**added to a request, median**", "", added[1], added[2], "<= 2 ms"),
    ]


def throughput(made: Rig, tokens: int, pace_seconds: float, rounds: int) -> list[Row]:
    """Many streams at the pace of an engine, and what the gate computes for them."""
    spent = [0.0, 0.0, 0.0]
    runs: list[list[Streamed]] = [[], [], []]
    for _ in range(rounds):
        for column, process in enumerate(made.all):
            before = process.cpu_seconds()
            runs[column].append(asyncio.run(stream(process.url, PATH, _bodies(tokens, pace_seconds))))
            spent[column] += process.cpu_seconds() - before
    events = STREAMS * tokens
    rates = [events / median(run.seconds for run in column) for column in runs]
    delays = [[delay for run in column for delay in run.delays] for column in runs]
    cpu = [events * rounds / seconds if seconds else 0.0 for seconds in spent]
    pace = f"{STREAMS} streams of {1 / pace_seconds:.0f} tokens/s"
    lost = [f"{max(0.0, 1 - rate / rates[0]):.2%}" for rate in rates]
    return [
        Row(f"{pace}, tokens/s", *(f"{rate:,.0f}" for rate in rates)),
        Row("**throughput lost**", "", lost[1], lost[2], "<= 2 %"),
        Row("from engine to client, median", *(_milliseconds(median(each)) for each in delays)),
        Row("from engine to client, 99th of 100", *(_milliseconds(_quantile(each, 0.99)) for each in delays)),
        Row("**chunks per CPU-second**", *(f"{each:,.0f}" for each in cpu), goal=">= 5,000"),
    ]


def unpaced(made: Rig, tokens: int, rounds: int) -> list[Row]:
    """Many streams as fast as everything goes."""
    engine, off, on = (
        median(asyncio.run(stream(process.url, PATH, _bodies(tokens, 0.0))).seconds for _ in range(rounds))
        for process in made.all
    )
    events = STREAMS * tokens
    what = f"{STREAMS} streams without a pace, tokens/s"
    return [Row(what, f"{events / engine:,.0f}", f"{events / off:,.0f}", f"{events / on:,.0f}")]


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    lines = [
        "| What | Engine alone | Gate, `off` | Gate, `on` | Goal |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [f"| {row.what} | {row.engine} | {row.off} | {row.on} | {row.goal} |" for row in rows]
    return "\n".join(lines) + "\n"


def between_marks(page: str, made: str) -> str:
    """A page with what stands between :data:`MARKS` replaced.

    Raises:
        ValueError: the page lacks them.
    """
    before, begin, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        raise ValueError(f"the page has no {MARKS[0]} ... {MARKS[1]}")
    return f"{before}{begin}\n{made}{end}{after}"


def _bodies(tokens: int, pace_seconds: float) -> list[dict[str, Any]]:
    return [
        {
            "model": "m",
            "messages": [{"role": "user", "content": f"{number} {_PROMPT}"}],
            "max_tokens": tokens,
            PACE_FIELD: pace_seconds,
        }
        for number in range(STREAMS)
    ]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _quantile(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def main() -> None:
    """Measure, print, and write where told."""
    parser = argparse.ArgumentParser(prog="python -m serving.bench.overhead")
    parser.add_argument("--requests", type=int, default=1000, help="whole answers (1000)")
    parser.add_argument("--tokens", type=int, default=300, help="of each stream (300)")
    parser.add_argument("--pace", type=float, default=30.0, help="tokens a second of each stream (30)")
    parser.add_argument("--rounds", type=int, default=3, help="of streams, in turn (3)")
    parser.add_argument("--write", type=Path, help="a page with the marks")
    args = parser.parse_args()
    with rig() as made:
        rows = latency(made, args.requests)
        rows += throughput(made, args.tokens, 1 / args.pace, args.rounds)
        rows += unpaced(made, args.tokens, args.rounds)
    told = table(rows)
    sys.stdout.write(told)  # noqa: TID251  a program of its own
    if args.write:
        system = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
        head = f"Measured with {system}, load {os.getloadavg()[1]:.1f}.\n\n"
        page = between_marks(args.write.read_text("utf-8"), head + told)
        args.write.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
