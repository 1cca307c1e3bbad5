"""What the keeper writes beside the output: how the command was started, and how it ended.

One JSON object a line, so that a kill in between leaves what was written before it. Standard library
only: the keeper imports this.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

EndedBy = Literal["timeout", "cancelled", "output", "memory", "disk", "orphaned", "lost"]
"""What ended a run before the command did: a limit, us, our death, or (lost) nobody knows."""

TIMED_OUT: Final = 124
"""Source: timeout(1) of GNU coreutils."""

NOT_EXECUTABLE: Final = 126
NOT_FOUND: Final = 127
SIGNALLED: Final = 128
"""Source: POSIX.1-2024, Shell Command Language, 2.8.2 "Exit Status for Commands"."""

_KILLED: Final = SIGNALLED + 9


@dataclass(frozen=True, slots=True)
class Started:
    """The keeper and the leader of the command's process group, by number."""

    keeper_pid: int
    group: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: the command's exit status; None where a signal ended it, or nobody knows.
        signal: number of the signal that ended it, or None.
        ended_by: what ended the run before the command did, or None.
        seconds: from start to end; None where unknown.
        stderr: half-open byte ranges of the output that came from standard error, in order.
        stderr_cut: True where there were too many ranges to keep, so that ``stderr`` is only the first.
        left_behind: True where the command left processes of its group running, which were ended.
    """

    status: int | None
    signal: int | None = None
    ended_by: EndedBy | None = None
    seconds: float | None = None
    stderr: tuple[tuple[int, int], ...] = ()
    stderr_cut: bool = False
    left_behind: bool = False

    @property
    def exit_status(self) -> int:
        """The status as a shell tells it: 128 and the signal, 124 after a timeout, 137 where unknown."""
        if self.ended_by == "timeout":
            return TIMED_OUT
        if self.signal is not None:
            return SIGNALLED + self.signal
        if self.status is None:
            return _KILLED
        return self.status or (0 if self.ended_by is None else _KILLED)


LOST: Final = Outcome(None, ended_by="lost")


def started_line(started: Started) -> bytes:
    """The first line of the notes."""
    return _line({"keeper": started.keeper_pid, "group": started.group})


def outcome_line(outcome: Outcome) -> bytes:
    """The last line of the notes."""
    return _line(
        {
            "status": outcome.status,
            "signal": outcome.signal,
            "ended_by": outcome.ended_by,
            "seconds": outcome.seconds,
            "stderr": outcome.stderr,
            "stderr_cut": outcome.stderr_cut,
            "left_behind": outcome.left_behind,
        }
    )


def read_started(notes: bytes) -> Started | None:
    """How the command was started; None where it was not (yet)."""
    row = next((row for row in _rows(notes) if "keeper" in row), None)
    return None if row is None else Started(row["keeper"], row["group"])


def read_outcome(notes: bytes) -> Outcome | None:
    """How the run ended; None where the keeper did not come to write it."""
    row = next((row for row in _rows(notes) if "ended_by" in row), None)
    if row is None:
        return None
    row["stderr"] = tuple((start, end) for start, end in row["stderr"])
    return Outcome(**row)


def _line(row: dict[str, object]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _rows(notes: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in notes.split(b"\n")[:-1]:  # a last line without its end was not written whole
        try:
            value: object = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            rows.append(cast("dict[str, Any]", value))
    return rows
