"""``python -m kernel_agent.record``: one trace for each prompt of prompts.jsonl, several at a time.

It goes on where it was stopped: prompts with a trace in the file are left out. Answers are short and of the
shape `expression`, so that a model of any size takes part; each prompt has a seed of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import shutil
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .check import compilers
from .desk import Refused, desk
from .graph import PAGES, Agent, stored_pages
from .model import Endpoint
from .trace import Engine, Trace, features, watched

PROMPTS = Path(__file__).with_name("prompts.jsonl")
TEXT_CHARS = 60
ANSWER_TOKENS = 200
TEMPERATURE = 0.8


@dataclass(frozen=True, slots=True)
class Recording:
    """What all runs share."""

    options: argparse.Namespace
    engine: Engine
    desk: Any
    pages: dict[str, str]
    folder: Path
    until: float

    async def one(self, prompt: dict[str, Any], free: asyncio.Semaphore) -> None:
        """Record one prompt, unless the time is over."""
        options = self.options
        async with free:
            if time.monotonic() > self.until:
                return
            seed = zlib.crc32(prompt["id"].encode())
            run = f"{options.name}-{self.engine.cache_dtype}-{prompt['id']}"
            endpoint = Endpoint(
                options.url, options.model, temperature=TEMPERATURE, seed=seed, answer_tokens=ANSWER_TOKENS,
                session=run,
            )  # fmt: skip
            trace = Trace(
                run, prompt["id"], prompt["family"], prompt["in_scope"], features(prompt["text"]),
                options.name, "expression", options.retries, seed,
            )  # fmt: skip
            agent = Agent(
                endpoint, self.desk, compilers(), self.folder / prompt["id"], prompt["text"], trace,
                self.pages, options.retries, TEXT_CHARS, "expression",
            )  # fmt: skip
            try:
                await agent.run(self.engine)
            except Refused as error:
                print(f"{run}: {error}", file=sys.stderr)
                return
            with options.out.open("a", encoding="utf-8") as file:
                file.write(trace.line() + "\n")


async def _record(options: argparse.Namespace) -> int:
    folder = Path(tempfile.mkdtemp(prefix="kernel-agent-"))
    until = time.monotonic() + options.seconds
    server = [
        *shlex.split(options.server), "--store", str(folder / "store"), "--state", str(folder / "state"),
    ]  # fmt: skip
    tools = compilers()
    try:
        async with (
            desk(server, [folder, PAGES], [*tools.commands, f"{folder}/"], "--lease", "off") as tool,
            watched(options.metrics, options.engine_pid) as engine,
        ):
            recording = Recording(options, engine, tool, await stored_pages(tool), folder, until)
            missing = _missing(options, engine)
            free = asyncio.Semaphore(options.at_a_time)
            await asyncio.gather(*(recording.one(prompt, free) for prompt in missing))
            return len(_missing(options, engine))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _missing(options: argparse.Namespace, engine: Engine) -> list[dict[str, Any]]:
    prompts = [json.loads(line) for line in PROMPTS.read_text(encoding="utf-8").splitlines()]
    there = set[str]()
    if options.out.exists():
        there = {json.loads(line)["run"] for line in options.out.read_text(encoding="utf-8").splitlines()}
    # In an order that has nothing to do with families: an engine's memory grows while it runs.
    prompts.sort(key=lambda prompt: zlib.crc32(f"order {prompt['id']}".encode()))
    return [p for p in prompts if f"{options.name}-{engine.cache_dtype}-{p['id']}" not in there]


def main() -> int:
    """0 when every prompt has a trace, else 1."""
    parser = argparse.ArgumentParser(prog="python -m kernel_agent.record", description=__doc__)
    parser.add_argument("--url", required=True, help="an OpenAI-compatible endpoint, without a slash behind")
    parser.add_argument("--metrics", required=True, help="the engine's /metrics")
    parser.add_argument("--engine-pid", type=int, help="the engine's process")
    parser.add_argument("--model", required=True, help="the model's name there")
    parser.add_argument("--name", required=True, help="the model's name in the traces")
    parser.add_argument("--out", type=Path, required=True, help="traces, JSON lines; added to")
    parser.add_argument("--retries", type=int, default=6)
    parser.add_argument("--at-a-time", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3600, help="no run begins later")
    parser.add_argument("--server", default="mcp-offload")
    missing = asyncio.run(_record(parser.parse_args()))
    print(f"{missing} prompts have no trace yet")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
