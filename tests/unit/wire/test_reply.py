"""A reply never exceeds its budget, and what it leaves out is marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import TextContent

from mcp_offload.tokens import TokenCounter
from mcp_offload.wire.reply import CUT_MARKER, JSON_META_KEY, Budget, fit, reply, wants_json

COUNT = TokenCounter().count


def _budget(max_tokens: int = 200, max_bytes: int = 2_000) -> Budget:
    return Budget(max_tokens, max_bytes, COUNT)


@given(st.text(max_size=4_000), st.integers(50, 400), st.integers(200, 4_000))
def test_no_limit_is_ever_exceeded(text: str, max_tokens: int, max_bytes: int) -> None:
    kept = fit(text, Budget(max_tokens, max_bytes, COUNT))
    assert COUNT(kept) <= max_tokens
    assert len(kept.encode("utf-8", "surrogatepass")) <= max_bytes
    assert kept == text or kept.endswith(CUT_MARKER)


def test_what_fits_is_untouched() -> None:
    text = "line\n" * 50
    assert fit(text, _budget()) == text


def test_as_many_whole_lines_as_fit_are_kept() -> None:
    lines = [f"line {number}" for number in range(1_000)]
    kept = fit("\n".join(lines), _budget()).split("\n")
    assert kept[-1] == CUT_MARKER
    assert kept[:-1] == lines[: len(kept) - 1]
    longer = "\n".join([*lines[: len(kept)], CUT_MARKER])
    assert COUNT(longer) > 200


def test_one_long_line_is_cut_inside() -> None:
    first, marker = fit("word " * 5_000, _budget()).split("\n")
    assert marker == CUT_MARKER
    assert first.startswith("word word")


def test_characters_made_visible_count() -> None:
    result = reply("\x1b" * 1_900, _budget())
    block = result.content[0]
    assert isinstance(block, TextContent)
    assert block.text.startswith("␛␛")
    assert COUNT(block.text) <= 200
    assert block.text.endswith(CUT_MARKER)


def test_a_reply_is_one_text_block_and_nothing_else() -> None:
    dumped = reply("hello", _budget()).model_dump(by_alias=True, exclude_none=True)
    assert dumped["content"] == [{"type": "text", "text": "hello"}]
    assert not {"structuredContent", "_meta"} & dumped.keys()


def test_json_goes_where_programs_look_for_it() -> None:
    dumped = reply("hello", _budget(), data={"handle": "f1"}, error=True).model_dump(by_alias=True)
    assert dumped["_meta"] == {JSON_META_KEY: {"handle": "f1"}}
    assert dumped["isError"] is True


@pytest.mark.parametrize(
    ("meta", "wanted"),
    [(None, False), ({}, False), ({JSON_META_KEY: True}, True), ({JSON_META_KEY: "yes"}, False)],
)
def test_json_is_sent_only_when_asked_for(meta: dict[str, object] | None, wanted: bool) -> None:
    assert wants_json(meta) is wanted
