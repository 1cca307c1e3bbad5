"""How a run ended, kept beside its output."""

from __future__ import annotations

from mcp_offload.capture.notes import Outcome, read_outcome
from mcp_offload.models import Artifact, Kind, Version
from mcp_offload.service.context import Context


def run_key(artifact: Artifact, blake3: str) -> str:
    """Where it is kept: as long as the output is, and told apart from another run with the same output."""
    return f"{blake3}:run:{artifact.number}:{artifact.workspace}"


def outcome_of(ctx: Context, artifact: Artifact, version: Version) -> Outcome | None:
    """How the run ended whose output this is; None for anything else, and while it runs."""
    if artifact.kind is not Kind.LOG or artifact.source_path is not None or version.version != 1:
        return None
    if version.growing:
        return None
    kept = ctx.store.outline_get(run_key(artifact, version.blake3))
    return None if kept is None else read_outcome(kept)
