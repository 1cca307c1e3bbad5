"""``mcp-offload run`` in front of commands, as an agent's shell tool would have it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from tests.process.capture.rig import gone, until

pytestmark = pytest.mark.process

GREETING = "echo ready; sleep 1000 & setsid sleep 1000 & wait"


@contextmanager
def _running(shell: Any, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose command has printed something, as far as another process can read it."""
    with subprocess.Popen(
        shell.command("run", *args),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shell.project,
        env=shell.environment(),
    ) as process:
        try:
            until(lambda: shell.run("read", "l1", "--raw").stdout)
            yield process
        finally:
            process.kill()


def _below(process: subprocess.Popen[bytes]) -> list[int]:
    return [child.pid for child in psutil.Process(process.pid).children(recursive=True)]


def test_short_output_is_printed_as_it_is_on_the_stream_it_came_from(shell: Any) -> None:
    done = shell.run("run", "--", "sh", "-c", "printf 'one\\0'; printf 'no end' >&2; exit 3")
    assert done.returncode == 3
    assert (done.stdout, done.stderr) != (b"", b"")
    done = shell.run("run", "--", "sh", "-c", "echo one; printf 'no end' >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"one\n", b"no end")


def test_long_output_is_printed_as_its_digest_with_its_handle(shell: Any) -> None:
    done = shell.run("run", "--name", "numbers", "--", "seq", "9999")
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert text.startswith("l1 numbers | exit 0 | ")
    assert text.endswith("\n9998\n9999\n")
    assert text.count("\n") < 12
    assert shell.text("read", "l1#L5000", "--raw") == "5000\n"


@pytest.mark.parametrize(
    ("status", "line"),
    [(0, "true"), (1, "exit 1"), (255, "exit 255"), (143, "kill -TERM $$"), (139, "kill -SEGV $$")],
)
def test_it_ends_with_the_status_of_the_command(shell: Any, status: int, line: str) -> None:
    assert shell.run("run", "--shell", "--", line).returncode == status


def test_failures_of_its_own_end_with_125_and_missing_commands_with_127(shell: Any) -> None:
    done = shell.run("run", "--root", str(shell.home), "--", "true")
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"mcp-offload: ")
    done = shell.run("run", "--", "no-such-command")
    assert (done.returncode, done.stdout, done.stderr) == (127, b"", b"no-such-command: command not found\n")
    assert shell.run("run", "pytest", "--no-such-option").returncode == 2


def test_a_timeout_ends_with_124(shell: Any) -> None:
    done = shell.run("run", "--timeout", "0.3", "--", "sleep", "1000")
    assert (done.returncode, done.stdout) == (124, b"")
    assert b"timed out" in done.stderr


def test_options_of_the_command_are_its_own(shell: Any) -> None:
    done = shell.run("run", "--", "printf", "%s\n", "--json", "-v", "--", "-q")
    assert done.stdout == b"--json\n-v\n--\n-q\n"


def test_input_is_passed_on(shell: Any) -> None:
    assert shell.run("run", "--", "wc", "-c", stdin=b"x" * 1_000_000).stdout.strip() == b"1000000"


def test_secrets_are_withheld_unless_they_are_allowed(shell: Any) -> None:
    line = "echo ${A_TOKEN-none} ${PLAIN-none}; exit ${1-0}"
    env = {"A_TOKEN": "hunter2", "PLAIN": "plain"}
    assert shell.run("run", "--", "sh", "-c", line, env=env).stdout == b"none plain\n"
    assert shell.run("run", "--env", "A_*", "--", "sh", "-c", line, env=env).stdout == b"hunter2 plain\n"
    env["MCP_OFFLOAD_RUN_ENV"] = "B,A_TOKEN"
    assert shell.run("run", "--", "sh", "-c", line, env=env).stdout == b"hunter2 plain\n"
    del env["MCP_OFFLOAD_RUN_ENV"]
    done = shell.run("run", "--", "sh", "-c", line, "sh", "1", env=env)
    assert (done.returncode, done.stdout) == (1, b"none plain\n")
    assert b"A_TOKEN" in done.stderr
    assert b"hunter2" not in done.stderr


def test_json_tells_everything(shell: Any) -> None:
    result = shell.json("run", "--", "sh", "-c", "seq 2000; echo e >&2")
    assert (result["handle"], result["exit_status"], result["running"]) == ("l1", 0, False)
    assert (result["lines"], result["stderr_bytes"]) == (2001, 2)
    assert result["digest"]["verdict"] == "passed"


def test_a_run_can_be_read_while_it_lasts(shell: Any) -> None:
    with _running(shell, "--", "sh", "-c", GREETING):
        assert shell.text("read", "l1#L-20", "--raw") == "ready\n"
        assert shell.json("list")["artifacts"][0]["handle"] == "l1"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 5), (signal.SIGTERM, 6), (signal.SIGHUP, 6)])
def test_signals_reach_the_command_and_what_it_printed_is_kept(
    shell: Any, number: signal.Signals, status: int
) -> None:
    line = "trap 'echo last; exit 5' INT; trap 'echo last; exit 6' TERM; " + GREETING
    with _running(shell, "--", "sh", "-c", line) as process:
        pids = _below(process)
        process.send_signal(number)
        stdout, _ = process.communicate(timeout=50)
        assert (process.returncode, stdout) == (status, b"ready\nlast\n")
        assert number is signal.SIGINT or gone(pids)  # a daemon of a command that ended by itself lives on
    assert shell.text("read", "l1", "--raw") == "ready\nlast\n"
    for pid in pids:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_CHILD_SUBREAPER")
def test_killed_outright_it_leaves_no_process_and_loses_no_byte_that_was_read(shell: Any) -> None:
    with _running(shell, "--", "sh", "-c", GREETING) as process:
        pids = _below(process)
        assert len(pids) >= 4
        process.kill()
        process.wait()
        assert gone(pids)
    assert shell.text("read", "l1", "--raw") == "ready\n"
    assert [entry["bytes"] for entry in shell.json("list")["artifacts"]] == [6]
    assert shell.json("outline", "l1")["digest"]["verdict"] == "incomplete"
    assert list((shell.home / "store" / "growing").iterdir()) == []
    assert shell.json("run", "--", "true")["handle"] == "l2"


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_CHILD_SUBREAPER")
@pytest.mark.parametrize("moment", ["stored", "kept", "started"])
def test_killed_at_any_moment_it_leaves_no_process(shell: Any, moment: str) -> None:
    mark = f"1000.{os.getpid()}{len(moment)}"
    growing = shell.home / "store" / "growing"
    reached = {
        "stored": lambda process: list(growing.glob("*.out")),
        "kept": lambda process: _below(process),
        "started": lambda process: len(_below(process)) >= 2,
    }[moment]
    with subprocess.Popen(
        shell.command("run", "--", "sh", "-c", f"echo ready; sleep {mark}"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd=shell.project,
        env=shell.environment(),
    ) as process:
        until(lambda: reached(process))
        pids = _below(process)
        process.kill()
    assert gone(pids)
    until(
        lambda: not any(mark in " ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"]))
    )
    assert shell.json("list")["total"] <= 1
