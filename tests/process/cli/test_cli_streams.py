"""Standard streams that are closed: said in a line, never a traceback."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

pytestmark = pytest.mark.process


def _run(shell: Any, closing: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    command = ["/bin/sh", "-c", f'exec "$@" {closing}', "sh", *shell.command(*args)]
    env = shell.environment()
    return subprocess.run(
        command, cwd=shell.project, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=50
    )


@pytest.mark.parametrize("closing", ["<&-", ">&-", "<&- >&-"])
def test_a_server_without_its_streams_says_so(shell: Any, closing: str) -> None:
    done = _run(shell, closing, "serve")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1
    assert b"closed" in done.stderr


def test_a_server_without_standard_error_serves_and_ends(shell: Any) -> None:
    done = _run(shell, "2>&-", "serve")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_storing_from_closed_input_and_printing_to_closed_output_fail_in_a_line(shell: Any) -> None:
    done = _run(shell, "<&-", "store", "-")
    assert (done.returncode, done.stderr.count(b"\n"), b"closed" in done.stderr) == (1, 1, True)
    done = _run(shell, ">&-", "store", "src/invoice.py")
    assert (done.returncode, done.stderr.count(b"\n"), b"closed" in done.stderr) == (1, 1, True)
    assert _run(shell, "2>&-", "list").stdout.startswith(b"f1 src/invoice.py")
    assert _run(shell, "2>&-", "read", "f99").returncode == 1
