"""What is taken in of what a command prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_offload.capture.notes import Outcome
from tests.process.capture.rig import Run, until

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
Start = Callable[..., Run]

ASKING = """
import os, sys
for stream in sys.argv[1]:
    os.write(1 if stream == "o" else 2, stream.encode() + b"\\n")
    os.read(0, 1)
"""

FLOOD = """
import json, os, resource, sys
from mcp_offload.capture.supervisor import Command, Limits, Supervisor
fds = [os.open(os.path.join(sys.argv[1], n), os.O_RDWR | os.O_CREAT | os.O_APPEND) for n in ("o", "n")]
command = Command(["head", "-c", sys.argv[2], "/dev/zero"], "/", {"PATH": os.environ["PATH"]})
run = Supervisor(command, Limits(output_bytes=1 << 30), output_fd=fds[0], notes_fd=fds[1])
run.wait()
# Not RUSAGE_SELF: that counts from the size which whoever forked this process had.
own = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
kilobytes = [int(own[0]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]
print(json.dumps([run.outcome().exit_status, os.fstat(fds[0]).st_size, *kilobytes]))
"""


@pytest.mark.parametrize("order", ["oeoe", "eoeo", "ooee", "eeoo", "oeeo"])
def test_both_streams_stand_in_the_order_in_which_they_came(start: Start, python: str, order: str) -> None:
    reads, writes = os.pipe()
    run = start(python, "-I", "-S", "-c", ASKING, order, stdin_fd=reads)
    os.close(reads)
    for count in range(1, len(order) + 1):
        until(lambda count=count: len(run.output) == 2 * count)
        os.write(writes, b".")
    os.close(writes)
    outcome = run.outcome()
    assert run.output.decode() == "".join(f"{stream}\n" for stream in order)
    errors = b"".join(run.output[start:end] for start, end in outcome.stderr)
    assert errors == b"e\n" * order.count("e")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
@pytest.mark.parametrize("line", ["echo a; echo b >&2", "echo a >&2; echo b"])
def test_the_stream_that_was_written_to_first_comes_first_without_a_pause(start: Start, line: str) -> None:
    run = start("sh", "-c", line)
    assert run.outcome().status == 0
    assert run.output == b"a\nb\n"


def test_bytes_are_kept_as_they_are(start: Start, python: str) -> None:
    code = "import os; os.write(1, bytes(range(256)) * 100); os.write(2, b'\\xff\\x00')"
    run = start(python, "-I", "-S", "-c", code)
    (error,) = run.outcome().stderr
    assert run.output[slice(*error)] == b"\xff\x00"
    assert run.output[: error[0]] + run.output[error[1] :] == bytes(range(256)) * 100


def test_full_pipes_of_both_streams_block_nobody(start: Start, python: str) -> None:
    code = "import os\nfor _ in range(5): os.write(2, b'e' * 300_000); os.write(1, b'o' * 300_000)"
    run = start(python, "-I", "-S", "-c", code, output_bytes=1 << 30)
    outcome = run.outcome()
    assert sum(end - start for start, end in outcome.stderr) == 1_500_000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a process's own peak")
def test_200_mb_pass_in_little_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FLOOD, str(tmp_path), "200000000"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    status, size_bytes, own_kilobytes, keeper_kilobytes = json.loads(done.stdout)
    assert (status, size_bytes) == (0, 200_000_000)
    assert max(own_kilobytes, keeper_kilobytes) < 64_000


def test_too_much_output_ends_the_run_and_what_fits_is_kept(start: Start) -> None:
    run = start("yes", output_bytes=100_001)
    outcome = run.outcome()
    assert (outcome.ended_by, outcome.exit_status) == ("output", 137)
    assert run.output == (b"y\n" * 60_000)[:100_001]


def test_a_nearly_full_disk_ends_the_run(start: Start) -> None:
    run = start("yes", free_bytes=1 << 62)
    assert run.outcome().ended_by == "disk"
    assert run.output == b""


def test_what_a_shell_leaves_for_a_moment_is_waited_for(start: Start) -> None:
    run = start("bash", "-c", "echo early > >(read line; echo late $line)")
    assert run.outcome() == Outcome(0, seconds=run.outcome().seconds)
    assert run.output == b"late early\n"


def test_a_command_reads_nothing_unless_it_is_given_something(start: Start) -> None:
    run = start("cat")
    assert run.outcome().status == 0
    assert run.output == b""
