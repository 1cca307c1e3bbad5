"""From a run's growing file to an artifact like any other, once nobody writes to it any more."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Final

from mcp_offload.capture.notes import LOST, outcome_line, read_outcome
from mcp_offload.errors import HandleGoneError, StoreError
from mcp_offload.models import Artifact, Kind, Version
from mcp_offload.service.context import Context
from mcp_offload.service.ingest import Named, new_version
from mcp_offload.service.runs_kept import run_key
from mcp_offload.store import Growing, settled_key_of

_MOST_NOTES_BYTES: Final = 4 << 20
_SWEEP_SECONDS: Final = 3600.0
# Tells what is inside from its content alone: the name is a command line.
_FILE_NAME: Final = "run.log"


def settle(ctx: Context, grown: Growing) -> tuple[Artifact, Version]:
    """Commit what a run printed as version 1 of its artifact; done twice, it changes nothing.

    ``grown`` stays the caller's to close.

    Raises:
        StoreError: no room; everything stays as it is, and readable.
        HandleGoneError: it was committed before and is gone since.
    """
    artifact, fd = grown.artifact, grown.output_fd
    outcome = read_outcome(os.pread(grown.notes_fd, _MOST_NOTES_BYTES, 0)) or LOST
    os.lseek(fd, 0, os.SEEK_SET)
    with ctx.store.stage_file(fd, total_bytes=os.fstat(fd).st_size) as staged:
        named = Named(artifact.name, Kind.LOG)
        put, view = new_version(ctx, staged, _FILE_NAME, named, number=artifact.number)
        with view if view is not None else nullcontext():
            # Before the commit, so that no end can come between the bytes and how the run ended.
            shown = staged.blake3 if view is None else view.blake3
            ctx.store.outline_put(run_key(artifact, staged.blake3), outcome_line(outcome), "")
            ctx.store.outline_put(settled_key_of(artifact), shown.encode(), "")
            committed = ctx.store.commit(artifact.workspace, [replace(put, issued=True)])[0]
    ctx.store.growing.discard(artifact)
    return committed[0], committed[1]


def settle_ended(ctx: Context) -> None:
    """Commit every run of the store that has ended without being committed: its process was killed."""
    ctx.store.growing.sweep(time.time() - _SWEEP_SECONDS)
    for grown in ctx.store.growing.ended():
        _settle_and_close(ctx, grown)


def settle_one(ctx: Context, number: int) -> None:
    """The same for one artifact of the workspace."""
    grown = ctx.store.growing.take_ended(ctx.settings.workspace, number)
    if grown is not None:
        _settle_and_close(ctx, grown)


def _settle_and_close(ctx: Context, grown: Growing) -> None:
    try:
        with suppress(StoreError):  # no room: it is read where it is, and tried again
            settle(ctx, grown)
    except HandleGoneError:
        ctx.store.growing.discard(grown.artifact)
    finally:
        grown.close()
