"""The recorded definitions of the added tools are the tools' own."""

from __future__ import annotations

from mcp_offload.wrap.listing import READING
from mcp_offload.wrap.own import recorded_tools
from mcp_offload.wrap.recording import definitions


def test_the_file_is_up_to_date() -> None:
    """Where it is not: ``python -m mcp_offload.wrap.recording``."""
    assert recorded_tools() == definitions()
    assert list(recorded_tools()) == list(READING)
