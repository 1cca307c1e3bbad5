"""Kills writers and compares what they were promised with what is there."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_offload.errors import OffloadError
from mcp_offload.store import Store, StoreConfig
from tests.process.store.zygote import content

ROOT = Path(__file__).resolve().parents[3]


def settings(config: StoreConfig) -> dict[str, Any]:
    """A configuration as it travels to a writer."""
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {name: value for name, value in fields.items() if name not in {"clock", "failpoints"}}


class Zygote:
    """The process that forks the writers."""

    def __init__(self, folder: Path, module: str = "tests.process.store.zygote") -> None:
        self._folder = folder
        self._pipes = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **order: Any) -> int:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return int(stdout.readline())

    def pipe(self) -> Path:
        """A named pipe for acknowledgements."""
        self._pipes += 1
        path = self._folder / f"acks-{self._pipes}"
        os.mkfifo(path)
        return path

    def close(self) -> None:
        self._process.communicate()


class Writer:
    """A forked writer and the reading end of its acknowledgements."""

    def __init__(self, zygote: Zygote, **order: Any) -> None:
        path = zygote.pipe()
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._zygote = zygote
        self.pid = zygote.ask(acks=str(path), **order)
        os.set_blocking(fd, True)
        self.acks = open(fd, encoding="utf-8")  # noqa: SIM115 - closed by finish()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def finish(self) -> tuple[int, list[str]]:
        """Wait status, and the acknowledgements not yet read."""
        status = self._zygote.ask(wait=self.pid)
        with self.acks:
            return status, [line for line in self.acks.read().split("\n") if line]


@dataclass
class Promises:
    """What the writers have been promised so far, all of them together."""

    held: dict[int, tuple[str, int]] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)
    twice: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    evictable: bool = False

    def hear(self, line: str) -> None:
        """Take a writer's report in."""
        word, _, rest = line.partition(" ")
        if word == "put":
            number, writer, turn = rest.split(" ")
            self._issue(int(number))
            self.held[int(number)] = (writer, int(turn))
        elif word == "releasing":
            number = rest.split(" ")[0]
            self._issue(int(number))
            self.released.add(int(number))
        elif word == "may":
            self.evictable = True
        else:
            self.errors.append(line)

    def _issue(self, number: int) -> None:
        if number in self.held or number in self.released:
            self.twice.append(number)

    def broken(self, config: StoreConfig, numbers: set[int] | None = None) -> list[str]:
        """Everything that is not as promised; of the given numbers only, where there are any."""
        problems = [f"number {number} was issued twice" for number in self.twice]
        problems += self.errors
        with Store.open(config) as store:
            for number, (writer, turn) in self.held.items():
                if numbers is None or number in numbers:
                    problems += self._unread(store, number, content(writer, turn))
            store.gc()
            report = store.check()
            problems += report.problems
            if report.orphans:
                problems.append(f"{report.orphans} orphans after a collection")
        return problems

    def _unread(self, store: Store, number: int, expected: bytes) -> list[str]:
        try:
            with store.open_raw(store.version("w", number)) as reader:
                found = reader.read(0, reader.size_bytes)
        except OffloadError as error:
            if self.evictable and getattr(error, "reason", "") == "evicted":
                return []
            return [f"artifact {number} was acknowledged: {error}"]
        return [] if found == expected else [f"artifact {number} has other bytes"]
