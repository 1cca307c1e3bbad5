"""The protocol's edge: the front that answers at once, the transport behind it, and what may be sent.

Importing this package, or :mod:`mcp_offload.wire.front`, loads the standard library alone.
"""

from __future__ import annotations
