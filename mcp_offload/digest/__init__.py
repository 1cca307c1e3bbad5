"""Bounded, true summaries of logs and test reports (pure: bytes in, values out)."""

from __future__ import annotations

from .digester import Digester
from .model import Digest

__all__ = ["DIGEST_VERSION", "Digest", "Digester", "digest"]

DIGEST_VERSION = 1
"""Bumped whenever results change; part of cache keys."""


def digest(data: bytes, exit_status: int | None = None) -> Digest:
    """Digest a log that is in memory. Never raises on any input."""
    digester = Digester(exit_status)
    digester.feed(data)
    return digester.finish()
