"""The gate's records, as far as metrics are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request; seconds count from its arrival.

    Attributes:
        outcome: ``answered``, ``failed``, ``refused``, ``left`` or ``bypassed``.
        output_exact: the engine told how many tokens it wrote; else events of the stream were counted.
        first_seconds, last_seconds: until the first and the last byte of the answer.
    """

    session_id: str
    arrived_unix_seconds: float
    outcome: str
    stream: bool
    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int
    output_exact: bool
    waited_seconds: float
    first_seconds: float | None
    last_seconds: float | None
    agent_class: str = ""
    reason: str | None = None

    @property
    def decode_tokens_per_second(self) -> float | None:
        """(output - 1) / (last - first); None where the answer was not streamed, counted and complete."""
        if not (self.stream and self.output_exact and self.outcome in ("answered", "bypassed")):
            return None
        if self.first_seconds is None or self.last_seconds is None or self.output_tokens < 2:
            return None
        seconds = self.last_seconds - self.first_seconds
        return (self.output_tokens - 1) / seconds if seconds > 0 else None


def parse_records(lines: Iterable[str]) -> Iterator[ServedRequest]:
    """Requests of a record file, one JSON object a line; blank lines are passed over.

    Raises:
        ValueError: a line is no record; the message names the line.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value: object = json.loads(line)
            if not isinstance(value, dict):
                raise TypeError("it is no JSON object")
            yield request_of(cast("Mapping[str, Any]", value))
        except (KeyError, TypeError, ValueError) as error:
            told = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"line {number} is no record of the gate: {told}") from error


def request_of(value: Mapping[str, Any]) -> ServedRequest:
    """A request from a record's fields.

    Raises:
        KeyError: one is missing.
        ValueError: one is malformed.
    """
    return ServedRequest(
        session_id=str(value["session_id"]),
        arrived_unix_seconds=float(value["arrived_unix_seconds"]),
        outcome=str(value["outcome"]),
        stream=bool(value["stream"]),
        prompt_tokens=_count(value["prompt_tokens"]),
        cached_tokens=_count(value["cached_tokens"]),
        output_tokens=_count(value["output_tokens"]) or 0,
        output_exact=bool(value["output_exact"]),
        waited_seconds=float(value["waited_seconds"]),
        first_seconds=_seconds(value["first_byte_seconds"]),
        last_seconds=_seconds(value["last_byte_seconds"]),
        agent_class=str(value.get("agent_class", "")),
        reason=value.get("reason"),
    )


def _count(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count of tokens")
    return value


def _seconds(value: Any) -> float | None:
    return None if value is None else float(value)


def new_tokens(requests: Iterable[ServedRequest]) -> dict[int, int]:
    """For each request by its place, the prompt tokens that its session had not held before.

    That is the prompt less the prompt and the output before it. A prompt that is shorter than those counts
    none, so that a compacted context looks recomputed. Requests whose prompt is not known are left out.
    """
    held: dict[str, int] = {}
    fresh: dict[int, int] = {}
    ordered = sorted(enumerate(requests), key=lambda pair: pair[1].arrived_unix_seconds)
    for place, request in ordered:
        if request.prompt_tokens is None or request.outcome in ("refused", "failed"):
            continue
        fresh[place] = max(0, request.prompt_tokens - held.get(request.session_id, 0))
        held[request.session_id] = request.prompt_tokens + request.output_tokens
    return fresh


def wall_seconds(requests: Iterable[ServedRequest]) -> float:
    """From the first arrival to the last byte; 0 without requests."""
    starts: list[float] = []
    ends: list[float] = []
    for request in requests:
        starts.append(request.arrived_unix_seconds)
        ends.append(request.arrived_unix_seconds + (request.last_seconds or request.waited_seconds))
    return max(ends) - min(starts) if starts else 0.0
