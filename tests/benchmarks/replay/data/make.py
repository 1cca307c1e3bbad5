"""Make the inputs of the small replay anew: ``python tests/benchmarks/replay/data/make.py``.

The tax tables of the project, two real runs of its tests (before and after two of its lines were changed),
and the result of a tool. Nothing of it depends on the time or on the machine but durations, which pytest
prints.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROJECT = HERE / "project"
COUNTRIES = "AT BE BG CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split()
CATEGORIES = "books clothes cosmetics electronics food furniture games medicine music tickets tools toys".split()
REDUCED = {"books", "food", "medicine", "tickets"}
#: What was changed between the two runs: file, what stood there, what stands there now.
CHANGES = [
    ("shop/pricing.py", "if days < 14:", "if days <= 14:"),
    ("shop/rates.py", "REDUCED_PT = 0.06", "REDUCED_PT = 0.60"),
]

RATES = '''"""Tax rates by country and category."""

from __future__ import annotations

{constants}

RATES: dict[str, dict[str, float]] = {{
{tables}}}


class UnknownRate(KeyError):
    """No rate is known for a country and category."""


def rate_of(category: str, country: str) -> float:
    """The rate of a category in a country."""
    try:
        return RATES[country][category]
    except KeyError:
        raise UnknownRate(f"{{category}} in {{country}}") from None


def countries() -> list[str]:
    """Where the shop sells."""
    return sorted(RATES)
'''


def rates() -> str:
    """The module with the tables."""
    chance = random.Random(18_000)
    constants: list[str] = []
    tables: list[str] = []
    for country in COUNTRIES:
        standard, reduced = chance.randint(17, 27) / 100, chance.randint(5, 12) / 100
        if country == "PT":
            standard, reduced = 0.23, 0.6
        constants += [f"STANDARD_{country} = {standard:.2f}", f"REDUCED_{country} = {reduced:.2f}"]
        tables.append(f'    "{country}": {{\n')
        for category in CATEGORIES:
            kind = "REDUCED" if category in REDUCED else "STANDARD"
            tables.append(f'        "{category}": {kind}_{country},\n')
        tables.append("    },\n")
    return RATES.format(constants="\n".join(constants), tables="".join(tables))


def jobs() -> dict[str, Any]:
    """One call and its result: the jobs of a pipeline, of which one failed."""
    chance = random.Random(12_000)
    listed: list[dict[str, Any]] = []
    for number in range(1, 261):
        failed = number == 187
        listed.append(
            {
                "id": 700_000 + number * 37,
                "name": f"{chance.choice(['build', 'lint', 'unit', 'package'])}-{number:03d}",
                "status": "failed" if failed else chance.choice(["passed", "passed", "skipped"]),
                "runner": {"name": f"runner-{chance.randint(10, 99)}-{chance.choice('abcdef')}", "cpus": 4},
                "duration_ms": chance.randint(900, 90_000),
                "exit_code": 137 if failed else 0,
                "artifacts": [f"out/{number:03d}/{part}.tar" for part in ("log", "cover")],
            }
        )
    text = json.dumps({"pipeline": 4411, "jobs": listed}, indent=2)
    return {
        "request": {"name": "list_jobs", "arguments": {}},
        "response": {"content": [{"type": "text", "text": text}]},
    }


def run_tests(folder: Path) -> str:
    """What pytest prints about the project in ``folder``, with nothing of this machine in it."""
    command = [sys.executable, "-m", "pytest", "-vv", "-p", "no:randomly", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "no:xdist", "--rootdir=.", "-c", "/dev/null", "tests"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ".", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100"},
    )
    kept = [line for line in done.stdout.split("\n") if not re.match(r"(rootdir|configfile|plugins):", line)]
    return "\n".join(kept).replace(sys.executable, "python")


def main() -> None:
    (PROJECT / "shop" / "rates.py").write_text(rates(), encoding="utf-8")
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "list_jobs.json").write_text(json.dumps(jobs()) + "\n", encoding="utf-8")
    (HERE / "runs").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "project"
        shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (HERE / "runs" / "after.log").write_text(run_tests(folder), encoding="utf-8")
        for name, before, after in CHANGES:
            text = (folder / name).read_text(encoding="utf-8")
            if after not in text:
                raise RuntimeError(f"{name} does not hold {after!r}")
            (folder / name).write_text(text.replace(after, before), encoding="utf-8")
        (HERE / "runs" / "before.log").write_text(run_tests(folder), encoding="utf-8")


if __name__ == "__main__":
    main()
