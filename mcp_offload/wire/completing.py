"""Answers of completion/complete, whoever completes."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_types import CompleteResult, Completion

from mcp_offload.wire.scrub import scrub_text


def completed(values: Sequence[str], total: int | None = None) -> CompleteResult:
    """At most 100 ``values``; ``total`` is how many there are, by default as many as given."""
    kept = [scrub_text(value) for value in values[:100]]
    known = len(values) if total is None else total
    return CompleteResult(completion=Completion(values=kept, total=known, has_more=known > len(kept)))


def starting(typed: str, choices: Sequence[str]) -> CompleteResult:
    """The ``choices`` that start with what was typed."""
    return completed([choice for choice in choices if choice.startswith(typed)])
