"""Hidden characters become visible; ordinary text of every script stays as it is."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.wire.scrub import replace_surrogates, scrub_message, scrub_surrogates, scrub_text

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("bell\x07 nul\x00 del\x7f", "bell␇ nul␀ del␡"),
        ("csi\x9b31m", "csi\\x9b31m"),
        ("abc\u202edcba\u202c", "abc\\u202edcba\\u202c"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ufeffbom", "\\ufeffbom"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("para\u2029graph", "para\\u2029graph"),
        ("name\udcff.py", "name\\xff.py"),
        ("half\ud83d", "half\\ud83d"),
        ("dos\r\nline", "dos\nline"),
        ("progress\rbar", "progress␍bar"),
    ],
)
def test_what_is_hidden_is_shown(raw: str, shown: str) -> None:
    assert scrub_text(raw) == shown


@pytest.mark.parametrize(
    "text", ["tab\tand\nline", "naïve café", "日本語", "עברית", "می‌خواهم", "👩‍👩‍👧", "é", "𝒳", "␛"]
)
def test_ordinary_text_is_untouched(text: str) -> None:
    assert scrub_text(text) == text


@given(ANY_TEXT)
def test_nothing_hidden_survives_and_a_second_scrub_changes_nothing(text: str) -> None:
    shown = scrub_text(text)
    shown.encode("utf-8")
    hidden = [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]
    assert hidden == []
    assert not any(0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069 for c in shown)
    assert scrub_text(shown) == shown


@given(ANY_TEXT)
def test_surrogates_alone_are_replaced_for_programs(text: str) -> None:
    clean = scrub_surrogates(text)
    clean.encode("utf-8")
    assert [c for c in clean if c == "\x1b"] == [c for c in text if c == "\x1b"]


def test_a_message_is_scrubbed_in_values_keys_and_depth_but_meta_keeps_its_text() -> None:
    message = {
        "result": {
            "content": [{"type": "text", "text": "\x1b\ud800"}],
            "k\udcffey": ("\x07", 1, None, True, 1.5),
            "_meta": {"data": {"text": "\x1b\r\n\udcff"}},
        }
    }
    assert scrub_message(message) == {
        "result": {
            "content": [{"type": "text", "text": "␛\\ud800"}],
            "k\\xffey": ["␇", 1, None, True, 1.5],
            "_meta": {"data": {"text": "\x1b\r\n\\xff"}},
        }
    }


def test_requests_get_replacement_characters_and_keep_everything_else() -> None:
    parsed = json.loads('{"a\\ud800": ["x\\udfff\\u001b", {"b": 1}], "c": null}')
    assert replace_surrogates(parsed) == {"a\ufffd": ["x\ufffd\x1b", {"b": 1}], "c": None}
