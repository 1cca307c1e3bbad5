"""What measures the gate measures all three: the engine, and the gate in both modes."""

from __future__ import annotations

import pytest

from serving.bench.overhead import STREAMS, latency, rig, throughput, unpaced

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def test_every_figure_is_there_for_engine_and_gate() -> None:
    with rig() as made:
        rows = [*latency(made, 3), *throughput(made, 4, 0.001, 1), *unpaced(made, 4, 1)]
        assert made.engine.cpu_seconds() > 0
    figures = {row.what: (row.engine, row.off, row.on) for row in rows}
    assert len(figures) == len(rows) == 9
    compared = [cells for what, cells in figures.items() if not what.startswith("**")]
    assert all(all(cells) for cells in compared)
    assert f"{STREAMS} streams of 1000 tokens/s, tokens/s" in figures
