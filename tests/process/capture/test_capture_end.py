"""How runs end, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

import psutil
import pytest

from tests.process.capture.rig import Run, gone, until

pytestmark = pytest.mark.process
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and prctl")

Start = Callable[..., Run]

STUBBORN = "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done"
# A child, a grandchild that gets away from the group, and one that its parent has left.
FAMILY = "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo ready; wait"
MEMBERS = 6


@pytest.mark.parametrize("status", [0, 1, 2, 126, 255])
def test_the_status_is_the_commands(start: Start, status: int) -> None:
    outcome = start("sh", "-c", f"exit {status}").outcome()
    assert (outcome.status, outcome.exit_status, outcome.ended_by) == (status, status, None)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_a_signal_that_ended_it_is_told(start: Start, number: signal.Signals) -> None:
    outcome = start("sh", "-c", f"kill -{int(number)} $$").outcome()
    assert (outcome.status, outcome.signal, outcome.exit_status) == (None, number, 128 + number)


def test_a_command_that_is_not_there_ends_as_in_a_shell(start: Start) -> None:
    run = start("no-such-command-at-all")
    assert run.outcome().exit_status == 127
    assert run.output == b"no-such-command-at-all: command not found\n"


def test_a_file_that_is_no_program_ends_as_in_a_shell(start: Start) -> None:
    run = start("/etc/passwd")
    assert run.outcome().exit_status == 126
    assert run.output == b"/etc/passwd: Permission denied\n"


def test_a_run_that_takes_too_long_is_ended(start: Start) -> None:
    run = start(
        "sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; sleep 1000 & wait", timeout_seconds=1.5
    )
    outcome = run.outcome()
    assert (outcome.ended_by, outcome.status, outcome.exit_status) == ("timeout", 3, 124)
    assert run.output == b"ready\nbye\n"


def test_one_that_ignores_the_request_is_killed(start: Start) -> None:
    run = start("sh", "-c", STUBBORN, grace_seconds=0.1)
    until(lambda: run.output)
    pids = run.pids()
    run.supervisor.cancel()
    outcome = run.outcome()
    assert (outcome.ended_by, outcome.signal) == ("cancelled", signal.SIGKILL)
    assert gone(pids)


def test_asking_twice_does_not_wait_for_the_grace(start: Start) -> None:
    run = start("sh", "-c", STUBBORN, grace_seconds=100_000)
    until(lambda: run.output)
    run.supervisor.cancel()
    run.supervisor.cancel()
    assert run.outcome().ended_by == "cancelled"


def test_an_interruption_is_the_commands_to_handle(start: Start) -> None:
    run = start("sh", "-c", "trap 'echo stopped; exit 5' INT; echo ready; sleep 1000 & wait")
    until(lambda: run.output)
    run.supervisor.interrupt()
    outcome = run.outcome()
    assert (outcome.status, outcome.ended_by, outcome.left_behind) == (5, None, True)
    assert run.output == b"ready\nstopped\n"


def test_what_is_left_of_the_group_ends_with_the_command(start: Start) -> None:
    run = start("sh", "-c", "sleep 1000 & echo $!")
    outcome = run.outcome()
    assert (outcome.status, outcome.left_behind) == (0, True)
    assert gone([int(run.output)])


@linux
@pytest.mark.parametrize("end", ["cancel", "kill", "SIGTERM"])
def test_all_that_was_started_ends_wherever_it_went(start: Start, end: str) -> None:
    run = start("sh", "-c", FAMILY, grace_seconds=0.1)
    until(lambda: run.output and len(run.pids()) >= 1 + MEMBERS)
    pids = run.pids()
    if end == "SIGTERM":
        os.kill(run.keeper_pid, signal.SIGTERM)
    else:
        getattr(run.supervisor, end)()
    assert run.outcome().ended_by == ("orphaned" if end == "kill" else "cancelled")
    assert gone(pids)


def test_our_end_is_noticed_right_after_an_order(start: Start) -> None:
    run = start("sh", "-c", STUBBORN)
    until(lambda: run.output)
    pids = run.pids()
    os.kill(run.keeper_pid, signal.SIGSTOP)
    run.supervisor.interrupt()
    threading.Timer(0.1, os.kill, (run.keeper_pid, signal.SIGCONT)).start()
    run.supervisor.kill()
    assert run.outcome().ended_by == "orphaned"
    assert gone(pids)


@linux
def test_the_command_ends_with_its_keeper(start: Start) -> None:
    run = start("sh", "-c", "sleep 1000 & echo ready; wait")
    until(lambda: run.output)
    pids = run.pids()
    os.kill(run.keeper_pid, signal.SIGKILL)
    assert run.outcome().ended_by == "lost"
    assert gone(pids)


@linux
def test_too_much_memory_ends_the_run(start: Start, python: str) -> None:
    code = "held = bytearray(200 << 20); import signal; signal.pause()"
    run = start(python, "-I", "-S", "-c", code, memory_bytes=100 << 20)
    pids = run.pids()
    assert run.outcome().ended_by == "memory"
    assert gone(pids)


@linux
def test_it_has_a_session_of_its_own_and_no_terminal(start: Start) -> None:
    run = start("sh", "-c", "echo ready; read line")
    leader = psutil.Process(run.keeper_pid)
    assert os.getsid(leader.pid) != os.getsid(0)
    assert run.outcome().status == 1
