"""Which commands a client may have run: those an operator named."""

from __future__ import annotations

import os
import shutil
from fnmatch import fnmatchcase

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.settings import Settings


def require_allowed(program: str, cwd: str, settings: Settings) -> None:
    """Refuse a program that no pattern allows.

    A pattern without a slash is the name of a command as found on PATH, and may have wildcards: ``npm``,
    ``py*``, ``*``. One with a slash is a program's path, or with a slash at its end a directory whose
    programs are allowed; relative ones start from the base directory. A shell is a program like any other.

    Raises:
        InvalidArgumentError: none allows it.
    """
    if any(_fits(program, cwd, pattern, settings) for pattern in settings.run_allow):
        return
    raise InvalidArgumentError(
        f"{os.path.basename(program)[:60]} may not be run here. Allowed: {', '.join(settings.run_allow)}. "
        "An operator can allow more with serve --allow-run."
    )


def _fits(program: str, cwd: str, pattern: str, settings: Settings) -> bool:
    if pattern == "*":
        return True
    if "/" not in pattern:
        # ./npm is somebody else's program of that name; /bin/sh is what a shell line is run by.
        named = "sh" if program == "/bin/sh" else program
        return "/" not in named and fnmatchcase(named, pattern)
    found = _path_of(program, cwd, settings)
    if found is None:
        return False
    allowed = os.path.join(settings.base_dir, os.path.expanduser(pattern))
    if pattern.endswith("/"):
        return found.startswith(os.path.realpath(allowed) + "/")
    return found == _located(allowed)


def _path_of(program: str, cwd: str, settings: Settings) -> str | None:
    """The file that would be run."""
    if "/" in program:
        return _located(os.path.join(cwd, program))
    found = shutil.which(program, path=settings.run_environment.get("PATH", os.defpath))
    return None if found is None else _located(os.path.join(cwd, found))


def _located(path: str) -> str:
    """A path without ``..`` and links on the way; what it names itself may be a link, as Python often is."""
    path = os.path.abspath(path) if ".." not in path.split("/") else os.path.realpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
