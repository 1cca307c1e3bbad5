"""What takes long over HTTP: it reports progress, and stops when it is cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client

from mcp_offload.settings import GIB, MIB, Settings
from mcp_offload.wire import work
from tests.interaction.harness import MODES, Mode, call, settings_in, text_of
from tests.interaction.http_harness import client_of, serving
from tests.interaction.requirements import covers

pytestmark = pytest.mark.anyio
EACH_MODE = pytest.mark.parametrize("mode", MODES)
LINE = b"2026-11-30T12:00:00Z worker 7 finished unit 123456 without any complaint whatever\n"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Progress is told from the start, so that nothing has to be huge to take long enough."""
    monkeypatch.setattr(work, "PROGRESS_AFTER_SECONDS", 0.01)
    monkeypatch.setattr(work, "PROGRESS_EVERY_SECONDS", 0.01)
    return settings_in(tmp_path)


def _long_log(settings: Settings) -> None:
    (Path(settings.base_dir) / "build.log").write_bytes(LINE * (24 * MIB // len(LINE)) + b"error: no rule\n")


@covers("progress")
@EACH_MODE
async def test_storing_digesting_and_searching_report_progress(settings: Settings, mode: Mode) -> None:
    _long_log(settings)
    with (Path(settings.base_dir) / "large.bin").open("wb") as file:
        file.truncate(512 * MIB)  # stored in a tenth of a second or more, on any disk
    seen: list[tuple[float, float | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total))

    async with serving(settings) as base, client_of(base, mode) as client:
        log = text_of(await client.call_tool("store_artifact", {"source": "build.log"})).split()[0]
        for tool, arguments, expected in (
            ("store_artifact", {"source": "large.bin"}, "large.bin"),
            ("outline_handle", {"handle": log}, "no rule"),
            ("search_handles", {"pattern": "un[a-z]* nothing|no r.le", "handles": [log]}, "no rule"),
        ):
            seen.clear()
            result = await client.call_tool(tool, arguments, progress_callback=note)
            assert expected in text_of(result)
            steps = [done for done, _ in seen]
            assert steps, tool
            assert steps == sorted(set(steps)), tool
            assert all(total is None or done <= total for done, total in seen), tool


@asynccontextmanager
async def cancelling(client: Client, tool: str, **arguments: Any) -> AsyncIterator[None]:
    """Call a tool; the block runs once the call has reported progress, and its end cancels the call."""
    told = anyio.Event()

    async def note(done: float, total: float | None, message: str | None) -> None:
        told.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(client.call_tool, tool, arguments, progress_callback=note))
        await told.wait()
        yield
        tasks.cancel_scope.cancel()


@covers("cancel")
@EACH_MODE
async def test_a_cancelled_store_leaves_nothing(settings: Settings, mode: Mode) -> None:
    with (Path(settings.base_dir) / "huge.bin").open("wb") as file:
        file.truncate(2 * GIB)
    async with serving(settings) as base, client_of(base, mode) as client:
        async with cancelling(client, "store_artifact", source="huge.bin"):
            assert _is_read("huge.bin")
        while _is_read("huge.bin"):
            await client.list_tools()
        assert "huge.bin" not in await call(client, "list_artifacts")


def _is_read(name: str) -> bool:
    return any(Path(file.path).name == name for file in psutil.Process().open_files())
