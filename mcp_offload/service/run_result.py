"""What is told of a run: while it lasts from what has come, afterwards from what is stored."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from typing import Final

from mcp_offload.capture.notes import LOST, Outcome, read_outcome
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.handle import ArtifactRef, parse_handle
from mcp_offload.models import Artifact, DigestResult, Monitor, RunResult, Version
from mcp_offload.service.context import Context, handle_of
from mcp_offload.service.digests import DIGEST_TOKENS, SMALL_BYTES, digest_result
from mcp_offload.service.runs_kept import outcome_of
from mcp_offload.service.settle import settle_one

TAIL_LINES: Final = 5
_TAIL_BYTES: Final = 4_000
_TAIL_CHARS: Final = 160


def run_result(ctx: Context, handle: str, monitor: Monitor) -> RunResult:
    """How a run stands.

    Raises:
        InvalidArgumentError: the handle is not that of a run.
        HandleNotFoundError, HandleGoneError: nothing is stored under it.
    """
    ref = parse_handle(handle).artifact
    if not isinstance(ref, ArtifactRef):
        raise InvalidArgumentError(f"{handle} is a path; give the handle of a run.")
    workspace = ctx.settings.workspace
    running = ctx.store.growing.is_written(workspace, ref.number)
    if not running:
        settle_one(ctx, ref.number)
    artifact = ctx.store.artifact(workspace, ref.number)
    version = ctx.store.version(workspace, ref.number, 1)
    outcome = _outcome(ctx, artifact, version, running=running)
    digest = None if version.binary else digest_result(ctx, artifact, version, monitor)
    text = _whole(ctx, version, digest)
    return RunResult(
        handle=handle_of(artifact),
        name=artifact.name,
        running=running,
        exit_status=None if outcome is None else outcome.exit_status,
        signal=_signal_name(outcome.signal) if outcome and outcome.signal else None,
        ended_by=outcome.ended_by if outcome else None,
        seconds=outcome.seconds if outcome else round(time.time() - artifact.created_at, 3),
        bytes=version.size_bytes,
        lines=version.lines,
        stderr_bytes=_stderr_bytes(outcome),
        digest=digest,
        output=text,
        tail="" if text is not None or not _says_little(digest) else _tail(ctx, version),
        withheld=ctx.settings.run_withheld if outcome and outcome.exit_status else (),
        left_behind=outcome.left_behind if outcome else False,
        binary=version.binary,
    )


def _outcome(ctx: Context, artifact: Artifact, version: Version, *, running: bool) -> Outcome | None:
    if running:
        return None
    if version.growing:  # there was no room to commit it
        return read_outcome(ctx.store.growing.notes(artifact.workspace, artifact.number)) or LOST
    outcome = outcome_of(ctx, artifact, version)
    if outcome is None:
        raise InvalidArgumentError(f"{handle_of(artifact)} {artifact.name} was stored, not run.")
    return outcome


def _stderr_bytes(outcome: Outcome | None) -> int | None:
    if outcome is None or outcome.stderr_cut:
        return None
    return sum(end - start for start, end in outcome.stderr)


def _whole(ctx: Context, version: Version, digest: DigestResult | None) -> str | None:
    """The output itself where it costs no more than its digest, or than any where no tool is known."""
    if digest is None or version.size_bytes > SMALL_BYTES:
        return None
    with ctx.store.open_view(version) as view:
        text = view.read(0, version.size_bytes).decode("utf-8", "replace")
    most = digest.tokens if digest.tools else DIGEST_TOKENS
    return text if ctx.counter.count(text.removesuffix("\n")) <= most else None


def _says_little(digest: DigestResult | None) -> bool:
    return digest is not None and not digest.tools and digest.verdict == "passed"


def _tail(ctx: Context, version: Version) -> str:
    with ctx.store.open_view(version) as view:
        data = view.read(max(0, version.size_bytes - _TAIL_BYTES), version.size_bytes)
    lines = data.decode("utf-8", "replace").rstrip("\n").split("\n")[-TAIL_LINES:]
    return "\n".join(line if len(line) <= _TAIL_CHARS else line[: _TAIL_CHARS - 1] + "…" for line in lines)


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def output_parts(ctx: Context, handle: str) -> list[tuple[bool, bytes]]:
    """The output of a finished run in order, in pieces that say whether they came from standard error."""
    ref = parse_handle(handle).artifact
    assert isinstance(ref, ArtifactRef)
    artifact = ctx.store.artifact(ctx.settings.workspace, ref.number)
    version = ctx.store.version(ctx.settings.workspace, ref.number, 1)
    outcome = outcome_of(ctx, artifact, version)
    parts: list[tuple[bool, bytes]] = []
    at = 0
    with ctx.store.open_raw(version) as raw:
        for start, end in outcome.stderr if outcome else ():
            parts += [(False, raw.read(at, start)), (True, raw.read(start, end))]
            at = end
        parts.append((False, raw.read(at, raw.size_bytes)))
    return [part for part in parts if part[1]]
