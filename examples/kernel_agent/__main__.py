"""``python -m kernel_agent``: have a kernel written, compiled and checked."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import uuid
from pathlib import Path

from .check import NoCompiler, compilers
from .desk import Refused, desk
from .graph import PAGES, Agent, stored_pages
from .model import Endpoint, NoAnswer
from .trace import Trace, features, watched


def main() -> int:
    """Run the agent; 0 when the kernel is right or the task is out of scope, else 1."""
    options = _options()
    try:
        trace = asyncio.run(_run(options))
    except (NoCompiler, NoAnswer, Refused) as error:
        print(f"kernel_agent: {error}", file=sys.stderr)
        return 1
    if options.trace is not None:
        with options.trace.open("a", encoding="utf-8") as file:
            file.write(trace.line() + "\n")
    if options.json:
        print(trace.line())
    else:
        _show(trace, options.out)
    return 0 if trace.outcome in ("solved", "out of scope") else 1


async def _run(options: argparse.Namespace) -> Trace:
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tools = compilers()
    run = uuid.uuid4().hex
    endpoint = Endpoint(
        options.url.rstrip("/"), options.model, options.key, not options.plain, options.temperature,
        options.seed, options.answer_tokens, session=run,
    )  # fmt: skip
    trace = Trace(
        run, "-", "-", None, features(options.prompt), options.model, options.shape, options.retries,
        options.seed,
    )  # fmt: skip
    async with (
        desk(shlex.split(options.server), [folder, PAGES], [*tools.commands, f"{folder}/"]) as tool,
        watched(options.metrics, options.engine_pid) as engine,
    ):
        agent = Agent(
            endpoint, tool, tools, folder, options.prompt, trace, await stored_pages(tool),
            options.retries, options.text_chars, options.shape, lambda line: print(line, file=sys.stderr),
        )  # fmt: skip
        return await agent.run(engine)


def _show(trace: Trace, folder: Path) -> None:
    print(f"{'node':10} {'attempt':>7} {'prompt':>8} {'answer':>7}")
    for event in trace.nodes:
        asked = (
            "bad answer" if event.bad_answer else f"{event.prompt_tokens:7,}t {event.completion_tokens:6,}t"
        )
        print(f"{event.node:10} {event.attempt:7} {asked}")
    print(f"{trace.outcome}" + (f": {folder / 'kernel.cu'}" if trace.outcome == "solved" else ""))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m kernel_agent", description=__doc__)
    parser.add_argument("prompt", help="what the kernel shall do, in words")
    parser.add_argument(
        "--url", required=True, help="an OpenAI-compatible endpoint: http://127.0.0.1:8000/v1"
    )
    parser.add_argument("--model", required=True, help="the model's name there")
    parser.add_argument("--key", default="none", help="its bearer key")
    parser.add_argument("--out", type=Path, default=Path("kernel"), help="default: ./kernel")
    parser.add_argument("--retries", type=int, default=6, help="attempts after the first; default 6")
    parser.add_argument("--plain", action="store_true", help="tell the schema in words: no json_schema there")
    parser.add_argument("--shape", choices=("source", "expression"), default="source")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--answer-tokens", type=int, default=2000, help="most tokens of an answer")
    parser.add_argument("--text-chars", type=int, default=4000, help="most characters of a text in it")
    parser.add_argument("--server", default="mcp-offload", help="the server's command; default mcp-offload")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="append the run as a line of JSON")
    parser.add_argument("--metrics", metavar="URL", help="sample the engine's /metrics for the trace")
    parser.add_argument("--engine-pid", type=int, metavar="PID", help="sample this process's memory, too")
    parser.add_argument("--json", action="store_true", help="print the trace")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
