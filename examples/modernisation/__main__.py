"""``python -m modernisation``: turn the legacy modules into Java and prove that nothing changed."""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from .check import Layout
from .model import Endpoint
from .swarm import Report, staffed

HERE = Path(__file__).parent


def main() -> int:
    """Run the swarm; 0 when every check was made and held, else 1."""
    options = _options()
    layout = Layout(HERE / "legacy", tuple(sorted((HERE / "input").glob("*.dat"))), options.out.resolve())
    endpoint = Endpoint(
        options.url.rstrip("/"), options.model, options.key, options.answer_tokens, options.text_chars
    )
    report = asyncio.run(_run(endpoint, layout, shlex.split(options.server), options.retries))
    if options.json:
        print(json.dumps({"ok": report.ok, **asdict(report)}))
    else:
        _show(report)
    return 0 if report.ok else 1


async def _run(endpoint: Endpoint, layout: Layout, server: list[str], retries: int) -> Report:
    async with staffed(endpoint, layout, server, retries, lambda line: print(line, file=sys.stderr)) as swarm:
        return await swarm.migrate()


def _show(report: Report) -> None:
    for step, state in report.steps.items():
        print(f"{step:24} {state}")
    print(f"\n{'agent':14} {'questions':>9} {'largest prompt':>15}  lease")
    for name, cost in report.agents.items():
        print(f"{name:14} {cost['questions']:9} {cost['peak_prompt_tokens']:14,}t  {cost['lease']}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m modernisation", description=__doc__)
    parser.add_argument(
        "--url", required=True, help="an OpenAI-compatible endpoint: http://127.0.0.1:8000/v1"
    )
    parser.add_argument("--model", required=True, help="the model's name there")
    parser.add_argument("--key", default="none", help="its bearer key")
    parser.add_argument("--out", type=Path, default=Path("modernised"), help="default: ./modernised")
    parser.add_argument("--retries", type=int, default=6, help="of one step; default 6")
    parser.add_argument("--answer-tokens", type=int, default=8000, help="most tokens of an answer")
    parser.add_argument("--text-chars", type=int, default=20_000, help="most characters of a text in it")
    parser.add_argument("--server", default="mcp-offload", help="the server's command; default mcp-offload")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
