"""Results of a benchmark on disk: JSON lines that grow by one a measurement, and go on after a break."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from serving.errors import ServingUsageError

FILE: Final = "results.jsonl"
SCHEMA: Final = 1
_SAME_MACHINE: Final = ("cpu", "cores", "gpus")

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Loaded:
    """A file of results: its first line, and what was measured."""

    header: Line
    measures: Sequence[Line]
    path: Path

    @property
    def smoke(self) -> bool:
        """Whether nothing here may be quoted."""
        return bool(self.header.get("smoke"))


class Results:
    """A file of results that is being written.

    Args:
        folder: where it lies; made where it is not there.
        header: the first line; of a file that is there it must tell of the same settings and machine.

    Raises:
        ServingUsageError: the file is of something else.
    """

    def __init__(self, folder: Path, header: Mapping[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self._done: set[tuple[str, int]] = set()
        if self.path.exists():
            self._resume(header)
        self._file = self.path.open("a", encoding="utf-8")
        if self.path.stat().st_size == 0:
            self._write({"kind": "run", "schema": SCHEMA, **header})

    def __len__(self) -> int:
        return len(self._done)

    def has(self, factors: Mapping[str, Any], repeat: int) -> bool:
        """Whether a cell's repeat is there already."""
        return (_key(factors), repeat) in self._done

    def add(self, kind: str, factors: Mapping[str, Any], repeat: int, told: Mapping[str, Any]) -> None:
        """Keep one measurement, or why there is none; it is on the disk when this returns."""
        self._write({"kind": kind, "cell": dict(factors), "repeat": repeat, **told})
        if kind != "failed":
            self._done.add((_key(factors), repeat))

    def close(self) -> None:
        """Nothing more comes."""
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _resume(self, header: Mapping[str, Any]) -> None:
        whole = _cut_to_lines(self.path)
        if not whole:
            return
        loaded = load(self.path)
        if changed := _difference(loaded.header, header):
            raise ServingUsageError(
                f"{self.path} was measured with another {changed}; name another folder with --out, or remove"
                " this one."
            )
        self._done = {
            (_key(line["cell"]), line["repeat"]) for line in loaded.measures if line["kind"] != "failed"
        }


def load(path: Path) -> Loaded:
    """Read results from a file, or from the folder that holds it.

    Raises:
        ServingUsageError: there are none, or the file is of another kind.
    """
    path = path / FILE if path.is_dir() else path
    try:
        text = path.read_text("utf-8")
        # What was being written when the process was killed has no line break.
        lines: list[Any] = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    except (OSError, ValueError) as error:
        raise ServingUsageError(f"{path} cannot be read: {error}.") from error
    header: Line = cast("Line", lines[0]) if lines and isinstance(lines[0], dict) else {}
    if header.get("kind") != "run":
        raise ServingUsageError(f"{path} holds no results of a benchmark.")
    if header.get("schema") != SCHEMA:
        raise ServingUsageError(f"{path} has schema {header.get('schema')}; this version reads {SCHEMA}.")
    return Loaded(header, lines[1:], path)


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What is not the same: a setting's name, the machine, or nothing."""
    now = json.loads(json.dumps(now))
    if before["benchmark"] != now["benchmark"]:
        return "benchmark"
    old, new = before["settings"], now["settings"]
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            return f"setting: {name} was {old.get(name)!r} and is {new.get(name)!r}"
    if any(before["machine"].get(name) != now["machine"].get(name) for name in _SAME_MACHINE):
        return "machine"
    return ""


def _cut_to_lines(path: Path) -> bool:
    """Remove what a killed process left of a line; whether anything is left."""
    with path.open("rb+") as file:
        data = file.read()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            file.truncate(end)
    return end > 0


def _key(factors: Mapping[str, Any]) -> str:
    return json.dumps(dict(factors), sort_keys=True)
