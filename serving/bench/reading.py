"""What one measurement came to, read from what the load generator and the engine tell. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from serving.telemetry import EngineSample
from serving.telemetry.statistics import median_interval, quantile

LEAST_EVENTS: Final = 8
"""Of a stream while all decode; of fewer no velocity is read."""

BURST_FACTOR: Final = 10.0
"""How much faster than the engine's mean step events must come to be a burst of the client's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One request as its client saw it.

    Attributes:
        prompt_tokens: as the engine counted them.
        output_tokens: likewise.
        start_seconds: when it was sent, from the measurement's begin.
        first_seconds: from sending to the first token.
        seconds: from sending to the last token.
        events: times between two events of its stream, seconds; an event may bring several tokens.
        error: why there is no answer; empty where there is one.
    """

    prompt_tokens: int
    output_tokens: int
    start_seconds: float
    first_seconds: float
    seconds: float
    events: tuple[float, ...] = ()
    error: str = ""

    @property
    def velocity(self) -> float | None:
        """Tokens a second from the first token to the last; None without two of them."""
        took = self.seconds - self.first_seconds
        if self.error or self.output_tokens < 2 or took <= 0:
            return None
        return (self.output_tokens - 1) / took


def answers(told: Mapping[str, Any]) -> list[Answer]:
    """Requests from what ``vllm bench serve --save-detailed`` writes.

    Source: vLLM 0.32.0, ``benchmarks/serve.py``.
    """
    begin = min(told["start_times"], default=0.0)
    rows = zip(
        told["input_lens"], told["output_lens"], told["start_times"], told["ttfts"], told["latencies"],
        told["itls"], told["errors"], strict=True,
    )  # fmt: skip
    return [
        Answer(
            prompt_tokens=int(prompt),
            output_tokens=int(output),
            # A request that could not be sent has no time.
            start_seconds=max(0.0, start - begin),
            first_seconds=first,
            seconds=seconds,
            events=tuple(events),
            error=_first_line(error),
        )
        for prompt, output, start, first, seconds, events, error in rows
    ]


def together(asked: Sequence[Answer]) -> list[float] | None:
    """Each stream's tokens a second while all of them decode: from the last first token to the first end.

    Neither prompts that are still computed nor streams that are done already are in it. Tokens an event are
    the stream's own mean, which is 1 without speculation. None where not all decode at one time.
    """
    served = [answer for answer in asked if answer.velocity is not None and answer.events]
    if not served or len(served) < len(asked):
        return None
    begin = max(answer.start_seconds + answer.first_seconds for answer in served)
    end = min(answer.start_seconds + answer.seconds for answer in served)
    found = [_speed_between(answer, begin, end) for answer in served]
    return None if None in found else [speed for speed in found if speed is not None]


def _speed_between(answer: Answer, begin: float, end: float) -> float | None:
    """From the first event within to the last."""
    at, within = answer.start_seconds + answer.first_seconds, list[float]()
    for gap in (0.0, *answer.events):
        at += gap
        if begin <= at <= end:
            within.append(at)
    if len(within) <= LEAST_EVENTS or within[-1] <= within[0]:
        return None
    tokens_an_event = (answer.output_tokens - 1) / len(answer.events)
    return (len(within) - 1) * tokens_an_event / (within[-1] - within[0])


def figures(told: Mapping[str, Any], engine: EngineSample | None) -> dict[str, float | None]:
    """The numbers of a measurement; None where one cannot be had.

    Args:
        told: what the load generator wrote.
        engine: the engine's counters over it; None for a runtime without any.
    """
    asked = answers(told)
    served = [answer for answer in asked if not answer.error]
    steady = [answer for answer in served if not _burst(answer, engine)]
    whole = [speed for answer in steady if (speed := answer.velocity) is not None]
    decoding = together(asked) if len(steady) == len(asked) else None
    speeds = decoding or whole
    between = median_interval(speeds)
    seconds = float(told["duration"])
    return {
        "velocity": _quantile(speeds, 0.5),
        "velocity_low": between[0] if between else None,
        "velocity_high": between[1] if between else None,
        "velocity_p10": _quantile(speeds, 0.1),
        "velocity_whole": _quantile(whole, 0.5),
        "together": float(decoding is not None),
        "bursts": float(len(served) - len(steady)),
        "throughput": sum(answer.output_tokens for answer in served) / seconds if seconds else None,
        "first_token_p50": _quantile([answer.first_seconds for answer in served], 0.5),
        "first_token_p99": _quantile([answer.first_seconds for answer in served], 0.99),
        "latency_p99": _quantile([answer.seconds for answer in served], 0.99),
        "requests": float(len(asked)),
        "failed": float(len(asked) - len(served)),
        "least_output_tokens": min((float(answer.output_tokens) for answer in served), default=None),
        "seconds": seconds,
        "reserved_tokens": told.get("reserved_tokens"),
        **(_engine(engine) if engine else {}),
    }


def _burst(answer: Answer, engine: EngineSample | None) -> bool:
    """Whether a client that lagged read an answer's events at once: ten times faster than the engine's steps.

    Such times tell of the client, not of the engine. The engine's mean step is of all streams, prompts among
    them, so an answer may well be somewhat faster.
    """
    if engine is None or not engine.steps or not answer.events:
        return False
    return sum(answer.events) / len(answer.events) < engine.step_seconds / engine.steps / BURST_FACTOR


def _engine(engine: EngineSample) -> dict[str, float | None]:
    return {
        "preemptions": engine.preemptions,
        "reused": _share(engine.prefix_hits, engine.prefix_queries),
        "recomputed": _share(engine.computed_tokens, engine.prompt_tokens),
        "acceptance": _share(engine.accepted_tokens, engine.draft_tokens),
        "tokens_per_step": engine.tokens_per_step if engine.drafts else None,
        "kv_tokens": float(engine.kv_tokens or engine.blocks * engine.block_tokens) or None,
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _quantile(values: Sequence[float], part: float) -> float | None:
    return quantile(values, part) if values else None


def _first_line(error: str) -> str:
    """A trace of Python's ends with what went wrong."""
    lines = error.strip().splitlines()
    return lines[-1][:300] if lines else ""
