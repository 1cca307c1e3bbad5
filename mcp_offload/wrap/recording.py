"""Records the definitions of the added tools, since the SDK that makes them takes long to load.

Run ``python -m mcp_offload.wrap.recording`` after any change to these tools; a test compares the recorded
file with the tools.
"""

from __future__ import annotations

import json
from pathlib import Path

from mcp_offload.tools.catalog import listed_tools
from mcp_offload.wire.messages import JsonObject
from mcp_offload.wrap.listing import READING
from mcp_offload.wrap.own import RECORDED


def definitions() -> dict[str, JsonObject]:
    """The definitions by name, made from the tools."""
    made = {
        tool.name: tool.model_dump(by_alias=True, exclude_none=True, mode="json")
        for tool in listed_tools("default")
    }
    return {name: made[name] for name in READING}


def main() -> None:
    """Write the file beside this module."""
    path = Path(__file__).with_name(RECORDED)
    path.write_text(json.dumps(definitions(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
