"""Arguments and environment to one frozen :class:`Settings`; arguments win."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Final, cast

from mcp_offload.cli.environment import one_of, read_environment, whole_number
from mcp_offload.errors import SettingsError
from mcp_offload.paths.workspace import resolve_workspace
from mcp_offload.settings import Durability, Settings, ToolProfile

UNLIMITED: Final = 1 << 62
"""A budget that nothing exceeds; large enough to be one, small enough for a C integer."""


_PROFILES: Final = ("default", "all")
SERVING: Final = ("serve", "wrap")
"""The commands that answer a model."""


def build_settings(args: argparse.Namespace, environ: Mapping[str, str], cwd: str) -> Settings:
    """The settings of one run.

    ``cwd`` is what relative paths start from; the workspace is found from it in every command alike.
    Replies are bounded in the server alone: in a shell no model's context is at stake.

    Raises:
        SettingsError: an unknown variable, a malformed value, or a root that is not a directory.
    """
    values = read_environment(environ)
    project = resolve_workspace(cwd, None)
    roots = _roots(args.root, values.get("MCP_OFFLOAD_ROOTS"), project, cwd)
    base_dir, project = _base(roots, cwd, project) if args.command in SERVING else (cwd, project)
    defaults = Settings(store_dir="", state_dir="", roots=(), base_dir=cwd, workspace=project)
    tools = getattr(args, "tools", None) or one_of(values, "MCP_OFFLOAD_TOOLS", _PROFILES, defaults.tools)
    max_tokens = whole_number(values, "MCP_OFFLOAD_MAX_TOKENS", defaults.max_tokens, least=100)
    max_reply_bytes = whole_number(
        values, "MCP_OFFLOAD_MAX_REPLY_BYTES", defaults.max_reply_bytes, least=1_000
    )
    durability = one_of(values, "MCP_OFFLOAD_DURABILITY", ("process", "host"), defaults.durability)
    return Settings(
        store_dir=_directory(args.store or values.get("MCP_OFFLOAD_STORE") or _default_store(), cwd),
        state_dir=_directory(args.state or values.get("MCP_OFFLOAD_STATE") or _default_state(environ), cwd),
        roots=roots,
        base_dir=base_dir,
        workspace=args.workspace or values.get("MCP_OFFLOAD_WORKSPACE") or project,
        durability=cast(Durability, durability),
        quota_bytes=whole_number(values, "MCP_OFFLOAD_QUOTA_BYTES", defaults.quota_bytes),
        max_artifact_bytes=whole_number(
            values, "MCP_OFFLOAD_MAX_ARTIFACT_BYTES", defaults.max_artifact_bytes
        ),
        ttl_seconds=whole_number(values, "MCP_OFFLOAD_TTL_SECONDS", defaults.ttl_seconds, least=1),
        reserve_bytes=whole_number(values, "MCP_OFFLOAD_RESERVE_BYTES", defaults.reserve_bytes),
        tools=cast(ToolProfile, tools),
        max_reply_bytes=max_reply_bytes if args.command in SERVING else UNLIMITED,
        max_tokens=max_tokens if args.command in SERVING else UNLIMITED,
        rg_path=_ripgrep(values.get("MCP_OFFLOAD_RG"), environ.get("PATH", "")),
        failpoints=tuple(part for part in values.get("MCP_OFFLOAD_FAILPOINTS", "").split(",") if part),
    )


def _directory(path: str, cwd: str) -> str:
    # "~" because the configuration files of agent clients do not expand it.
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))


def _default_store() -> str:
    """Private, on a disk rather than in memory, and the same for every process of the user.

    TMPDIR is not consulted: clients start servers with few variables, so a server and a shell would
    not agree on it.
    """
    for parent in ("/var/tmp", "/tmp"):  # noqa: S108  (a directory of our own, mode 0700, owner checked)
        if os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK):
            return f"{parent}/mcp-offload-{os.getuid()}"
    return os.path.expanduser("~/.cache/mcp-offload")


def _default_state(environ: Mapping[str, str]) -> str:
    """Source: XDG Base Directory Specification; relative values are to be ignored."""
    base = environ.get("XDG_STATE_HOME", "")
    return os.path.join(base if base.startswith("/") else os.path.expanduser("~/.local/state"), "mcp-offload")


def _roots(given: list[str], variable: str | None, project: str, cwd: str) -> tuple[str, ...]:
    named = given or [part for part in (variable or "").split(os.pathsep) if part]
    roots = tuple(_directory(root, cwd) for root in named) or (project,)
    for root in roots:
        if not os.path.isdir(root):
            raise SettingsError(f"The root {root} is not a directory; name an existing one with --root.")
    return roots


def _base(roots: tuple[str, ...], cwd: str, project: str) -> tuple[str, str]:
    """Where a server's relative paths start, and its workspace.

    Some clients start servers in the home directory or at the top of the disk. Where the current
    directory has nothing to do with any root, the first root takes its place.
    """
    here = os.path.realpath(cwd)
    if any(os.path.commonpath((here, os.path.realpath(root))) == os.path.realpath(root) for root in roots):
        return cwd, project
    first = resolve_workspace(roots[0], None)
    if project in {first, *(resolve_workspace(root, None) for root in roots[1:])}:
        return cwd, project
    return roots[0], first


def _ripgrep(variable: str | None, search_path: str) -> str | None:
    if variable == "off":
        return None
    if variable is not None:
        path = os.path.expanduser(variable)
        if os.path.isabs(path) and _is_program(path):
            return path
        raise SettingsError(f"MCP_OFFLOAD_RG must be off or the absolute path of ripgrep, not {variable!r}.")
    # Beside the interpreter first: a client starts the server by its path, without the environment's bin.
    folders = [os.path.dirname(sys.executable), *search_path.split(os.pathsep)]
    candidates = (os.path.join(folder, "rg") for folder in folders if os.path.isabs(folder))
    return next(filter(_is_program, candidates), None)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
