"""What was measured, as JSON that runs add to, and as a section of the benchmarks' page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.replay.replay import Replay
from tests.benchmarks.replay.systems import LIMIT_TOKENS, RESERVE_TOKENS

#: Order of the columns, and what they are called.
SYSTEMS = {
    "raw": "raw",
    "context-mode": "context-mode 1.0.169",
    "ctxtual": "ctxtual 0.5.0",
    "ours": "mcp-offload",
}
LEASE_TOKENS = LIMIT_TOKENS - RESERVE_TOKENS

SECTION = """## A scripted agent

Measured by `make bench-replay` (raw and mcp-offload) and `make bench-peers` (all four), where the folder of
samples is at hand. An agent answers {questions} questions, whose {answers} answers are known beforehand,
one after another in one context that nothing leaves: the root cause in a CI log, a field of a large result,
the body of a function, what differs between two runs, a failing test followed through three files. The
logs, sources and results of MCP servers are real ones; five questions are about a small project of our own.

The agent is a script for each system that uses its tools as its documentation teaches. Whatever it passes
to a tool, and whatever it looks for in a text, must be made of words that were delivered to it before for
that question; each answer must stand in a result; and without any one of its results a question must not be
solved. The harness checks all three.

{systems}
Tokens are counted exactly (o200k). *Definitions* are tools and instructions; *delivered* is that and all
results; the *peak* is the whole context at its end, with questions, calls and answers. mcp-offload ran as
`serve` and `wrap` with `--lease hard`, so that it could not have delivered more than {lease:,} tokens. Raw
needs {times:,.0f} times its peak. Of a result that a server gives as text and as structured content only the
text is counted.

{tasks}
Tokens of each question: its text, calls, results and answers. The fewest are in bold.

- context-mode stays under the limit, too; half of its peak are the definitions of its tools. It does not take
  results of other servers out of the context; it was given them as files, and the way in which they are laid
  out. Its agent writes a program for each look, and writes it right at the first go.
- ctxtual passes what has less than 20,000 characters. It fails to make an outline of
  `pep701_test_fstring.py` and passes all 68,698; that defect is 17,000 of its tokens.
- mcp-offload spends most on one cause of many failures: the digest of a long log comes with the list of its
  failures, which was asked for within 800 tokens.
- We wrote the scripts. They show what a system allows, not what a model makes of it.
"""


def record(path: Path, replays: list[Replay]) -> dict[str, Any]:
    """Add what was measured to a JSON file; what others measured on other tasks is dropped."""
    old: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    for replay in replays:
        old[replay.system] = {
            "definitions_tokens": replay.definitions_tokens,
            "delivered_tokens": replay.delivered_tokens,
            "peak_tokens": replay.peak_tokens,
            "answers_found": replay.found,
            "answers": replay.wanted,
            "tasks": {
                done.task.name: {
                    "tokens": done.tokens,
                    "calls": len(done.calls),
                    "answers": len(done.task.answers),
                    "answers_found": 0 if done.failure else done.found,
                    "failure": done.failure.split(":")[0],
                }
                for done in replay.outcomes
            },
        }
    asked = [done.task.name for done in replays[-1].outcomes]
    measured = {name: old[name] for name in SYSTEMS if name in old and list(old[name]["tasks"]) == asked}
    path.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    return measured


def section(measured: Mapping[str, Any]) -> str:
    """The section of the page."""
    ours = measured["ours"]
    return SECTION.format(
        questions=len(ours["tasks"]),
        answers=ours["answers"],
        systems=systems_table(measured),
        tasks=tasks_table(measured),
        lease=LEASE_TOKENS,
        times=measured["raw"]["peak_tokens"] / ours["peak_tokens"],
    )


def systems_table(measured: Mapping[str, Any]) -> str:
    """A row for each system."""
    rows = [("System", "Definitions", "Delivered", "Peak", f"Under {LIMIT_TOKENS:,}", "Answers found")]
    rows.append(tuple("---" if at in (0, 4) else "---:" for at in range(6)))
    for name, one in measured.items():
        figures = (f"{one[f'{what}_tokens']:,}" for what in ("definitions", "delivered", "peak"))
        under = "yes" if one["peak_tokens"] <= LIMIT_TOKENS else "NO"
        rows.append((SYSTEMS[name], *figures, under, f"{one['answers_found']} of {one['answers']}"))
    return _markdown(rows)


def tasks_table(measured: Mapping[str, Any]) -> str:
    """A row for each question: its tokens, or how many of its answers were found where not all were."""
    rows = [("Question", *(SYSTEMS[name] for name in measured))]
    rows.append(("---", *("---:" for _ in measured)))
    for task in measured["ours"]["tasks"]:
        ran = [one["tasks"][task] for one in measured.values()]
        right = [one["tokens"] for one in ran if one["answers_found"] == one["answers"]]
        rows.append((task, *(_cell(one, min(right, default=0)) for one in ran)))
    return _markdown(rows)


def _cell(one: Mapping[str, Any], fewest: int) -> str:
    if one["answers_found"] < one["answers"]:
        return f"not found ({one['tokens']:,})"
    return f"**{one['tokens']:,}**" if one["tokens"] == fewest else f"{one['tokens']:,}"


def _markdown(rows: list[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)
