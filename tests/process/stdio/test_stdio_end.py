"""How a server process ends: by its input, by signals, with its parent, never leaving anything behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.interaction.requirements import covers
from tests.process.stdio.rig import PATIENCE_SECONDS, ROOT, Rig, server_command

pytestmark = pytest.mark.process

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def _fresh(rig: Rig) -> None:
    """Nothing was asked yet: the SDK may still be loading."""


def _greeted(rig: Rig) -> None:
    rig.greet()


def _worked(rig: Rig) -> None:
    rig.greet()
    rig.call("store_artifact", content="def f():\n    pass\n", name="a.py", kind="file")
    assert "f1#f" in rig.call("outline_handle", handle="f1")


STATES = [_fresh, _greeted, _worked]


def _children(rig: Rig) -> list[psutil.Process]:
    return psutil.Process(rig.process.pid).children(recursive=True)


def _gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_SECONDS)
    return alive == []


def _store_is_whole(folder: Path) -> None:
    """Another process opens the store at once and finds nothing to complain about."""
    command = server_command(folder)
    with Rig(command, folder) as rig:
        rig.greet()
        stored = rig.call("store_artifact", content="next\n", name="b.txt", kind="file")
        assert stored.split()[1] == "b.txt"
        rig.hang_up()
        assert rig.status() == 0
    assert list((folder / "store").rglob("*.tmp")) == []


@covers("lifecycle-signals", "lifecycle-children")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_signal_ends_the_process(
    tmp_path: Path, number: signal.Signals, state: Callable[[Rig], None]
) -> None:
    with Rig(server_command(tmp_path), tmp_path) as rig:
        # A ping that is answered: the process is past the interpreter's start and owns its signals.
        assert rig.answer(rig.ask("ping"))["result"] == {}
        state(rig)
        children = _children(rig)
        rig.process.send_signal(number)
        assert rig.status() == 128 + number
        assert _gone(children)
        assert "Traceback" not in rig.errors()
    if state is _worked:
        _store_is_whole(tmp_path)


@covers("lifecycle-end", "lifecycle-children")
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_the_end_of_input_ends_the_process(tmp_path: Path, state: Callable[[Rig], None]) -> None:
    with Rig(server_command(tmp_path), tmp_path) as rig:
        state(rig)
        children = _children(rig)
        rig.hang_up()
        assert rig.status() == 0
        assert _gone(children)
        assert rig.errors() == ""
    if state is _worked:
        _store_is_whole(tmp_path)


@covers("lifecycle-end")
def test_a_greeting_without_a_line_end_is_still_answered(tmp_path: Path) -> None:
    with Rig(server_command(tmp_path), tmp_path) as rig:
        rig.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        rig.hang_up()
        assert rig.answer(1)["result"] == {}
        assert rig.status() == 0


@covers("lifecycle-end")
def test_a_reader_that_is_gone_ends_the_process(tmp_path: Path) -> None:
    command = server_command(tmp_path)
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert process.wait(PATIENCE_SECONDS) == 0
    process.stdin.close()


MAIN = "import sys; from mcp_offload.__main__ import main; sys.exit(main())"
# As on a platform that cannot watch a process by descriptor.
NO_PIDFD = "import os; del os.pidfd_open; " + MAIN


@covers("lifecycle-orphan", "lifecycle-children")
@pytest.mark.parametrize("code", [MAIN, NO_PIDFD], ids=["watched", "polled"])
def test_a_dead_parent_ends_the_process_while_its_input_stays_open(tmp_path: Path, code: str) -> None:
    read_fd, write_fd = os.pipe()
    command = server_command(tmp_path)
    # A parent that starts the server on our pipe, tells its number and lives until it is killed.
    parent_code = (
        "import subprocess, sys, threading\n"
        "child = subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1]), stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "threading.Event().wait()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", parent_code, str(read_fd), sys.executable, "-c", code, *command[3:]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        pass_fds=[read_fd],
    )
    os.close(read_fd)
    os.write(write_fd, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert parent.stdout is not None
    server = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait(PATIENCE_SECONDS)
    assert _gone([server])
    os.close(write_fd)
    parent.stdout.close()


@covers("lifecycle-signals")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_clean_up_that_hangs_delays_the_end_by_little(tmp_path: Path, number: signal.Signals) -> None:
    command = server_command(tmp_path)
    hang = (
        "import threading\n"
        "from mcp_offload.server.stdio import StdioBackend\n"
        "StdioBackend.close = lambda self: threading.Event().wait()\n"
    )
    with Rig([command[0], "-c", hang + MAIN, *command[3:]], tmp_path) as rig:
        assert rig.answer(rig.ask("ping"))["result"] == {}
        rig.process.send_signal(number)
        assert rig.status() == 128 + number


@covers("lifecycle-pending")
def test_a_server_that_cannot_load_says_so_and_ends(tmp_path: Path) -> None:
    command = server_command(tmp_path)
    broken = "import sys; sys.modules['mcp'] = None\n"
    with Rig([command[0], "-c", broken + MAIN, *command[3:]], tmp_path) as rig:
        asked = rig.ask("tools/call", {"name": "read_handle"})
        answer = rig.answer(asked)
        assert answer["error"]["code"] == -32603
        assert "standard error" in answer["error"]["message"]
        assert rig.status() == 70
    assert "the server crashed" in rig.errors()


@pytest.mark.parametrize(("closing", "ending"), [("<&-", "refused"), (">&-", "refused"), ("2>&-", "claimed")])
def test_streams_that_are_closed(tmp_path: Path, closing: str, ending: str) -> None:
    code = (
        "import sys\n"
        "from mcp_offload.errors import UsageError\n"
        "from mcp_offload.wire.front import claim_streams\n"
        "try:\n"
        "    claim_streams()\n"
        "except UsageError:\n"
        "    open('refused', 'x').close()\n"
        "else:\n"
        "    print('goes nowhere', flush=True)\n"
        "    open('claimed', 'x').close()\n"
    )
    shell = f'exec "$@" {closing}'
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert done.returncode == 0
    assert (tmp_path / ending).exists()
    assert done.stdout == b""
