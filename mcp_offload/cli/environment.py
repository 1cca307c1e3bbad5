"""The environment variables that are settings, and what each may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_offload.errors import SettingsError

PREFIX: Final = "MCP_OFFLOAD_"

VARIABLES: Final[Mapping[str, str]] = {
    "MCP_OFFLOAD_STORE": "directory of the store; as --store",
    "MCP_OFFLOAD_STATE": "directory of what must outlive a wiped store; as --state",
    "MCP_OFFLOAD_ROOTS": "allowed directories, separated as in PATH; as --root, repeated",
    "MCP_OFFLOAD_WORKSPACE": "workspace to work in; as --workspace",
    "MCP_OFFLOAD_DURABILITY": "process (survives kill -9) or host (also survives a host crash)",
    "MCP_OFFLOAD_QUOTA_BYTES": "most bytes the store may hold, all workspaces together",
    "MCP_OFFLOAD_MAX_ARTIFACT_BYTES": "most bytes of one artifact",
    "MCP_OFFLOAD_TTL_SECONDS": "idle time after which what is not pinned expires",
    "MCP_OFFLOAD_RESERVE_BYTES": "free disk below which nothing more is stored",
    "MCP_OFFLOAD_TOOLS": "tools the server lists: default or all; as serve --tools",
    "MCP_OFFLOAD_MAX_TOKENS": "default token budget of one reply of the server",
    "MCP_OFFLOAD_MAX_REPLY_BYTES": "most bytes of one reply of the server",
    "MCP_OFFLOAD_LEASE": "off, advisory or hard; as serve --lease",
    "MCP_OFFLOAD_LEASE_LIMIT": "tokens of the model's whole context; as --lease-limit",
    "MCP_OFFLOAD_LEASE_RESERVE": "of them, for what the server cannot see; as --lease-reserve",
    "MCP_OFFLOAD_TOKENIZER_FACTOR": "tokens of the model for one o200k token; as --tokenizer-factor",
    "MCP_OFFLOAD_LEASE_FOR": "leases of single clients, separated by semicolons; as --lease-for",
    "MCP_OFFLOAD_RG": "path of ripgrep, or off to search in process; by default found on PATH",
    "MCP_OFFLOAD_ALLOW_RUN": "commands that clients may run, separated by commas; as serve --allow-run",
    "MCP_OFFLOAD_RUN_ENV": "variables that commands get although they look like secrets: A,AWS_*",
    "MCP_OFFLOAD_WRAP_HEADERS": "headers for a server wrapped by URL, a line each; as wrap --header",
    "MCP_OFFLOAD_FAILPOINTS": "for tests: name=action pairs separated by commas",
}
"""Every variable that is read, with what it holds."""

_OF_THE_TESTS: Final = "MCP_OFFLOAD_TEST_"
_OF_THE_TESTS_TOO: Final = frozenset({"MCP_OFFLOAD_KILL_ROUNDS"})


def read_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environ`` that are settings, by name; empty values count as unset.

    Raises:
        SettingsError: a variable starts like ours and is none of ours, most likely by a typing error.
    """
    found: dict[str, str] = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name.startswith(_OF_THE_TESTS) or name in _OF_THE_TESTS_TOO:
            continue
        if name not in VARIABLES:
            raise SettingsError(f"{name} is not a setting{_suggestion(name)}. Unset it or correct its name.")
        if value:
            found[name] = value
    return found


def _suggestion(name: str) -> str:
    import difflib  # only where something is wrong already

    close = difflib.get_close_matches(name, VARIABLES, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; the settings are {', '.join(VARIABLES)}"


def whole_number(values: Mapping[str, str], name: str, default: int, *, least: int = 0) -> int:
    """The whole number in variable ``name``, or ``default`` where it is unset.

    Raises:
        SettingsError: not a whole number, or below ``least``.
    """
    text = values.get(name)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        raise SettingsError(f"{name} must be a whole number, not {text!r}.") from None
    if number < least:
        raise SettingsError(f"{name} must be at least {least}, not {number}.")
    return number


def one_of(values: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    """The word in variable ``name``, or ``default`` where it is unset.

    Raises:
        SettingsError: none of ``choices``.
    """
    text = values.get(name, default)
    if text not in choices:
        raise SettingsError(f"{name} must be {' or '.join(choices)}, not {text!r}.")
    return text
