"""Measure and print a table: ``python -m tests.benchmarks [--only NAME ...] [--write FILE]``.

Every ratio is to a floor measured in the same run, in turn with what it is compared with. Nothing is
asserted: a busy machine is no defect.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks.calls import call_read, call_store
from tests.benchmarks.measuring import Row, table
from tests.benchmarks.searching import search_memory, search_re2, search_rg
from tests.benchmarks.sections import write_head
from tests.benchmarks.starting import start
from tests.benchmarks.storing import read_50_lines, store_1gb

BENCHMARKS: dict[str, Callable[[Path, float], Iterator[Row]]] = {
    "store-1gb": store_1gb,
    "read-50-lines": read_50_lines,
    "search-rg": search_rg,
    "search-re2": search_re2,
    "search-memory": search_memory,
    "call-store": call_store,
    "call-read": call_read,
    "start": start,
}

PAGE = """# Benchmarks

Measured by `make bench` ({command}) with Python {python} on {system}, {cores} cores, load {load}.
Where something is measured *against* a floor, the floor was measured in the same run, in turn with it:
a speed as a part of the floor's speed (more is better), a time as a multiple of the floor's (less is
better). Limits in seconds and milliseconds are stated for an idle machine: with a load above the number
of cores they, and ratios of what uses several threads or the disk, say little. Run it again then.

{table}
Storing a *new* 1 MB log takes more than 1.5 times a call that does nothing: the row below it is what its
bytes alone take without any server, which with such a call beside it is more already. Its lines are counted,
its kind is told and its row is committed besides. A log that is stored already is recognised by its file's
identity, size and times.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure.")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS), metavar="NAME")
    parser.add_argument("--dir", default="/var/tmp", help="where to generate data; not a RAM disk")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the data; below 1 to try it out")
    parser.add_argument("--write", type=Path, help="also write this page; the sections of others stay")
    given = parser.parse_args()
    rows: list[Row] = []
    for name in given.only:
        folder = Path(tempfile.mkdtemp(prefix="mcp-offload-bench-", dir=given.dir))
        try:
            for row in BENCHMARKS[name](folder, given.scale):
                rows.append(row)
                sys.stderr.write("  ".join(row.cells()) + "\n")
        finally:
            shutil.rmtree(folder)
    sys.stdout.write(table(rows))
    if given.write:
        page = PAGE.format(
            command="`python -m tests.benchmarks`",
            python=platform.python_version(),
            system=platform.system(),
            cores=os.cpu_count(),
            load=f"{os.getloadavg()[1]:.1f}",
            table=table(rows),
        )
        write_head(given.write, page)


if __name__ == "__main__":
    main()
