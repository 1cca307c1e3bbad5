"""Edits of TOML touch nothing that they do not concern."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import RegistrationError
from mcp_offload.install.toml_edit import drop, load, put

PATH = ("mcp_servers", "offload")
ENTRY = {
    "command": "/opt/python",
    "args": ["-P", 'a "b" \\ \x7f é'],
    "tools": {"read_handle": {"mode": "approve"}},
}

PIECES = st.lists(
    st.sampled_from([
        "# a comment with [mcp_servers.offload] in it\n",
        "\n",
        "  \n",
        '[mcp_servers.{n}]\ncommand = "x" # why\nargs = [\n  "a]", # ]\n  "b",\n]\n',
        "[mcp_servers.{n}.env]\nA = '[x]'\n",
        '["quoted.{n}" . b]\nc = """\n[mcp_servers.offload]\n"""\n',
        "[[list{n}]]\nd = '''\n# not a comment\n'''\n[[list{n}]]\n",
        "[n{n}]\nm = [\n[1],\n  [2]\n]\n",
        "[t{n}]\nx.y = {{ z = 1 }}\nwhen = 1979-05-27T07:32:00Z\n",
    ]),
    max_size=6,
)  # fmt: skip


def _text(pieces: list[str], newline: str) -> str:
    body = "".join(
        piece.replace("{n}", str(place)).replace("{{", "{").replace("}}", "}")
        for place, piece in enumerate(pieces)
    )
    return ("top = 1\n" + body).replace("\n", newline)


@given(PIECES, st.sampled_from(["\n", "\r\n"]), st.integers(0, 6))
def test_a_put_only_adds_and_a_drop_undoes_it(pieces: list[str], newline: str, place: int) -> None:
    text = _text(pieces, newline)
    after = put(text, PATH, ENTRY)
    assert after.startswith(text)
    assert after.count("\n") == after.count(newline)
    before = tomllib.loads(text)
    servers = {**before.pop("mcp_servers", {}), "offload": ENTRY}
    assert tomllib.loads(after) == {**before, "mcp_servers": servers}
    assert put(after, PATH, ENTRY) == after
    assert drop(after, PATH, 1) == text
    # The table may as well stand between others.
    block = after[len(text) :].strip() + newline
    cut = min(place, len(pieces))
    head = _text(pieces[:cut], newline)
    between = head + block + text[len(head) :]
    assert drop(between, PATH, 0).replace(newline, "") == text.replace(newline, "")
    assert load(drop(between, PATH, 0)) == load(text)


def test_a_comment_above_the_next_table_stays() -> None:
    text = '[mcp_servers.offload]\ncommand = "x"\n\n# my other one\n[mcp_servers.x]\ncommand = "y"\n'
    assert drop(text, PATH, 0) == '\n# my other one\n[mcp_servers.x]\ncommand = "y"\n'


def test_an_older_table_is_replaced_where_it_stands() -> None:
    text = (
        '[mcp_servers.offload]\ncommand = "old"\n[mcp_servers.offload.env]\nA = "b"\n\n# next\n[z]\na = 1\n'
    )
    assert (
        put(text, PATH, {"command": "new"})
        == '[mcp_servers.offload]\ncommand = "new"\n\n# next\n[z]\na = 1\n'
    )


def test_parts_of_a_table_in_several_places_are_all_taken_out() -> None:
    text = '[mcp_servers.offload]\ncommand = "x"\n[z]\na = 1\n[mcp_servers.offload.env]\nA = "b"\n'
    assert load(drop(text, PATH, 0)) == {"z": {"a": 1}}
    assert load(put(text, PATH, {"command": "y"})) == {
        "z": {"a": 1},
        "mcp_servers": {"offload": {"command": "y"}},
    }


def test_a_text_without_a_last_line_break_gets_one() -> None:
    assert put("a = 1", PATH, {"b": 2}) == "a = 1\n\n[mcp_servers.offload]\nb = 2\n"
    assert put("", PATH, {"b": 2}) == "[mcp_servers.offload]\nb = 2\n"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {offload = {command = "x"}}\n',
        '[mcp_servers]\noffload = {command = "x"}\n',
        'mcp_servers.offload.command = "x"\n',
    ],
)
def test_a_table_within_a_line_is_left_to_the_user(text: str) -> None:
    with pytest.raises(RegistrationError, match="inline table"):
        put(text, PATH, {"command": "y"})
    with pytest.raises(RegistrationError, match="inline table"):
        drop(text, PATH, 0)


def test_something_else_in_the_way_is_an_error() -> None:
    with pytest.raises(RegistrationError, match="something else"):
        put("mcp_servers = 1\n", PATH, ENTRY)


def test_what_is_not_toml_is_told_with_its_line() -> None:
    with pytest.raises(RegistrationError, match=r"not TOML: .*line 2"):
        load("a = 1\nb = \n")
