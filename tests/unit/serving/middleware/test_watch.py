"""Tokens and usage, read from answers that come in any pieces."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from serving.middleware.watch import Watch

CHAT = (
    b'data: {"choices":[{"delta":{"content":"say \\"usage\\""}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"two"}}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":70,"completion_tokens":9,'
    b'"prompt_tokens_details":{"cached_tokens":64}}}\n\n'
    b"data: [DONE]\n\n"
)
MESSAGES = (
    b'event: message_start\ndata: {"type":"message_start","message":{"usage":'
    b'{"input_tokens":70,"output_tokens":0,"cache_read_input_tokens":64}}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"a"}}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":9}}\n\n'
)
RESPONSES = (
    b'event: response.output_text.delta\ndata: {"delta":"a"}\n\n'
    b'event: response.completed\ndata: {"response":{"usage":{"input_tokens":70,"output_tokens":9,'
    b'"input_tokens_details":{"cached_tokens":64}}}}\n\n'
)


@given(st.sampled_from([CHAT, MESSAGES, RESPONSES]), st.lists(st.integers(1, 40), min_size=1))
def test_a_stream_is_read_whatever_pieces_it_comes_in(stream: bytes, sizes: list[int]) -> None:
    watch = Watch(stream=True)
    position = turn = 0
    while position < len(stream):
        size = sizes[turn % len(sizes)]
        watch.feed(stream[position : position + size], float(turn))
        position, turn = position + size, turn + 1
    watch.finish()
    usage = watch.usage
    assert (usage.prompt_tokens, usage.output_tokens, usage.cached_tokens) == (70, 9, 64)
    assert watch.output_tokens == 9
    assert watch.events == stream.count(b"data:")
    assert (watch.first_seconds, watch.last_seconds) == (0.0, float(turn - 1))


def test_without_usage_each_event_counts_as_a_token() -> None:
    watch = Watch(stream=True)
    for i in range(5):
        watch.feed(b'data: {"n":%d}\n\n' % i, float(i))
    watch.finish()
    assert watch.output_tokens == 5
    assert watch.usage.output_tokens is None


def test_a_whole_answer_tells_its_usage_at_the_end() -> None:
    body = json.dumps({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}).encode()
    watch = Watch(stream=False)
    watch.feed(body[:10], 0.0)
    watch.feed(body[10:], 1.0)
    assert watch.output_tokens == 0
    watch.finish()
    assert watch.output_tokens == 3


@given(st.binary(max_size=300), st.booleans())
def test_bytes_that_are_no_answer_are_no_error(data: bytes, stream: bool) -> None:
    watch = Watch(stream=stream)
    watch.feed(data, 0.0)
    watch.finish()
    assert watch.output_tokens >= 0
