"""One text block for a run, written for a model's context. Pure."""

from __future__ import annotations

from mcp_offload.models import JobsResult, RunResult
from mcp_offload.service.render import size_text

_ENDED = {
    "timeout": "timed out",
    "cancelled": "cancelled",
    "output": "ended: too much output",
    "memory": "ended: too much memory",
    "disk": "ended: the disk is full",
    "orphaned": "ended with mcp-offload",
    "lost": "killed, nobody knows when",
}


def run_text(result: RunResult) -> str:
    """A line about the run, then its output or the digest of it."""
    lines = [run_line(result)]
    if result.output is not None:
        lines += [result.output.removesuffix("\n")] if result.output.strip() else []
    elif result.digest is not None:
        lines.append(result.digest.text)
    if result.tail:
        lines += [f"... {result.handle}#L1-{result.lines} last lines:", result.tail]
    if result.running:
        lines.append(f"... still running; newest lines: {result.handle}#L-20")
    return "\n".join([*lines, *notes_of(result)])


def run_line(result: RunResult) -> str:
    """``l9 pytest -q | exit 1 | 12.3 s | 4312L 310 kB``."""
    if result.running:
        state = "running"
    elif result.ended_by:
        state = _ENDED.get(result.ended_by, result.ended_by)
    else:
        state = f"killed by {result.signal}" if result.signal else f"exit {result.exit_status}"
    seconds = [f"{result.seconds:.3g} s"] if result.seconds is not None else []
    size = f"{'binary ' if result.binary else f'{result.lines}L '}{size_text(result.bytes)}"
    return " | ".join([f"{result.handle} {result.name}", state, *seconds, size])


def notes_of(result: RunResult) -> list[str]:
    """What else is worth knowing where a run did not go well."""
    notes: list[str] = []
    if result.left_behind:
        notes.append("processes that it left running were ended")
    if result.withheld:
        notes.append(f"withheld from its environment as secrets: {', '.join(result.withheld)}")
    return notes


def jobs_text(result: JobsResult) -> str:
    """One line a job."""
    lines = [
        f"{job.handle} {job.name} | running | {job.seconds:.3g} s | {job.lines}L {size_text(job.bytes)}"
        for job in result.jobs
    ]
    return "\n".join(lines) or "nothing runs"
