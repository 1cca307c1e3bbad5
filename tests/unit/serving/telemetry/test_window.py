"""The window of an exporter: what is in it, what has left it, and what became of counters across its edge."""

from __future__ import annotations

import pytest

from serving.telemetry import Observed, Scrape, parse, readings
from serving.telemetry.window import Window
from tests.unit.serving.telemetry.runs import request

PAGE = """process_start_time_seconds {started}
vllm:generation_tokens_total{{engine="0"}} {written}
vllm:request_success_total{{engine="0"}} {ended}
vllm:kv_cache_usage_perc{{engine="0"}} 0.25
"""


def page(written: float, ended: float = 0.0, started: float = 1.0) -> Scrape:
    return parse(PAGE.format(started=started, written=written, ended=ended))


def test_counters_are_those_since_the_windows_first_page() -> None:
    window = Window(60)
    window.saw(1000, page(5_000, 50))
    first = window.observed(1000)
    assert first.engine is not None
    assert (first.engine.generation_tokens, first.engine.kv_usage, first.seconds) == (0, 0.25, None)
    window.saw(1050, page(5_400, 54))
    window.saw(1100, page(6_000, 60))
    window.saw(1115, page(6_100, 61))  # the page of 1050 is now the last one before the window
    found = window.observed(1115)
    assert found.engine is not None
    assert (found.engine.generation_tokens, found.engine.finished, found.seconds) == (700, 7, 65)
    assert [look.seconds for look in window.looks()] == [1050, 1100, 1115]


def test_requests_count_where_they_end() -> None:
    window = Window(60)
    window.served(
        [request(arrived_unix_seconds=900.0), request(arrived_unix_seconds=980.0, last_seconds=30.0)]
    )
    window.saw(1000, page(0))
    window.saw(1020, page(10))
    found = window.observed(1020)
    assert [one.arrived_unix_seconds for one in found.requests] == [980.0]
    assert {reading.name: reading.value for reading in readings(found)}["engine_restarts"] == 0


def test_without_pages_the_records_alone() -> None:
    window = Window(60, Observed(price_per_hour=36))
    window.served([request(arrived_unix_seconds=1000.0)])
    found = window.observed(1020)
    assert (len(found.requests), found.engine, found.price_per_hour) == (1, None, 36)
    assert window.observed(1100).requests == ()
    assert window.saw(1001, None) is None


def test_a_restart_is_counted_and_begins_anew() -> None:
    window = Window(60)
    window.saw(1000, page(500))
    window.saw(1010, page(30, started=2.0))
    found = window.observed(1010)
    assert window.restarts == 1
    assert found.engine is not None
    assert found.engine.generation_tokens == 30
    assert {reading.name: reading.value for reading in readings(found)}["engine_restarts"] == 1


def test_time_is_the_windows_not_that_of_its_requests() -> None:
    """A request that began long before does not stretch the time that prices are made of."""
    window = Window(60, Observed(price_per_hour=36))
    window.saw(1000, page(0))
    window.served([request(arrived_unix_seconds=100.0, last_seconds=905.0)])
    window.saw(1010, page(10))
    values = {reading.name: reading.value for reading in readings(window.observed(1010))}
    assert values["cost_per_session"] == pytest.approx(0.1)
