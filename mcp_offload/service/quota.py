"""What one workspace may hold, beside what the whole store may."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_offload.errors import QuotaExceededError
from mcp_offload.models import Artifact, Version
from mcp_offload.service.context import Context
from mcp_offload.store import NewVersion


def commit(ctx: Context, workspace: str, puts: Sequence[NewVersion]) -> list[tuple[Artifact, Version, bool]]:
    """Acknowledge staged content, as :meth:`Store.commit`, within the workspace's own quota.

    Raises:
        QuotaExceededError: it does not fit; nothing was acknowledged.
    """
    limit_bytes = ctx.settings.workspace_bytes
    if limit_bytes is not None:
        wanted = sum(put.staged.size_bytes for put in puts)
        held = ctx.store.workspace_bytes(workspace)
        if held + wanted > limit_bytes:
            raise QuotaExceededError(
                f"{wanted} bytes do not fit: {held} of the {limit_bytes} bytes allowed here are in use. "
                "Release artifacts that are not needed."
            )
    return ctx.store.commit(workspace, puts)
