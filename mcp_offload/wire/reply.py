"""Tool results: one text block, within its budget, and JSON only for programs that ask for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_types import CallToolResult, ResourceLink, TextContent

from mcp_offload.wire.scrub import scrub_message, scrub_text

#: Key of a request's ``_meta``; where it is true, the result's ``_meta`` holds the JSON under it.
JSON_META_KEY: Final = "mcp-offload/json"
#: The only field of a structured answer that says that nothing is answered.
REFUSED: Final = "refused"
CUT_MARKER: Final = "... cut here at the reply's limit; ask for less at a time"


@dataclass(frozen=True, slots=True)
class Budget:
    """What one reply may hold; ``count`` gives the tokens of a text."""

    max_tokens: int
    max_bytes: int
    count: Callable[[str], int]

    def fits(self, text: str) -> bool:
        """Whether ``text`` is within both limits."""
        return self.share(text) >= 1

    def share(self, text: str) -> float:
        """How much of ``text`` the tighter limit has room for; 1 or more where all of it fits."""
        size_bytes = len(text.encode("utf-8", "surrogatepass"))
        by_bytes = self.max_bytes / max(1, size_bytes)
        # A token stands for at least one byte, so few bytes need no count.
        if size_bytes <= self.max_tokens or by_bytes < 0.5:
            return by_bytes
        return min(by_bytes, self.max_tokens / self.count(text))


def fit(text: str, budget: Budget) -> str:
    """Return ``text``, or as many of its lines as fit followed by a marker line.

    The last guard: the service keeps to the budget itself, but hidden characters made visible take
    more room than it knew. A first line that does not fit is cut inside.
    """
    if budget.fits(text):
        return text
    lines = text.split("\n")
    kept = _most(len(lines), lambda n: budget.fits("\n".join([*lines[:n], CUT_MARKER])))
    if kept:
        return "\n".join([*lines[:kept], CUT_MARKER])
    first = lines[0]
    inside = _most(len(first), lambda n: budget.fits(f"{first[:n]}\n{CUT_MARKER}"))
    return f"{first[:inside]}\n{CUT_MARKER}" if inside else CUT_MARKER


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest n up to ``limit`` that fits; 0 is never tried."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def wants_json(meta: Mapping[str, object] | None) -> bool:
    """Whether a request's ``_meta`` asks for machine-readable data."""
    return meta is not None and meta.get(JSON_META_KEY) is True


def reply(
    text: str,
    budget: Budget,
    *,
    data: Mapping[str, object] | None = None,
    links: Sequence[ResourceLink] = (),
    error: bool = False,
    ending: str = "",
) -> CallToolResult:
    """Build the result of a tool call; ``data``, ``links`` and ``ending`` are no part of the budget."""
    fitting = fit(scrub_text(text), budget)
    block = TextContent(type="text", text=f"{fitting}\n{ending}" if ending else fitting)
    meta = None if data is None else {JSON_META_KEY: dict(data)}
    return CallToolResult(content=[block, *links], is_error=error, _meta=meta)


def structured_text(data: Mapping[str, object]) -> str:
    """The JSON of a structured result, on one line, its strings scrubbed."""
    shown = scrub_message(dict(data))
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def structured_reply(data: Mapping[str, object], links: Sequence[ResourceLink] = ()) -> CallToolResult:
    """Build a structured result, whose text is exactly the JSON of its structured content.

    It is never cut, since half of a JSON object is none.
    """
    block = TextContent(type="text", text=structured_text(data))
    return CallToolResult(content=[block, *links], structured_content=scrub_message(dict(data)))


def refusal(text: str, *, structured: bool = False) -> CallToolResult:
    """Build the answer that says that nothing is answered: an ordinary result, and no error."""
    if structured:
        return structured_reply({REFUSED: text})
    return CallToolResult(content=[TextContent(type="text", text=text)])


def reply_text(result: CallToolResult) -> str:
    """All that a model may see of a result: its text blocks, and its links as JSON."""
    return "\n".join(
        block.text if isinstance(block, TextContent) else block.model_dump_json(exclude_none=True)
        for block in result.content
    )
