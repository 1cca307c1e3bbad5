"""Edits of JSON with comments touch nothing that they do not concern."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import MISSING, depth, get, with_drop, with_put
from mcp_offload.install.json_edit import drop, load, put
from mcp_offload.install.jsonc import parse
from mcp_offload.install.model import Element

PATH = ("mcpServers", "offload")
ENTRY = {"command": "/opt/python", "args": ["-P", "serve"]}

KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers(-999, 999) | KEYS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
GAPS = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // it's \"{,\n", "/* ] , */", "\r\n    ", "\n\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object as a person or a client may have written it."""
    value = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    value.pop("mcpServers", None)
    servers = draw(st.none() | st.dictionaries(KEYS, VALUES, max_size=2))
    if servers is not None:
        servers.pop("offload", None)
        members = list(value.items())
        members.insert(draw(st.integers(0, len(members))), ("mcpServers", servers))
        value = dict(members)
    return draw(GAPS) + _written(draw, value) + draw(GAPS)


def _written(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, dict):
        members = [
            draw(GAPS) + json.dumps(key, ensure_ascii=draw(st.booleans())) + draw(GAPS) + ":" + draw(GAPS)
            + _written(draw, item) + draw(GAPS)
            for key, item in value.items()
        ]  # fmt: skip
        return "{" + _listed(draw, members) + "}"
    if isinstance(value, list):
        return "[" + _listed(draw, [draw(GAPS) + _written(draw, item) + draw(GAPS) for item in value]) + "]"
    return json.dumps(value)


def _listed(draw: st.DrawFn, members: list[str]) -> str:
    if not members:
        return draw(st.sampled_from(["", "\n", " // nothing yet\n", "/* nothing */\n"]))
    return ",".join(members) + (f",{draw(GAPS)}" if draw(st.booleans()) else "")


def _is_within(short: str, long: str) -> bool:
    """True where ``long`` is ``short`` with characters put between."""
    rest = iter(long)
    return all(sign in rest for sign in short)


@given(documents())
def test_a_put_only_adds(text: str) -> None:
    before = load(text)
    after = put(text, PATH, ENTRY)
    assert load(after) == with_put(before, PATH, ENTRY)
    assert _is_within(text, after)
    assert put(after, PATH, ENTRY) == after


@given(documents())
def test_a_drop_undoes_a_put(text: str) -> None:
    before = load(text)
    created = 1 if get(before, ("mcpServers",)) is MISSING else 0
    held = parse(text)
    for member in held.members:
        held = member.node if member.key == "mcpServers" else held
    blank = not text[held.start + 1 : held.end - 1].strip()
    assume(not (blank and held.end - held.start > 2))
    assert drop(put(text, PATH, ENTRY), PATH, created) == text


@given(documents(), st.data())
def test_a_drop_only_removes(text: str, data: st.DataObject) -> None:
    before = load(text)
    keys = [(key,) for key in before]
    keys += [(key, below) for key, value in before.items() if isinstance(value, dict) for below in value]
    assume(keys)
    path = data.draw(st.sampled_from(keys))
    after = drop(text, path, 0)
    assert load(after) == with_drop(before, path, 0)
    assert _is_within(after, text)


@given(documents(), st.integers(0, 2))
def test_dropping_what_is_not_there_changes_nothing(text: str, prune: int) -> None:
    before = load(text)
    for path in (PATH, ("mcpServers", "offload", "args"), ("nowhere",)):
        assert drop(text, path, prune) == text
        assert with_drop(before, path, prune) == before


@given(documents(), st.integers(0, 1))
def test_elements_are_put_and_dropped_alike(text: str, trailing: int) -> None:
    before = load(text)
    path = ("permissions", "allow", Element("mcp__offload__read_handle"))
    assume("permissions" not in before)
    created = 2 - depth(before, path[:2])
    after = put(put(text, path, "mcp__offload__read_handle"), ("permissions", "deny"), [])
    assert load(after)["permissions"] == {"allow": ["mcp__offload__read_handle"], "deny": []}
    undone = drop(drop(after, ("permissions", "deny"), 0), path, created - trailing)
    assert load(undone) == (before if not trailing else {**before, "permissions": {}})


@given(VALUES)
def test_plain_json_reads_as_the_standard_library_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert parse(text).value == json.loads(text)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except RegistrationError as error:
        assert re.match(r"line \d+ is not JSON: ", str(error))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a" 1}', 1),
        ('{\n"a": 1\n"b": 2}', 3),
        ('{"a": 1', 1),
        ('{"a": "x\ny"}', 1),
        ("{'a': 1}", 1),
        ('{"a": 01}', 1),
        ('{"a": "\\x"}', 1),
        ('{} {"b": 1}', 1),
        ("[" * 300, 1),
        ("{,}", 1),
        ("/* never closed", 1),
    ],
)
def test_what_is_not_json_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(RegistrationError, match=f"^line {line} is not JSON"):
        load(text)


def test_a_member_is_laid_out_like_its_neighbours() -> None:
    text = '{\n    "mcpServers": {\n        "x": {"command": "y"}, // mine\n    },\n    "theme": "dark"\n}\n'
    assert put(text, PATH, ENTRY) == (
        '{\n    "mcpServers": {\n        "x": {"command": "y"}, // mine\n'
        '        "offload": {\n            "command": "/opt/python",\n'
        '            "args": ["-P", "serve"]\n        },\n    },\n    "theme": "dark"\n}\n'
    )


def test_line_ends_are_kept() -> None:
    after = put('{\r\n\t"a": 1\r\n}\r\n', PATH, ENTRY)
    assert after.count("\n") == after.count("\r\n") == 9
    assert '\r\n\t"mcpServers": {\r\n\t\t"offload": {\r\n' in after


def test_an_older_entry_is_replaced_where_it_stands() -> None:
    text = '{"mcpServers": {"offload": {"command": "old"}, "z": {}}}'
    after = put(text, PATH, {"command": "new"})
    assert list(load(after)["mcpServers"]) == ["offload", "z"]
    assert load(after)["mcpServers"]["offload"] == {"command": "new"}


def test_of_a_key_given_twice_the_last_counts() -> None:
    text = '{"mcpServers": {"offload": 1, "offload": 2}}'
    assert load(put(text, PATH, 3)) == {"mcpServers": {"offload": 3}}
    assert put(text, PATH, 3).count("1") == 1


@pytest.mark.parametrize("text", ['{"mcpServers": []}', '{"mcpServers": "x"}', "[]", "1"])
def test_something_else_in_the_way_is_an_error(text: str) -> None:
    with pytest.raises(RegistrationError, match="something else than an object"):
        put(text, PATH, ENTRY)


def test_an_empty_file_becomes_an_object() -> None:
    for text in ("", " \n"):
        assert load(put(text, PATH, ENTRY)) == {"mcpServers": {"offload": ENTRY}}
        assert drop(text, PATH, 0) == text
    assert put("", PATH, ENTRY).endswith("}\n")


def test_a_null_is_an_empty_place() -> None:
    assert load(put('{"mcpServers": null}', PATH, ENTRY)) == {"mcpServers": {"offload": ENTRY}}


def test_a_parent_that_holds_a_comment_is_kept() -> None:
    text = '{\n  "mcpServers": {\n    // mine\n    "offload": {}\n  }\n}\n'
    assert drop(text, PATH, 1) == '{\n  "mcpServers": {\n    // mine\n  }\n}\n'


def test_nothing_moves_behind_a_comment() -> None:
    text = '{\n// first\n"offload": 1, "b": 2}'
    assert load(drop(text, ("offload",), 0)) == {"b": 2}
