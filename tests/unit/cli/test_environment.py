from __future__ import annotations

import pytest

from mcp_offload.cli.environment import VARIABLES, one_of, read_environment, whole_number
from mcp_offload.errors import SettingsError


def test_only_our_variables_are_taken() -> None:
    environ = {"PATH": "/bin", "MCP_OFFLOAD_STORE": "/s", "MCP_SERVER": "x"}
    assert read_environment(environ) == {"MCP_OFFLOAD_STORE": "/s"}


def test_an_empty_variable_counts_as_unset() -> None:
    assert read_environment({"MCP_OFFLOAD_STORE": ""}) == {}


def test_a_misspelt_variable_is_refused_with_the_closest_name() -> None:
    with pytest.raises(SettingsError, match="did you mean MCP_OFFLOAD_QUOTA_BYTES"):
        read_environment({"MCP_OFFLOAD_QOUTA_BYTES": "1"})


def test_a_variable_close_to_none_lists_them_all() -> None:
    with pytest.raises(SettingsError) as caught:
        read_environment({"MCP_OFFLOAD_ZZZZZZZZZZZZZZZZZZZZ": "1"})
    assert all(name in str(caught.value) for name in VARIABLES)


def test_a_misspelt_variable_is_refused_even_where_empty() -> None:
    with pytest.raises(SettingsError):
        read_environment({"MCP_OFFLOAD_STOER": ""})


def test_variables_of_the_test_suite_are_left_to_it() -> None:
    assert read_environment({"MCP_OFFLOAD_TEST_CORPUS": "/c", "MCP_OFFLOAD_KILL_ROUNDS": "3"}) == {}


@pytest.mark.parametrize("text", ["", "4G", "1.5", "-1", "0x10"])
def test_a_number_that_is_none_or_too_small_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="MCP_OFFLOAD_QUOTA_BYTES must be"):
        whole_number({"MCP_OFFLOAD_QUOTA_BYTES": text}, "MCP_OFFLOAD_QUOTA_BYTES", 7)


def test_a_number_is_read_and_falls_back_to_the_default() -> None:
    assert whole_number({"MCP_OFFLOAD_QUOTA_BYTES": "12"}, "MCP_OFFLOAD_QUOTA_BYTES", 7) == 12
    assert whole_number({}, "MCP_OFFLOAD_QUOTA_BYTES", 7) == 7


def test_a_word_must_be_one_of_the_choices() -> None:
    assert one_of({"MCP_OFFLOAD_TOOLS": "all"}, "MCP_OFFLOAD_TOOLS", ("default", "all"), "default") == "all"
    with pytest.raises(SettingsError, match="default or all, not 'every'"):
        one_of({"MCP_OFFLOAD_TOOLS": "every"}, "MCP_OFFLOAD_TOOLS", ("default", "all"), "default")
