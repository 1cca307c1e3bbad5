"""What is told of a store as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_offload.models.leases import DeliveryStats


@dataclass(frozen=True, slots=True)
class StatsResult:
    """What the store holds and promises, and what was delivered. ``None`` = unknown, never an estimate."""

    store: str
    workspace: str
    workspace_path: str
    durability: str
    artifacts: int
    versions: int
    blobs: int
    stored_bytes: int
    quota_bytes: int
    ttl_seconds: int
    free_disk_bytes: int
    wal_bytes: int
    pinned: int
    delivered: DeliveryStats
    details: Mapping[str, int | str | None] = field(default_factory=dict[str, int | str | None])
