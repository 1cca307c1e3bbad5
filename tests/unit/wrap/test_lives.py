"""How often a server is started again."""

from __future__ import annotations

from mcp_offload.wrap.lives import Lives


def test_so_many_starts_are_granted_in_a_window_and_then_none() -> None:
    lives = Lives(most_starts=3, window_seconds=10)
    assert [lives.take(now) for now in (0.0, 1.0, 2.0)] == [0.0, 0.0, 0.0]
    assert lives.take(4.0) == 6.0
    assert lives.take(10.0) == 0.0
    assert lives.take(10.5) == 0.5
