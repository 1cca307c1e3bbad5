"""The service behind the server: opened on first use, tidied a while later, closed once."""

from __future__ import annotations

import threading
from pathlib import Path

from mcp_offload.service import open_service
from mcp_offload.settings import Settings
from mcp_offload.wire.lazy import LazyService


def test_what_expired_is_removed_a_while_after_the_first_use(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    settings = Settings(
        store_dir=str(tmp_path / "store"),
        state_dir=str(tmp_path / "state"),
        roots=(str(tmp_path / "project"),),
        base_dir=str(tmp_path / "project"),
        workspace="w",
        ttl_seconds=0,
        reserve_bytes=0,
    )
    with open_service(settings) as service:
        service.store(content="soon gone\n", name="a.txt")
        assert service.list_artifacts().total == 1
    lazy = LazyService(lambda: open_service(settings), collect_after_seconds=0)
    lazy.get()
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
    assert lazy.get().list_artifacts().total == 0
    lazy.close()


def test_closing_before_that_leaves_no_timer(tmp_path: Path) -> None:
    settings = Settings(
        store_dir=str(tmp_path / "store"),
        state_dir=str(tmp_path / "state"),
        roots=(str(tmp_path),),
        base_dir=str(tmp_path),
        workspace="w",
    )
    lazy = LazyService(lambda: open_service(settings))
    lazy.get()
    timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    lazy.close()
    for timer in timers:
        timer.join()
    assert timers
