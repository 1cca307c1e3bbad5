"""Edits of YAML touch nothing that they do not concern."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import RegistrationError
from mcp_offload.install.model import Element
from mcp_offload.install.yaml_edit import drop, load, put

ENTRY: dict[str, Any] = {
    "name": "offload",
    "cmd": "/opt/python",
    "args": ["-P", 'a "b": #é'],
    "enabled": True,
}
IN_MAPPING = ("extensions", "offload")
IN_LIST = ("mcpServers", Element("offload"))

OTHERS = st.lists(
    st.sampled_from([
        "# offload: not this one\n",
        "\n",
        "a{n}: |\n  text\n  # not a comment\n\n",
        "b{n}: [1, 2]  # why\n",
        "c{n}:\n    d: {{e: 1}}\n    # inner\n    f:\n    - g\n",
        "h{n}: >-\n  folded\n\n  more\n",
        'i{n}: "x: y"\n',
        "j{n}:\n",
    ]),
    max_size=4,
)  # fmt: skip
HELD = st.sampled_from([
    "extensions:\n  dev:\n    enabled: true  # c\n    args: []\n\n  # last\n  x: {a: 1}\n"
    "mcpServers:\n- name: a\n  command: b\n",
    "extensions:\n    q:\n        b: |\n          text\n\n"
    "mcpServers:\n  - name: a\n    env:\n      B: c\n  # more to come\n",
    "extensions: {a: {b: 1}}  # in one line\nmcpServers: [{name: a}]\n",
    "extensions: {}\nmcpServers: []\n",
    "",
])  # fmt: skip


def _joined(pieces: list[str], first: int) -> str:
    return "".join(
        piece.replace("{n}", str(first + place)).replace("{{", "{").replace("}}", "}")
        for place, piece in enumerate(pieces)
    )


@given(OTHERS, HELD, OTHERS, st.sampled_from(["\n", "\r\n"]), st.sampled_from([IN_MAPPING, IN_LIST]))
def test_a_put_only_adds_and_a_drop_undoes_it(
    above: list[str], held: str, below: list[str], newline: str, path: Any
) -> None:
    text = (_joined(above, 0) + held + _joined(below, 10)).replace("\n", newline)
    after = put(text, path, ENTRY)
    assert after.count("\n") == after.count(newline) or "\n" not in text
    before = load(text)
    parent = before.pop(path[0], None)
    found = load(after)
    if path is IN_LIST:
        assert found.pop("mcpServers") == [*(parent or []), ENTRY]
    else:
        assert found.pop("extensions") == {**(parent or {}), "offload": ENTRY}
    assert found == before
    assert drop(after, path, 0 if held else 1) == text


def test_an_older_entry_is_replaced_where_it_stands() -> None:
    text = "extensions:\n  offload:\n    cmd: old\n  # next\n  z:\n    cmd: y\n"
    after = put(text, IN_MAPPING, {"cmd": "new"})
    assert after == 'extensions:\n  offload:\n    cmd: "new"\n  # next\n  z:\n    cmd: y\n'
    assert drop(after, IN_MAPPING, 0) == "extensions:\n  # next\n  z:\n    cmd: y\n"


@pytest.mark.parametrize(
    "empty", ["extensions:\n", "extensions: null  # none\n", "extensions: ~\n", "extensions:\n\n"]
)
def test_an_empty_place_is_filled(empty: str) -> None:
    for rest in ("", "b: 1\n"):
        assert load(put(empty + rest, IN_MAPPING, ENTRY))["extensions"] == {"offload": ENTRY}


def test_the_last_entry_leaves_an_empty_collection() -> None:
    assert load(drop("extensions:\n  offload:\n    cmd: x\nb: 1\n", IN_MAPPING, 0)) == {
        "extensions": {},
        "b": 1,
    }
    assert load(drop("mcpServers:\n- name: offload\n  cmd: x\n", IN_LIST, 0)) == {"mcpServers": []}


def test_a_parent_that_holds_a_comment_is_kept() -> None:
    text = "extensions:\n  # mine\n  offload:\n    cmd: x\n"
    assert drop(text, IN_MAPPING, 1) == "extensions: {}\n  # mine\n"


def test_a_text_without_a_last_line_break_gets_one() -> None:
    assert put("a: 1", IN_MAPPING, {"b": 2}) == "a: 1\nextensions:\n  offload:\n    b: 2\n"
    assert put("extensions:\n  a: 1", IN_MAPPING, {"b": 2}) == "extensions:\n  a: 1\n  offload:\n    b: 2\n"


@pytest.mark.parametrize("text", ["extensions: [a]\n", "extensions: text\n", "{a: 1}\n"])
def test_something_else_in_the_way_is_an_error(text: str) -> None:
    with pytest.raises(RegistrationError):
        put(text, IN_MAPPING, ENTRY)


@pytest.mark.parametrize("text", ["a: [\n", "a: b: c\n", "\tx: 1\n", "a: 1\n---\nb: 2\n", "a: &x 1\na: 2\n"])
def test_what_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(RegistrationError, match="not YAML"):
        load(text)
