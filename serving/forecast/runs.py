"""Runs of agents, put together from their turns, and how they are split."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Turn:
    """One request of a run.

    Attributes:
        run: names the run.
        group: what kind of agent, or which prompt family.
        order: turns of a run are sorted by it; a time, for instance.
        prompt_tokens, output_tokens: of the request.
    """

    run: str
    group: str
    order: float
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Run:
    """A whole run.

    Attributes:
        name, group: as its turns tell.
        base_tokens: its first prompt.
        steps: its turns.
        expansion_tokens: what it wrote, all turns together.
        tool_tokens: what was put into its prompts beyond what was there; dropped tokens count nothing.
        largest_output_tokens, largest_tool_tokens: of one turn.
        peak_tokens: the most that a prompt and its answer came to.
        prompt: what the run was asked; runs of one prompt are never split. Empty: its own name.
        features: what is known of the prompt beforehand, in an order that all runs share.
        process_bytes: the most memory that the engine's processes had meanwhile; None where nobody looked.
    """

    name: str
    group: str
    base_tokens: int
    steps: int
    expansion_tokens: int
    tool_tokens: int
    largest_output_tokens: int
    largest_tool_tokens: int
    peak_tokens: int
    prompt: str = ""
    features: tuple[float, ...] = ()
    process_bytes: int | None = None

    @property
    def unit(self) -> str:
        """What is drawn, resampled and paired: the prompt, or the run itself."""
        return self.prompt or self.name


def runs_of(turns: Iterable[Turn]) -> tuple[Run, ...]:
    """Runs in the order of their names."""
    by_run: dict[str, list[Turn]] = {}
    for turn in turns:
        by_run.setdefault(turn.run, []).append(turn)
    return tuple(_run(name, sorted(by_run[name], key=lambda turn: turn.order)) for name in sorted(by_run))


def _run(name: str, turns: Sequence[Turn]) -> Run:
    tools = [
        max(0, later.prompt_tokens - before.prompt_tokens - before.output_tokens)
        for before, later in pairwise(turns)
    ]
    return Run(
        name=name,
        group=turns[0].group,
        base_tokens=turns[0].prompt_tokens,
        steps=len(turns),
        expansion_tokens=sum(turn.output_tokens for turn in turns),
        tool_tokens=sum(tools),
        largest_output_tokens=max(turn.output_tokens for turn in turns),
        largest_tool_tokens=max(tools, default=0),
        peak_tokens=max(turn.prompt_tokens + turn.output_tokens for turn in turns),
    )


@dataclass(frozen=True)
class Split:
    """Runs to learn from, to choose by, and to judge by."""

    train: tuple[Run, ...]
    validation: tuple[Run, ...]
    test: tuple[Run, ...]


def split(runs: Iterable[Run], seed: str) -> Split:
    """70, 15 and 15 percent of each group's prompts, drawn by a hash of seed and prompt: the same everywhere.

    All runs of a prompt go to one part, and a group keeps at least one prompt to learn from.
    """
    by_group: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: run.name):
        by_group.setdefault(run.group, {}).setdefault(run.unit, []).append(run)
    parts: tuple[list[Run], list[Run], list[Run]] = ([], [], [])
    seen = taken = 0
    for group in sorted(by_group):
        units = sorted(by_group[group], key=lambda unit: _drawn(seed, unit))
        # Rounded over all groups together, or small groups would make it 60, 20 and 20.
        seen += len(units)
        held = max(0, min(round(seen * 0.15) - taken, (len(units) - 1) // 2))
        taken += held
        train = len(units) - 2 * held
        for number, unit in enumerate(units):
            part = 0 if number < train else 1 if number < train + held else 2
            parts[part].extend(by_group[group][unit])
    return Split(*(tuple(part) for part in parts))


def _drawn(seed: str, name: str) -> tuple[bytes, str]:
    return hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest(), name
