"""What the operations on captured commands answer."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_offload.models.results import DigestResult


@dataclass(frozen=True, slots=True)
class RunResult:
    """A command that was run, or still runs, with its output under ``handle``.

    Attributes:
        handle: of both streams as one; readable while the command runs.
        running: False once the command and all that it printed are taken in.
        exit_status: as a shell tells it: 128 and the signal, 124 after a timeout; None while it runs.
        signal: name of the signal that ended the command, or None.
        ended_by: timeout, cancelled, output, memory, disk (a limit), orphaned (mcp-offload ended first),
            lost (nobody knows), or None where the command ended by itself.
        seconds: from its start to its end, or until now; None where unknown.
        bytes, lines: of the output.
        stderr_bytes: of it that came from standard error; None while it runs or where unknown.
        digest: of the output; partial while the command runs; None for binary output.
        output: the output itself where that says more than a digest in as little room, else None.
        tail: the last lines where neither ``output`` nor ``digest`` shows any.
        withheld: variables kept from a command that failed, since they look like secrets.
        left_behind: True where the command left processes running, which were ended.
    """

    handle: str
    name: str
    running: bool
    exit_status: int | None
    signal: str | None
    ended_by: str | None
    seconds: float | None
    bytes: int
    lines: int
    stderr_bytes: int | None
    digest: DigestResult | None
    output: str | None
    tail: str = ""
    withheld: tuple[str, ...] = ()
    left_behind: bool = False
    binary: bool = False


@dataclass(frozen=True, slots=True)
class JobEntry:
    """A command that still runs, in this process or another one."""

    handle: str
    name: str
    seconds: float
    bytes: int
    lines: int


@dataclass(frozen=True, slots=True)
class JobsResult:
    """Commands of the workspace that still run, newest first."""

    jobs: tuple[JobEntry, ...]
