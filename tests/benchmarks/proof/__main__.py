"""The central proof: ``python -m tests.benchmarks.proof [--peers] [--systems NAME ...] [--write DOCS]``.

Exits with 1 where a task was not solved under the lease with mcp-offload, where a raw prompt stayed small, or
where a task did not need one of its results.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.proof import page, report
from tests.benchmarks.proof.proof import solve
from tests.benchmarks.proof.systems import PEERS, SYSTEMS, compacting_gate
from tests.benchmarks.proof.tasks import works
from tests.serving import environment, models, node

PORT = 8490
FLAGS = (
    "--max-model-len", "131072", "--block-size", "128", "--num-gpu-blocks-override", "1100",
    "--max-num-seqs", "2", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.proof", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, metavar="NAME", help=", ".join(SYSTEMS))
    parser.add_argument("--peers", action="store_true", help="also the two peers, installed in .venvs")
    parser.add_argument("--tasks", nargs="+", metavar="NAME", help="only these")
    parser.add_argument(
        "--write", type=Path, metavar="DOCS", help="write proof.md, proof.svg and proof.json there"
    )
    parser.add_argument("--rewrite", type=Path, metavar="DOCS", help="only write the page there anew")
    given = parser.parse_args()
    if given.rewrite is not None:
        page.rewrite(given.rewrite)
        return 0
    names = given.systems or [name for name in SYSTEMS if given.peers or name not in PEERS]
    chosen = [one for one in works() if not given.tasks or one.task.name in given.tasks]
    measured: list[report.Record] = []
    with tempfile.TemporaryDirectory(prefix="mcp-offload-proof-") as made:
        home = Path(made)
        with node.engine(home / "engine", models.tiny(), *FLAGS, port=PORT) as engine:
            for name in names:
                for at, one in enumerate(chosen):
                    place = home / f"{name.replace(' ', '-')}-{at}"
                    place.mkdir()
                    done = asyncio.run(solve(SYSTEMS[name], one, engine.url, compacting_gate, place))
                    measured += report.record([done])
                    _tell(measured[-1])
    sys.stdout.write(report.table(measured).text())
    if given.write is not None:
        version = _version()
        kept = {"engine": version, "measured": measured}
        (given.write / "proof.json").write_text(json.dumps(kept) + "\n", encoding="utf-8")
        page.write(measured, version, given.write)
    failed = report.wrong(measured)
    sys.stderr.writelines(f"{line}\n" for line in failed)
    return 1 if failed else 0


def _tell(one: report.Record) -> None:
    state = "solved" if one["solved"] else f"failed: {one['failure']}"
    what = f"{one['system']}, {one['task']}: {report.peak(one):,} tokens at the peak"
    sys.stderr.write(f"{what} in {len(one['prompts'])} turns, {state}\n")


def _version() -> str:
    code = "import importlib.metadata as m; print(m.version('vllm'))"
    line = [str(environment.python()), "-c", code]
    try:
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
    except subprocess.CalledProcessError:
        return "unknown"


if __name__ == "__main__":
    sys.exit(main())
