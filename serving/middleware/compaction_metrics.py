"""What compaction did, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_COUNTERS: Final = (
    ("requests", "requests", "requests whose history was looked at"),
    ("changed", "changed_requests", "requests that had texts replaced by handles"),
    ("steps", "steps", "requests that had more texts replaced than before"),
    ("refused", "refused", "requests that could not be brought under the context lease"),
    ("uncounted", "uncounted", "requests whose prompt could not be counted"),
    ("replaced", "replaced_texts", "texts that were stored and replaced"),
    ("saved_tokens", "saved_tokens", "o200k tokens that prompts had less than they came with"),
    ("retrievals", "retrievals", "calls of the gate's own tools that were answered"),
)


def compaction_metrics(status: Mapping[str, Any]) -> bytes:
    """The page, from what :meth:`CompactionMiddleware.status` gives."""
    lines: list[str] = []
    for key, name, text in _COUNTERS:
        full = f"mcp_offload_gate_compaction_{name}_total"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} counter", f"{full} {status[key]}"]
    for key, text in (
        ("lease_tokens", "what a prompt may come to"),
        ("largest_prompt_tokens", "the largest prompt that went on"),
    ):
        full = f"mcp_offload_gate_compaction_{key}"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} gauge", f"{full} {status[key]}"]
    return "\n".join([*lines, ""]).encode()
