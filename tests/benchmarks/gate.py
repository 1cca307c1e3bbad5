"""Agents against vLLM's scheduler on a simulated node: ``make bench-gate``.

Prepares the environment that has vLLM, runs every policy on both workloads, and writes the table.
``--from FILE`` makes the table from runs that were recorded before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from serving.bench.table import table

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = {
    "overcommitted": ("--workload", "overcommitted"),
    "light": ("--workload", "light", "--blocks", "6000"),
}
POLICIES = ("default", "expected+cap", "strict+cap", "default+tier", "expected+cap+tier")

HEADER = """# Benchmarks of the gate

Measured by `make bench-gate` (`python -m tests.benchmarks.gate`): vLLM's own scheduler and KV-cache manager
(0.32, run on a CPU, prefix caching on, chunks of 2,048 tokens), driven by a clock that takes each step to
last as long as the memory bandwidth or the arithmetic of two H100 allows for Llama-3.x-70B with FP8 weights
and KV cache. **No GPU ran.** Attention's arithmetic is left out, half of the dense FP8 rate and 80 % of the
bandwidth are assumed to be reached. The ledger is the one that the gate runs.

`default` is vLLM alone. `expected` and `strict` say what run leases hold; `+cap` that live agents are capped
when their prefixes are recomputed. `+tier` has a KV-cache tier in host memory, which is only modelled: it
holds every token ever computed, and reading it back takes the time of PCIe. *recomputed* is prompt tokens
computed, or read back, over prompt tokens that were new; the bound is the 95 % upper bound of the share of
requests preempted.
"""

TEXTS = {
    "overcommitted": """
## Overcommitted

40 agents of 12 turns begin at once; their contexts come to 41,000 tokens each, about 3.4 times what the pool
of 480,000 holds. Output: lognormal, median 444 tokens, limit 4,096. Tools take 4 s on average.
""",
    "light": """
## Light

8 agents of 4 turns on a pool of 96,000 tokens, 1.6 to 2.1 times overcommitted at the peak: the gate should
cost nothing here.
""",
}

READING = """
## Reading it

- vLLM alone preempts about 1.5 % of the requests, and its pool looks well used. But nine of ten prompt
  tokens are computed again, because idle agents' prefixes are evicted between their turns.
- What gains is the cap on live agents: fewer run at once, and their prefixes stay. Run leases see to it that
  none of them is preempted.
- Agents wait longer for their *first* turn under the cap, and finish earlier on average.
- **A tier in host memory gains more than the cap**: what is evicted is read back rather than computed again.
  vLLM counts it as cached, so that the gate measures no recomputation and the cap never falls: within 1 % of
  the same node without the gate, and nothing is preempted. Where the node can have such a tier
  (`--kv-offloading-size`), try it first.
- `strict` leases hold room for 4,096 tokens where 600 are written, which costs where the pool is small.
- The cap's constants were tuned on seed 1. Another load may want others.
"""


def main() -> None:
    """Run, or read what was run, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gate", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--from", dest="recorded", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page here, else print it")
    args = parser.parse_args()
    runs = _recorded(args.recorded) if args.recorded else _run(args.seeds)
    page = HEADER
    for name, text in TEXTS.items():
        page += text + "\n" + table(run for run in runs if run["workload"] == name)
    page += READING
    if args.write:
        args.write.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


def _run(seeds: list[int]) -> list[dict[str, object]]:
    from tests.serving import environment, models

    variables = environment.variables(Path.home()) | {"PYTHONPATH": str(ROOT), "VLLM_LOGGING_LEVEL": "ERROR"}
    runs: list[dict[str, object]] = []
    for options in WORKLOADS.values():
        program = [str(environment.python()), "-m", "serving.bench.simulate", "--model", str(models.tiny())]
        line = [*program, *options, "--policy", *POLICIES, "--seeds", *map(str, seeds)]
        with subprocess.Popen(
            line, stdout=subprocess.PIPE, env=dict(os.environ) | variables, text=True
        ) as process:
            assert process.stdout is not None
            runs += _lines(process.stdout)
        if process.returncode:
            raise SystemExit(f"the simulation ended with {process.returncode}")
    return runs


def _recorded(paths: list[Path]) -> list[dict[str, object]]:
    return [run for path in paths for run in _lines(path.read_text(encoding="utf-8").splitlines())]


def _lines(lines: object) -> list[dict[str, object]]:
    runs: list[dict[str, object]] = []
    for line in lines:  # type: ignore[attr-defined]
        if line.startswith("{"):
            sys.stderr.write(line.rstrip() + "\n")
            runs.append(json.loads(line))
    return runs


if __name__ == "__main__":
    main()
