"""Which workspace a directory belongs to; the same answer for the server, the command line and hooks."""

from __future__ import annotations

import os


def resolve_workspace(start: str, override: str | None = None) -> str:
    """The key of the workspace that ``start`` lies in.

    The nearest directory at or above ``start`` that holds ``.git`` (a directory in a clone, a file in
    a worktree or submodule), with links resolved; ``start`` itself where there is none. ``override``
    is returned as it is.
    """
    if override:
        return override
    here = os.path.realpath(start)
    candidate = here
    while True:
        if os.path.lexists(os.path.join(candidate, ".git")):
            return candidate
        parent = os.path.dirname(candidate)
        if parent == candidate:
            return here
        candidate = parent
