"""Replay a scripted agent: ``python -m tests.benchmarks.replay [--systems NAME ...] [--own]``.

Exits with 1 where mcp-offload did not find every answer within its lease, or where a system solved a task
without one of its results.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.replay import peers, systems
from tests.benchmarks.replay.agent import Script
from tests.benchmarks.replay.replay import Replay, replay
from tests.benchmarks.replay.report import (
    LEASE_TOKENS,
    record,
    section,
    systems_table,
    tasks_table,
)
from tests.benchmarks.replay.scripts import context_mode, ctxtual, ours, raw
from tests.benchmarks.replay.systems import LIMIT_TOKENS, ROOT, Server
from tests.benchmarks.replay.tasks import prepare
from tests.benchmarks.sections import write_section

MEASURED = Path(__file__).resolve().parent / "measured.json"
SYSTEMS: dict[str, tuple[Callable[[Path, Path], list[Server]], dict[str, Script], frozenset[str]]] = {
    "raw": (systems.raw, raw.SCRIPTS, frozenset()),
    "context-mode": (peers.context_mode, context_mode.SCRIPTS, context_mode.KNOWN),
    "ctxtual": (peers.ctxtual, ctxtual.SCRIPTS, frozenset()),
    "ours": (systems.ours, ours.SCRIPTS, frozenset()),
}


def run(system: str, corpus: Path | None) -> tuple[Replay, list[str]]:
    """Replay one system in folders of its own; what it did, and what should not have been."""
    starting, scripts, known = SYSTEMS[system]
    with tempfile.TemporaryDirectory(prefix="mcp-offload-replay-") as made:
        folder, home = Path(made) / "work", Path(made) / "home"
        folder.mkdir()
        home.mkdir()
        tasks = prepare(folder, corpus)
        servers = starting(folder, home)
        done = asyncio.run(replay(system, servers, scripts, tasks, folder, home, known))
        wrong = [f"{system} does not need the result of {call}" for call in done.dispensable]
        if system == "ours":
            wrong += _beyond(done, systems.delivered_by_ours(folder, home)["delivered_tokens"])
    return done, wrong


def _beyond(done: Replay, recorded_tokens: int) -> list[str]:
    """Where mcp-offload is not within its lease, or has not found all."""
    wrong = [f"{one.task.name}: {one.failure}" for one in done.outcomes if one.failure]
    for what, tokens, most in (
        ("delivered, by its own ledger", recorded_tokens, LEASE_TOKENS),
        ("delivered", done.delivered_tokens, LEASE_TOKENS),
        ("at its peak", done.peak_tokens, LIMIT_TOKENS),
    ):
        if tokens > most:
            wrong.append(f"mcp-offload: {tokens} tokens {what}, and {most} are allowed")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.replay", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=["raw", "ours"], metavar="NAME")
    parser.add_argument("--own", action="store_true", help="only the tasks whose inputs are committed")
    parser.add_argument("--write", type=Path, help="also write the section of this page, and measured.json")
    given = parser.parse_args()
    corpus = Path(os.environ.get("MCP_OFFLOAD_TEST_CORPUS") or ROOT.parent / "shared" / "corpus")
    if not given.own and not corpus.is_dir():
        parser.error("no corpus: MCP_OFFLOAD_TEST_CORPUS names no folder; --own does without")
    replays: list[Replay] = []
    wrong: list[str] = []
    for system in given.systems:
        done, broken = run(system, None if given.own else corpus)
        replays.append(done)
        wrong += broken
        sys.stderr.write(
            f"{system}: {done.found} of {done.wanted}, {done.peak_tokens:,} tokens at the peak\n"
        )
        sys.stderr.writelines(
            f"  {one.task.name}: {one.failure[:300]}\n" for one in done.outcomes if one.failure
        )
    with tempfile.TemporaryDirectory() as made:
        keep = given.write and not given.own
        measured = record(MEASURED if keep else Path(made) / "measured.json", replays)
    if given.write and not given.own:
        write_section(given.write, "`make bench-replay` and `make bench-peers`", section(measured))
    sys.stdout.write(f"{systems_table(measured)}\n")
    if "ours" in measured:
        sys.stdout.write(tasks_table(measured))
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
