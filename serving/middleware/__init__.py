"""The lease gate: an ASGI middleware before a forwarding application, or inside vLLM's own server."""

from __future__ import annotations

from serving.middleware.lease import TENANT, LeaseMiddleware
from serving.middleware.records import Record, Recorder
from serving.middleware.settings import GateSettings, Mode, OnStale

__all__ = ["TENANT", "GateSettings", "LeaseMiddleware", "Mode", "OnStale", "Record", "Recorder"]
