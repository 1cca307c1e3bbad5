"""What was delivered and kept out, as text. Pure."""

from __future__ import annotations

from typing import Final

from mcp_offload.models import DeliveryStats

SHOWN: Final = 10


def delivery_lines(stats: DeliveryStats) -> list[str]:
    """The sums, then a line for each tool, session and artifact, the largest first."""
    if not stats.sessions:
        return ["delivered by this server: nothing yet"]
    unmeasured = f"; {stats.unmeasured} not counted, in no sum" if stats.unmeasured else ""
    return [
        f"delivered by this server: {stats.delivered_tokens:,}t; "
        f"the same content inline: {_count(stats.inline_tokens)}{unmeasured}; "
        f"kept out: {_count(stats.kept_out_tokens)}",
        *(
            f"tool {one.tool}: {one.calls} calls, {one.delivered_tokens:,}t, "
            f"kept out {_count(one.kept_out_tokens)}"
            for one in stats.tools[:SHOWN]
        ),
        *(
            f"{one.session}: {one.delivered_tokens:,}t, kept out {_count(one.kept_out_tokens)}"
            for one in stats.sessions[:SHOWN]
        ),
        *(
            f"{one.handle} {one.name}: {one.delivered_tokens:,}t of {_count(one.inline_tokens)}"
            for one in stats.artifacts[:SHOWN]
        ),
    ]


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}t"
