"""The page about the proof, written from what was measured."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.proof import report
from tests.benchmarks.proof.report import LEASE_TOKENS, Record

MODEL, GPUS = "llama-3.1-70b-fp8", 8
HEAD = """<!-- Written by `make proof`; edit tests/benchmarks/proof/page.py instead. -->

# The central proof

An agent works on five tasks whose answers are known, in conversations of their own: it finds the root
cause in the log of a CI job, follows a failing test through three files and mends it, renames a function
across a repository, compares two builds, and migrates a module. What it does to the files is checked by
tests that really run.

```
make proof                            # raw and the three ways of ours, on vLLM for the CPU
make proof PROOF_ARGS=--peers         # the two strongest peers as well, installed for it
```

The model is a script behind an OpenAI-compatible endpoint. It sees the prompt of each turn and nothing
else: whatever it passes to a tool, notes, or answers must be made of words that stand in that very
prompt, so that what was compacted away must be read again, and each task fails when one of its results is
taken out. Client, MCP servers, gate and engine are real: vLLM {engine} computes every prompt with a
random-weight model of 131,072 positions and SmolLM2's tokenizer; its own counters are shown. Scripts show
what a way to work allows, not what a model makes of it.

- **raw**: tools that read 250 lines of a file at a time, edit, write and run tests; nothing leaves the
  context.
- **MCP only**: `mcp-offload serve` with `run_command` for pytest and a hard lease, in the place of those
  tools.
- **gateway only**: the tools of raw; the gate replaces old results and arguments by handles
  (`--compaction on`).
- **both**: mcp-offload's tools through the gate.
"""

NULLS = """## What it does not show

- With both, the gate never had to act: what mcp-offload's tools send stays far below the lease. Its share is
  seen where an agent has only the tools of raw.
- The gate alone keeps every prompt under the lease, and spares the engine time, but no computing: each step
  of compaction begins a new prefix, so that as many tokens are computed as raw, or a few more. Raw profits
  here from a prefix cache that nobody else needs.
- context-mode stays under the limit, too. Most of its prompts are the definitions of its tools; its agent
  writes programs, and writes them right at the first go.
- ctxtual lets pass what has less than 20,000 characters, as a page of sources has.
- A raw agent that searches or reads only the end of a log would need less than raw does here.

"""


def page(measured: Sequence[Record], engine: str) -> str:
    """The whole page."""
    parts = [
        HEAD.format(engine=engine),
        "\n## What came of it\n\n",
        report.table(measured).markdown(),
        "\nTokens are those of the engine's tokenizer. *Peak*: the largest prompt of a task. *Sent*: all "
        "prompts together. *Computed*: what its prefix cache did not hold. *Seconds*: the engine's time for "
        f"prompts and one token each ({platform.machine()}, CPU).\n\n",
        "![An agent's prompts](proof.svg)\n\n",
        report.ratios(measured).markdown(),
        "\nGeometric means over tasks that both solved, with 95 % intervals by Student's t over tasks.\n\n",
        "### Peak by task\n\n",
        report.tasks(measured).markdown(),
        f"\nThe lease is {LEASE_TOKENS:,} tokens.\n\n",
        NULLS,
        "## What it would mean on H100s\n\n",
        report.node(measured, MODEL, GPUS).markdown(),
        f"\nModelled by `mcp-offload-serving plan {MODEL} --gpu h100-sxm --gpus {GPUS}` with each way's "
        "largest prompt as the depth of all agents: how many fit into the KV pool, and the velocity of one "
        "alone. Not measured.\n",
    ]
    return "".join(parts)


def rewrite(docs: Path) -> None:
    """Write the page and the plot anew from what the last run kept."""
    kept = json.loads((docs / "proof.json").read_bytes())
    write(kept["measured"], kept["engine"], docs)


def write(measured: Sequence[Record], engine: str, docs: Path) -> None:
    """The page and its plot."""
    (docs / "proof.md").write_text(page(measured, engine), encoding="utf-8")
    (docs / "proof.svg").write_bytes(report.plot(measured, f"vLLM {engine}, random weights, CPU"))
