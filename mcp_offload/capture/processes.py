"""The processes below this one, and how the kernel ties their lives to ours. Standard library only.

Everything here but :func:`kill_group` works on Linux alone and does nothing elsewhere.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from signal import SIGKILL, Signals
from typing import Final

LINUX: Final = sys.platform == "linux"

# Source: prctl(2), linux/prctl.h.
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def become_subreaper() -> None:
    """Become the parent of every orphan among our descendants, so that none gets out of sight."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends; for the only thread of a parent."""
    _prctl(_PR_SET_PDEATHSIG, int(SIGKILL))


def _prctl(option: int, value: int) -> None:
    if LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def kill_group(group: int, signal: Signals | int) -> bool:
    """Send a signal to a process group (0: only look); False where there is no such group."""
    try:
        os.killpg(group, signal)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS: only zombies are left; elsewhere a member changed its user
        return False
    return True


def descendants(pid: int) -> list[int]:
    """Processes that were started below ``pid``, zombies left out; parents before their children."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    found = list(children.get(pid, ()))
    for process in found:  # grows while it is gone through
        found += children.get(process, ())
    return found


def _parents() -> list[tuple[int, int]]:
    """Pairs of process and parent, of all processes that are not zombies."""
    if not LINUX:
        return []
    pairs: list[tuple[int, int]] = []
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        with suppress(OSError, ValueError, IndexError):
            state, parent = _stat(name)[:2]
            if state not in (b"Z", b"X"):
                pairs.append((int(name), int(parent)))
    return pairs


def _stat(pid: str | int) -> list[bytes]:
    """The fields from the state on. Source: proc_pid_stat(5); the name before them may hold anything."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2].split()


def resident_bytes(pids: list[int]) -> int:
    """Memory that processes hold, each counted whole. Source: proc_pid_statm(5), second field."""
    pages = 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb") as file:
            pages += int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def kill_all(pids: list[int]) -> None:
    """Kill processes that may be gone already."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, SIGKILL)
