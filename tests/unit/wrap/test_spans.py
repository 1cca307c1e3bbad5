"""The members of a JSON object in its own spelling."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.wrap.spans import find, members

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_a_value_comes_back_as_it_is_spelled() -> None:
    text = ' { "a" : 1.50e1 ,\n"b\\u0041":{"c" : [ 1,2 ]}, "d":"\\"}" } '
    assert find(text, "a") == "1.50e1"
    assert find(text, "bA", "c") == "[ 1,2 ]"
    assert find(text, "d") == '"\\"}"'


def test_of_two_with_one_name_the_last_counts() -> None:
    assert find('{"a": 1, "a": 2}', "a") == "2"


@pytest.mark.parametrize("path", [("x",), ("a", "b"), ("a", "b", "c")])
def test_what_is_not_there_is_none(path: tuple[str, ...]) -> None:
    assert find('{"a": [1], "c": {}}', *path) is None


def test_what_is_no_object_has_no_members() -> None:
    with pytest.raises(ValueError, match="not an object"):
        list(members("[1]"))


@given(st.dictionaries(st.text(), JSON), st.sampled_from([None, 1]), st.booleans())
def test_every_member_is_found_whole(value: dict[str, object], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = {member.key: json.loads(text[member.start : member.end]) for member in members(text)}
    assert found == value
