"""Traces: the same for the same arguments, a prefix chain each, and read back as they were written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import serving.bench
from serving.bench.trace import AGENTS, BLOCK_TOKENS, dump, generate, parse, sessions, shaped, summary

SHIPPED = Path(serving.bench.__file__).parent / "data" / "agents.jsonl"
TRACE = generate()


def test_the_shipped_trace_is_the_generated_one() -> None:
    assert SHIPPED.read_text("utf-8") == dump(TRACE)


def test_it_is_what_agents_are() -> None:
    told = summary(TRACE)
    assert (told.agents, told.requests) == (4, 4 * 43)
    assert told.reused > 0.95
    assert 50 * told.output_tokens < told.input_tokens


def test_each_prompt_holds_the_one_before_it() -> None:
    by_id = {request.chat_id: request for request in TRACE}
    for request in TRACE:
        assert request.input_length == len(request.hash_ids) * BLOCK_TOKENS
        if request.parent_chat_id >= 0:
            before = by_id[request.parent_chat_id]
            assert request.hash_ids[: len(before.hash_ids)] == before.hash_ids
            assert request.turn == before.turn + 1
            assert request.timestamp > before.timestamp + request.pause_seconds


def test_it_is_read_as_it_was_written() -> None:
    assert parse(dump(TRACE).splitlines()) == TRACE
    other = generate(replace(AGENTS, agents=2, turns=3), seed=2)
    assert dump(other) == dump(generate(replace(AGENTS, agents=2, turns=3), seed=2))
    assert dump(other) != dump(generate(replace(AGENTS, agents=2, turns=3), seed=3))


def test_a_part_at_another_scale() -> None:
    part = shaped(TRACE, agents=2, turns=5, block_tokens=32)
    assert len(part) == 10
    assert len(set(sessions(part))) == 2
    for request in part:
        assert request.input_length == len(request.hash_ids) * 32
    whole = {request.chat_id: request for request in TRACE}
    assert all(request.pause_seconds <= whole[request.chat_id].pause_seconds / 15 for request in part)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nonsense", "line 1 is no request"),
        ('{"chat_id": 1}', "line 1 is no request"),
        ('{"chat_id":1,"timestamp":0,"input_length":0,"output_length":1,"hash_ids":[]}', "must be positive"),
        (
            json.dumps(
                {
                    "chat_id": 1, "parent_chat_id": 7, "timestamp": 0, "input_length": 1,
                    "output_length": 1, "hash_ids": [1],
                }
            ),
            "follows request 7",
        ),
        ("", "no request"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_told(line: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse([line])
