"""What a stored JSON document holds, as a card: the schema of its rows, counts and a few rows."""

from __future__ import annotations

import json
from typing import Final

from mcp_offload.distill import USAGE, Shape, shape_of
from mcp_offload.models import Artifact, CardResult, Version
from mcp_offload.service.context import Context, handle_of

#: Changes with what :func:`mcp_offload.distill.shape_of` makes of the same document.
SHAPE_VERSION: Final = 2
MOST_BYTES: Final = 16 << 20
LEAST_ROWS: Final = 10


def shape_card(ctx: Context, artifact: Artifact, version: Version, max_tokens: int) -> CardResult | None:
    """The card of a document that holds a table; None for any other, and for very large ones.

    Its text costs at most ``max_tokens``, but for its first line.
    """
    key = f"{version.view_blake3 or version.blake3}:shape:{SHAPE_VERSION}"
    stored = ctx.store.outline_get(key)
    if stored is not None:
        kept = json.loads(stored)
        shape = None if kept is None else Shape(kept["rows"], kept["path"], tuple(kept["lines"]))
    else:
        shape = _shape(ctx, version)
        dumped = None if shape is None else {"rows": shape.rows, "path": shape.path, "lines": shape.lines}
        ctx.store.outline_put(key, json.dumps(dumped).encode(), "")
    if shape is None or shape.rows < LEAST_ROWS:
        return None
    handle = handle_of(artifact, version.version)
    hint = f"query: read {handle}#?{shape.path}|limit 5; steps: {', '.join(USAGE)}"
    lines = list(shape.lines)
    text = "\n".join([*lines, hint])
    while len(lines) > 1 and ctx.counter.count(text) > max_tokens:
        lines.pop()
        left = f"... {len(shape.lines) - len(lines)} lines left out; outline {handle} with more max_tokens"
        text = "\n".join([*lines, left, hint])
    return CardResult("json", {"rows": shape.rows}, (), text)


def _shape(ctx: Context, version: Version) -> Shape | None:
    with ctx.store.open_view(version) as view:
        if view.size_bytes > MOST_BYTES:
            return None
        text = view.read(0, view.size_bytes)
    try:
        return shape_of(json.loads(text))
    except (ValueError, RecursionError):
        return None
