"""Runs through the service: stored while they last, and artifacts like any other afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import (
    InvalidArgumentError,
    OperationCancelledError,
    PathNotAllowedError,
    QuotaExceededError,
    SourceUnreadableError,
)
from mcp_offload.models import RunResult, SilentMonitor
from mcp_offload.service import OffloadService, open_service
from mcp_offload.service.jobs import Request
from mcp_offload.service.render_run import jobs_text, run_text
from mcp_offload.settings import Settings
from tests.process.capture.rig import until

pytestmark = pytest.mark.process
SILENT = SilentMonitor()

PYTEST_LOG = """\
============================= test session starts ==============================
collected 2 items

test_a.py .F                                                             [100%]

=================================== FAILURES ===================================
____________________________________ test_b ____________________________________

    def test_b():
>       assert 1 == 2
E       assert 1 == 2

test_a.py:5: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::test_b - assert 1 == 2
========================= 1 failed, 1 passed in 0.01s ==========================
"""

PYTEST_TOTALS = {"passed": 1, "failed": 1, "errors": 0, "skipped": 0}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    project = tmp_path / "project"
    project.mkdir()
    return Settings(
        store_dir=str(tmp_path / "store"),
        state_dir=str(tmp_path / "state"),
        roots=(str(project),),
        base_dir=str(project),
        workspace=str(project),
        reserve_bytes=0,
        run_environment={"PATH": os.environ["PATH"]},
        run_withheld=("A_TOKEN",),
    )


@pytest.fixture
def service(settings: Settings) -> Iterator[OffloadService]:
    with open_service(settings) as service:
        yield service


class Gate:
    """Lets a command go on: it waits in ``read line`` until :meth:`open`."""

    def __init__(self) -> None:
        self.fd, self._writes = os.pipe()

    def open(self) -> None:
        os.write(self._writes, b"\n")

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._writes)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.close()


def _read(service: OffloadService, handle: str) -> str:
    return service.read([handle])[0].text


def test_a_run_is_stored_under_its_handle(service: OffloadService, settings: Settings) -> None:
    result = service.run(["sh", "-c", "pwd; echo complaint >&2; exit 3"])
    assert (result.handle, result.running, result.exit_status) == ("l1", False, 3)
    assert (result.stderr_bytes, result.lines, result.withheld) == (10, 2, ("A_TOKEN",))
    assert result.output == f"{settings.base_dir}\ncomplaint\n"
    assert _read(service, "l1") == result.output
    assert [entry.handle for entry in service.list_artifacts().artifacts] == ["l1"]
    assert service.runs.output("l1") == [(False, f"{settings.base_dir}\n".encode()), (True, b"complaint\n")]


def test_runs_with_the_same_output_stay_apart(service: OffloadService) -> None:
    results = [service.run(["sh", "-c", f"exit {status}"], name="same") for status in (0, 1, 0)]
    assert [result.handle for result in results] == ["l1", "l2", "l3"]
    verdicts = [result.digest.verdict for result in results if result.digest]
    assert verdicts == ["passed", "failed", "passed"]
    again = [service.outline(f"l{number}").digest for number in (1, 2, 3)]  # type: ignore[union-attr]
    assert [digest.verdict for digest in again if digest] == verdicts


def test_the_exit_status_is_the_verdict(service: OffloadService, settings: Settings) -> None:
    green = PYTEST_LOG.replace(".F ", ".. ").partition("\n=================================== FAIL")[0]
    Path(settings.base_dir, "log").write_text(green + "\n============== 2 passed in 0.01s ===============\n")
    assert (service.run(["cat", "log"]).digest or PYTEST_LOG).verdict == "passed"  # type: ignore[union-attr]
    result = service.run(["sh", "-c", "cat log; exit 1"])
    assert result.digest is not None
    assert result.digest.verdict == "failed"


def test_a_run_that_turns_out_to_be_tests_keeps_its_handle(
    service: OffloadService, settings: Settings
) -> None:
    more = "".join(f"test_a.py::test_{number} says so\n" for number in range(200))
    Path(settings.base_dir, "log").write_text(PYTEST_LOG.replace("test_a.py .F", more + "test_a.py .F"))
    result = service.run(["sh", "-c", "cat log; exit 1"], name="pytest -q")
    assert result.handle == "l1"
    assert result.digest is not None
    assert (result.digest.tools, result.digest.totals) == (("pytest",), PYTEST_TOTALS)
    assert result.output is None
    assert "l1#!1" in run_text(result)
    assert "assert 1 == 2" in _read(service, "l1#!1")


def test_it_is_read_and_searched_while_it_runs(service: OffloadService, gate: Gate) -> None:
    line = "seq 40; read line; seq 41 50; read line"
    handle = service.runs.start(Request(argv=["sh", "-c", line], stdin_fd=gate.fd))
    until(lambda: service.runs.running().jobs[0].lines == 40)
    assert _read(service, f"{handle}#L-2") == "39\n40\n"
    assert [hit.handle for hit in service.search("^17$", [handle]).hits] == [f"{handle}#L17"]
    partial = service.runs.result(handle, SILENT)
    assert (partial.running, partial.exit_status, partial.lines) == (True, None, 40)
    assert "still running" in run_text(partial)
    gate.open()
    until(lambda: service.runs.running().jobs[0].lines == 50)
    assert _read(service, f"{handle}#L-2") == "49\n50\n"
    assert _read(service, f"{handle}#L17") == "17\n"
    with pytest.raises(InvalidArgumentError, match="still being written"):
        service.release([handle])
    gate.open()
    assert service.runs.wait(handle, None, SILENT)
    assert _read(service, f"{handle}#L-2") == "49\n50\n"
    assert service.runs.running().jobs == ()
    assert service.release([handle]).handles == (handle,)


def test_a_wait_may_end_before_the_run(service: OffloadService, gate: Gate) -> None:
    request = Request(argv=["sh", "-c", "read line; echo done"], stdin_fd=gate.fd)
    result = service.runs.run(request, 0.0, SILENT)
    assert result.running
    assert jobs_text(service.runs.running()).startswith(f"{result.handle} sh -c ")
    gate.open()
    assert service.runs.wait(result.handle, None, SILENT)
    ended = service.runs.result(result.handle, SILENT)
    assert (ended.running, ended.exit_status, ended.output) == (False, 0, "done\n")


def test_another_process_can_follow_and_end_it(
    service: OffloadService, settings: Settings, gate: Gate
) -> None:
    handle = service.runs.start(Request(argv=["sh", "-c", "echo here; read line"], stdin_fd=gate.fd))
    with open_service(settings) as other:
        until(lambda: other.runs.running().jobs[0].lines == 1)
        assert _read(other, handle) == "here\n"
        assert not other.runs.wait(handle, 0.0, SILENT)
        other.runs.cancel(handle)
        assert other.runs.wait(handle, None, SILENT)
        assert service.runs.wait(handle, None, SILENT)
        assert other.runs.result(handle, SILENT).ended_by == "cancelled"


class Stopping(SilentMonitor):
    """Cancels at the first report."""

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        raise OperationCancelledError("stop")


def test_a_cancellation_ends_the_run_and_keeps_what_came(service: OffloadService) -> None:
    with pytest.raises(OperationCancelledError):
        service.run(["sleep", "1000"], monitor=Stopping())
    assert service.runs.wait("l1", None, SILENT)
    assert service.runs.result("l1", SILENT).ended_by == "cancelled"


def test_closing_ends_what_runs_and_stores_it(settings: Settings) -> None:
    with open_service(settings) as service:
        handle = service.runs.start(Request(argv=["sh", "-c", "echo here; sleep 1000"]))
        until(lambda: service.runs.running().jobs[0].lines == 1)
    with open_service(settings) as service:
        result = service.runs.result(handle, SILENT)
        assert (result.ended_by, result.exit_status, result.output) == ("orphaned", 137, "here\n")
        assert "ended with mcp-offload" in run_text(result)


def test_binary_output_is_not_shown(service: OffloadService) -> None:
    result = service.run(["head", "-c", "100", "/dev/zero"])
    assert (result.binary, result.digest, result.output, result.exit_status) == (True, None, None, 0)
    assert run_text(result).endswith("| binary 100 B")


def test_long_output_of_no_known_tool_shows_its_end(service: OffloadService) -> None:
    result = service.run(["seq", "9999"])
    assert (result.output, result.tail) == (None, "9995\n9996\n9997\n9998\n9999")


def test_a_run_that_finds_no_room_stays_readable_until_there_is(settings: Settings) -> None:
    with open_service(replace(settings, quota_bytes=2_000_000)) as small:
        small.store(content="y" * 1_500_000, name="pinned.log", kind="log")
        small.pin(["l1"])
        handle = small.runs.start(Request(argv=["sh", "-c", "head -c 900000 /dev/zero | tr '\\0' x; exit 7"]))
        with pytest.raises(QuotaExceededError):
            small.runs.wait(handle, None, SILENT)
        result = small.runs.result(handle, SILENT)
        assert (result.running, result.exit_status, result.bytes) == (False, 7, 900_000)
        assert small.read([handle], max_tokens=200)[0].text.startswith("xxx")
    with open_service(settings) as service:
        assert service.read([handle], max_tokens=200)[0].text.startswith("xxx")
        assert not any(os.scandir(Path(settings.store_dir, "growing")))
        assert service.runs.result(handle, SILENT).exit_status == 7


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Request(argv=[]), InvalidArgumentError),
        (Request(argv=["a\0b"]), InvalidArgumentError),
        (Request(argv=["a", "b"], shell=True), InvalidArgumentError),
        (Request(argv=["true"], timeout_seconds=0), InvalidArgumentError),
        (Request(argv=["true", "x" * 3_000_000]), InvalidArgumentError),
        (Request(argv=["true"], cwd="/"), PathNotAllowedError),
        (Request(argv=["true"], cwd="missing"), SourceUnreadableError),
    ],
)
def test_what_cannot_be_run_leaves_nothing(
    service: OffloadService, request_: Request, error: type[Exception]
) -> None:
    with pytest.raises(error):
        service.runs.start(request_)
    assert service.list_artifacts().total == 0


def test_what_was_stored_is_no_run(service: OffloadService) -> None:
    stored = service.store(content="text\n", name="a.log", kind="log")
    assert not isinstance(stored, RunResult)
    with pytest.raises(InvalidArgumentError, match="was stored, not run"):
        service.runs.result("l1", SILENT)
