"""Traces of runs, one JSON object each, as docs/reference/traces.md tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from serving.forecast.runs import Run

SCHEMA: Final = 1
FEATURES: Final = (
    "characters", "words", "lines", "digits", "code_characters", "question", "kernel_words",
)  # fmt: skip
"""In the order in which runs have them."""


def run_of(trace: Mapping[str, Any]) -> Run | None:
    """The run that a trace tells of; None where no answer of it was counted.

    Raises:
        ValueError: the trace is of another schema, or lacks a field.
    """
    if trace.get("schema") != SCHEMA:
        raise ValueError(f"a trace of schema {trace.get('schema')!r}; this reads {SCHEMA}")
    try:
        turns = [
            (int(event["prompt_tokens"]), int(event["completion_tokens"]))
            for event in trace["nodes"]
            if event["prompt_tokens"] is not None
        ]
        return _run(trace, turns) if turns else None
    except (KeyError, TypeError) as error:
        raise ValueError(f"a trace without what {error} should tell") from error


def _run(trace: Mapping[str, Any], turns: Sequence[tuple[int, int]]) -> Run:
    added = [max(0, later[0] - sum(before)) for before, later in pairwise(turns)]
    seen = [sample["process_bytes"] for sample in trace.get("memory") or ()]
    features: Mapping[str, float] = trace.get("features") or {}
    return Run(
        name=str(trace["run"]),
        group=str(trace["family"]),
        base_tokens=turns[0][0],
        steps=len(turns),
        expansion_tokens=sum(output for _, output in turns),
        tool_tokens=sum(added),
        largest_output_tokens=max(output for _, output in turns),
        largest_tool_tokens=max(added, default=0),
        peak_tokens=max(prompt + output for prompt, output in turns),
        prompt=str(trace["prompt_id"]),
        features=tuple(float(features[name]) for name in FEATURES) if features else (),
        process_bytes=max((int(count) for count in seen if count is not None), default=None),
    )
