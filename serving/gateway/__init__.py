"""The reverse proxy before an engine: forwarding, keys, and the gate's own pages."""

from __future__ import annotations

from serving.gateway.forward import Forward
from serving.gateway.front import Front
from serving.gateway.keys import Key, Keys
from serving.gateway.recording import RecordFile

__all__ = ["Forward", "Front", "Key", "Keys", "RecordFile"]
