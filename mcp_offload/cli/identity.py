"""Whose context a process serves, as far as the environment and the processes above it tell."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from mcp_offload.service.names import NAMED, session_name

SESSION_VARIABLES: Final = ("CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID")
"""Source: what Claude Code 2.1 and Copilot CLI 1.0 set for the programs that they start."""

_WRAPPERS: Final = frozenset({"sh", "bash", "dash", "zsh", "fish", "env", "uv", "uvx", "pipx", "npx"})
"""What stands between a client and its server without being either."""

_PERSON: Final = ("DISPLAY", "WAYLAND_DISPLAY", "TERM_PROGRAM", "VSCODE_PID", "VSCODE_IPC_HOOK")
"""Variables of a desktop or an editor; a server that an editor starts has no terminal."""

_MOST_ANCESTORS: Final = 32


def named_session(session: str | None, environ: Mapping[str, str]) -> str | None:
    """The session that an operator or the client named, as the ledger calls it; None where none was.

    Raises:
        InvalidArgumentError: the name is malformed.
    """
    if session is not None:
        return session_name(session)
    hints = (environ.get(name, "") for name in SESSION_VARIABLES)
    return next((f"{NAMED}{hint}" for hint in hints if 0 < len(hint) <= 200 and hint.isprintable()), None)


def client_process() -> str:
    """The process that started this one, wrappers aside, or an empty text where that cannot be told."""
    return next(client_processes(), "")


def client_processes() -> Iterator[str]:
    """Names for the processes above this one, the nearest first, wrappers left out.

    A name holds the process's start, so that a number that is used again is not taken for the same.
    Linux only; empty elsewhere.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()[:8]
        space = os.stat("/proc/self/ns/pid").st_ino
        pid = os.getppid()
        for _ in range(_MOST_ANCESTORS):
            if pid <= 0:
                return
            name, parent, started = _process(pid)
            if name not in _WRAPPERS:
                yield f"process:{boot}:{space}:{pid}:{started}"
            pid = parent
    except (OSError, ValueError):
        return


def _process(pid: int) -> tuple[str, int, int]:
    """Name, parent and start (in clock ticks since the boot) of a process.

    Source: proc_pid_stat(5); the name stands in parentheses and may hold any character.
    """
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        text = file.read()
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1]), int(fields[19])


def is_headless(environ: Mapping[str, str]) -> bool:
    """Whether nobody seems to sit in front of the client: no terminal, no desktop, no editor; or CI."""
    if environ.get("CI", "").lower() not in ("", "0", "false"):
        return True
    if sys.platform == "darwin" or any(environ.get(name) for name in _PERSON):
        return False
    return not _has_terminal()


def _has_terminal() -> bool:
    """Whether the process has a controlling terminal, which it has from the client that started it."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
