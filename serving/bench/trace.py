"""Agents' requests as a trace file: one JSON object a line, which other load generators read as well. Pure.

A line is one request. Prompts are not kept but told by the blocks that they are made of: equal numbers are
equal text, so a prefix cache does in a replay what it did before.

Source: the fields, but ``pause_seconds``, are those of Alibaba's Bailian traces
(https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon), blocks of 512 tokens are those of Mooncake's
(Qin et al., FAST 2025); ``vllm bench serve --dataset-name timed_trace`` and AIPerf read both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from serving.bench.workload import Agent, Workload

BLOCK_TOKENS: Final = 512
"""Of a trace's blocks. A smaller number replays the same agents at a smaller scale."""

SHARED_BLOCKS: Final = 12
"""At the head of every agent's prompt: the system prompt and the tools, which all have in common."""

AGENTS: Final = Workload(agents=4, turns=43, base_tokens=14_000, new_tokens=1_850)
"""What the shipped trace is drawn from.

Source: medians of public agent traces: 43 turns, 444 tokens out, over 95 % of prompts read before (vLLM blog
of 2026-09-08 on agentic workloads)."""

_FIRST_TOKEN_SECONDS: Final = 1.0
_TOKEN_SECONDS: Final = 0.02
_START_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Request:
    """One line of a trace.

    Attributes:
        chat_id: of this request.
        parent_chat_id: the request that it follows, -1 where it is an agent's first.
        timestamp: seconds from the trace's begin, as they were, or are supposed, without any wait; replays
            that wait for answers take it for an agent's first request alone.
        input_length: tokens of the prompt.
        output_length: tokens of the answer.
        type: always ``text``.
        turn: of the agent, from 1.
        hash_ids: the prompt's blocks.
        pause_seconds: from the answer before it until this request is sent: a tool runs.
    """

    chat_id: int
    parent_chat_id: int
    timestamp: float
    input_length: int
    output_length: int
    type: str
    turn: int
    hash_ids: tuple[int, ...]
    pause_seconds: float


def generate(workload: Workload = AGENTS, seed: int = 1) -> list[Request]:
    """Requests of drawn agents, in the order of their times; the same for the same arguments.

    Every prompt holds the one before it, the answer to that, and a tool's result, in whole blocks.
    """
    made: list[Request] = []
    fresh = SHARED_BLOCKS
    for number, agent in enumerate(workload.draw(seed)):
        lines = list(_requests(agent, number, fresh, len(made)))
        fresh = max(fresh, *(1 + max(line.hash_ids) for line in lines))
        made += lines
    return sorted(made, key=lambda request: (request.timestamp, request.chat_id))


def _requests(agent: Agent, number: int, fresh: int, first_id: int) -> Iterator[Request]:
    blocks = list(range(SHARED_BLOCKS))
    own = max(1, round(agent.base_tokens / BLOCK_TOKENS) - SHARED_BLOCKS)
    at, pause = number * _START_SECONDS, 0.0
    for place, turn in enumerate(agent.turns):
        blocks += range(fresh, fresh + own)
        fresh += own
        yield Request(
            chat_id=first_id + place,
            parent_chat_id=first_id + place - 1 if place else -1,
            timestamp=round(at, 3),
            input_length=len(blocks) * BLOCK_TOKENS,
            output_length=turn.output_tokens,
            type="text",
            turn=place + 1,
            hash_ids=tuple(blocks),
            pause_seconds=round(pause, 3),
        )
        pause = turn.pause_seconds
        at += _FIRST_TOKEN_SECONDS + turn.output_tokens * _TOKEN_SECONDS + pause
        own = max(1, round((turn.output_tokens + turn.new_tokens) / BLOCK_TOKENS))


def sessions(requests: Sequence[Request]) -> list[int]:
    """For each request the ``chat_id`` of its agent's first."""
    first: dict[int, int] = {}
    for request in sorted(requests, key=lambda request: request.turn):
        first[request.chat_id] = first.get(request.parent_chat_id, request.chat_id)
    return [first[request.chat_id] for request in requests]


def shaped(
    requests: Sequence[Request],
    *,
    agents: int | None = None,
    turns: int | None = None,
    block_tokens: int = BLOCK_TOKENS,
    most_pause_seconds: float = 60.0,
) -> list[Request]:
    """A part of a trace, or the whole at another scale.

    Args:
        requests: the trace.
        agents: how many of them, in the order of their first requests; None for all.
        turns: of each; None for all.
        block_tokens: that a block becomes; lengths, pauses and starts shrink in proportion.
        most_pause_seconds: longer ones are cut to it, as a tool that waited for a person says little.
    """
    scale = block_tokens / BLOCK_TOKENS
    of = sessions(requests)
    kept = set(list(dict.fromkeys(of))[:agents])
    return [
        replace(
            request,
            timestamp=round(request.timestamp * scale, 3),
            input_length=max(1, round(request.input_length * scale)),
            output_length=max(1, round(request.output_length * scale)),
            pause_seconds=round(min(request.pause_seconds, most_pause_seconds) * scale, 3),
        )
        for request, session in zip(requests, of, strict=True)
        if session in kept and (turns is None or request.turn <= turns)
    ]


@dataclass(frozen=True, slots=True)
class Summary:
    """A trace in numbers; ``reused`` is the share of prompt tokens that an unbounded prefix cache holds."""

    agents: int
    requests: int
    input_tokens: int
    output_tokens: int
    longest_tokens: int
    reused: float


def summary(requests: Sequence[Request]) -> Summary:
    """What a trace comes to."""
    seen: set[int] = set()
    reused = blocks = 0
    for request in requests:
        blocks += len(request.hash_ids)
        reused += sum(block in seen for block in request.hash_ids)
        seen.update(request.hash_ids)
    return Summary(
        agents=len(set(sessions(requests))),
        requests=len(requests),
        input_tokens=sum(request.input_length for request in requests),
        output_tokens=sum(request.output_length for request in requests),
        longest_tokens=max((r.input_length + r.output_length for r in requests), default=0),
        reused=reused / blocks if blocks else 0.0,
    )


def dump(requests: Iterable[Request]) -> str:
    """The trace's text."""
    return "".join(json.dumps(asdict(request), separators=(",", ":")) + "\n" for request in requests)


def parse(lines: Iterable[str]) -> list[Request]:
    """A trace from its lines; fields that are not known are passed over, optional ones may lack.

    Raises:
        ValueError: a line is no request, or follows one that is not there; the message names the line.
    """
    found: list[Request] = []
    known = {-1}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            request = _request(json.loads(line))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"line {number} is no request of a trace: {error!r}") from error
        if request.parent_chat_id not in known:
            raise ValueError(
                f"line {number} follows request {request.parent_chat_id}, which is not before it"
            )
        known.add(request.chat_id)
        found.append(request)
    if not found:
        raise ValueError("it holds no request")
    return found


def _request(told: Mapping[str, Any]) -> Request:
    made = Request(
        chat_id=int(told["chat_id"]),
        parent_chat_id=int(told.get("parent_chat_id", -1)),
        timestamp=float(told["timestamp"]),
        input_length=int(told["input_length"]),
        output_length=int(told["output_length"]),
        type=str(told.get("type", "text")),
        turn=int(told.get("turn", 1)),
        hash_ids=tuple(int(block) for block in told["hash_ids"]),
        pause_seconds=float(told.get("pause_seconds", 0.0)),
    )
    if made.input_length < 1 or made.output_length < 1 or made.pause_seconds < 0 or made.timestamp < 0:
        raise ValueError("lengths must be positive, times not negative")
    return made
