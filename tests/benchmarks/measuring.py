"""Figures, the rows of the table they go into, and running one operation in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Figures:
    """What one operation took."""

    seconds: float
    rss_bytes: int
    child_rss_bytes: int
    hits: int = 0
    worst_seconds: float = 0.0


def operation(name: str, *arguments: str) -> Figures:
    """Run one operation in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.operations", name, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    # A search that gave ripgrep up says so; it would be shown as what it is not.
    if done.returncode or "without ripgrep" in done.stderr:
        raise RuntimeError(f"{name} {arguments} failed:\n{done.stderr}")
    return Figures(**json.loads(done.stdout))


def fastest(figures: Sequence[Figures]) -> Figures:
    """The run that the rest of the machine disturbed least."""
    return min(figures, key=lambda one: one.seconds)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    ``speed``: the ratio is of speeds, ours to the floor's, and more is better. ``time``: of times, and
    less is better. ``limit``: there is no floor; ``ours`` is held against ``target`` in ``unit``.
    """

    what: str
    floor: str
    kind: Literal["speed", "time", "limit"]
    ours: float
    floors: float
    target: float | None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Ours to the floor."""
        if self.kind == "limit":
            return self.ours
        return self.floors / self.ours if self.kind == "speed" else self.ours / self.floors

    @property
    def held(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None:
            return None
        return self.ratio >= self.target if self.kind == "speed" else self.ratio <= self.target

    def cells(self) -> tuple[str, str, str, str, str]:
        """What, ratio, target, whether it holds, floor."""
        unit = f" {self.unit}" if self.kind == "limit" else ("" if self.kind == "speed" else "x")
        sign = ">=" if self.kind == "speed" else "<="
        target = "" if self.target is None else f"{sign} {self.target:g}{unit}"
        held = {None: "", True: "yes", False: "NO"}[self.held]
        return self.what, f"{self.ratio:.3g}{unit}", target, held, self.floor


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    head = ("What", "Measured", "Target", "Holds", "Against")
    lines = [head, tuple("---" for _ in head), *(row.cells() for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
