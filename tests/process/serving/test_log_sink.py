"""The engine's log in a real store."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_offload import OffloadService, Settings, open_service
from serving.process.sink import LogSink

pytestmark = pytest.mark.process


@pytest.fixture
def service(tmp_path: Path) -> Generator[OffloadService]:
    here = str(tmp_path)
    settings = Settings(
        store_dir=f"{here}/store", state_dir=f"{here}/state", roots=(here,), base_dir=here, workspace=here
    )
    with open_service(settings) as opened:
        yield opened


def test_a_long_log_goes_on_under_the_next_handle(service: OffloadService) -> None:
    notes: list[str] = []
    sink = LogSink(service, "vLLM x", notes.append, part_bytes=10_000)
    lines = [f"line {number} {'x' * 90}\n".encode() for number in range(250)]
    for line in lines:
        sink.write(line)
    sink.close()
    assert len(sink.handles) == 3
    for handle in sink.handles:
        service.runs.wait(handle, None, Silent())
    stored = b"".join(b"".join(service.stream(handle)) for handle in sink.handles)
    assert stored == b"".join(lines)
    assert [entry.name for entry in service.list_artifacts().artifacts][::-1] == [
        "vLLM x",
        "vLLM x, part 2",
        "vLLM x, part 3",
    ]
    assert notes == []


@pytest.mark.skipif(sys.platform != "linux", reason="a broken pipe is told at once only there")
def test_a_log_that_cannot_be_stored_is_told_once_and_stops_nothing(service: OffloadService) -> None:
    notes: list[str] = []
    sink = LogSink(service, "vLLM x", notes.append)
    sink.write(b"kept\n")
    service.runs.cancel(sink.handles[0])
    service.runs.wait(sink.handles[0], None, Silent())
    for _ in range(3):
        sink.write(b"lost\n")
    sink.close()
    assert notes == ["the engine's log is not stored any more: Broken pipe"]


class Silent:
    def advance(self, done: int, total: int | None, message: str = "") -> None:
        pass
