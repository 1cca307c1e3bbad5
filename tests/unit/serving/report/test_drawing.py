"""Charts become pictures, the same bytes each time."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from serving.errors import MissingExtraError
from serving.report import FORMATS, Axis, Chart, Panel, Series, draw

PANEL = Panel(
    "Velocity",
    Axis("context, tokens", log=True, ticks=[(2048, "2k"), (8192, "8k")]),
    Axis("tokens/s", from_zero=True),
    [
        Series("16-bit", [(2048, 30), (8192, 20)], intervals=[(28, 31), (19, 24)]),
        Series("FP8", [(2048, 31), (8192, 25)], kind="points", names=["a", "b"]),
        Series("in use", [(2048, 1), (8192, 2)], kind="area"),
        Series("leased", [(2048, 2), (8192, 3)], kind="steps"),
        Series("without points", []),
    ],
    levels=[(30, "floor")],
)
CHART = Chart("Depth", [PANEL, PANEL, PANEL], note="smoke")
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_is_what_it_says(kind: str) -> None:
    assert draw(CHART, kind).startswith(MAGIC[kind])


def test_an_svg_is_the_same_each_time_and_says_what_it_shows() -> None:
    drawn = draw(CHART, "svg")
    assert drawn == draw(CHART, "svg")
    for told in ("Depth", "Velocity", "context, tokens", "tokens/s", "16-bit", "floor", "smoke", "2k"):
        assert told in drawn.decode()
    assert "without points" not in drawn.decode()


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="none of svg, png, pdf"):
        draw(CHART, "gif")
    with pytest.raises(ValueError, match="one panel"):
        draw(replace(CHART, panels=[]))
    with pytest.raises(ValueError, match="2 points and 1 intervals"):
        Series("a", [(0, 1), (1, 2)], intervals=[(0, 1)])


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"mcp-offload\[plots\]"):
        draw(CHART)
