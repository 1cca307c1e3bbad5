"""A kept session reads what others were shown, writes what it has shown, and never fails a call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.service import kept_session
from mcp_offload.settings import Settings


def test_a_session_goes_on_elsewhere(settings: Settings) -> None:
    first, second = kept_session(settings, "s"), kept_session(settings, "s")
    first.begin()
    first.show(1, 1)
    first.show(2, 5)
    first.keep()
    second.begin()
    assert second.shown == {1: 1, 2: 5}
    second.show(2, 6)
    second.keep()
    first.begin()
    assert first.shown == {1: 1, 2: 6}


def test_what_is_not_written_yet_wins_over_what_is_read(settings: Settings) -> None:
    first, second = kept_session(settings, "s"), kept_session(settings, "s")
    first.show(1, 1)
    first.keep()
    second.show(1, 2)
    second.begin()
    assert second.shown == {1: 2}


def test_a_state_that_cannot_be_written_is_told_in_the_log(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    session = kept_session(replace(settings, state_dir=str(tmp_path / "file" / "state")), "s")
    session.begin()
    session.show(1, 1)
    session.keep()
    assert "cannot be kept" in caplog.text
    assert session.learned == {1: 1}
