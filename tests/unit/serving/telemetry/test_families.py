"""Readings as Prometheus metrics, read back by Prometheus' own parser."""

from __future__ import annotations

import re
from dataclasses import replace

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from serving.profile.figure import Basis
from serving.telemetry import EngineSample, Observed, readings
from serving.telemetry.definitions import DEFINITIONS, make, missing
from serving.telemetry.families import figure_families, metric_name, mode_family
from serving.telemetry.modes import Found, Look, Mode
from tests.unit.serving.telemetry.runs import node, request

UNITS = ("seconds", "ratio", "requests", "tokens_per_second", "per_request", "per_step", "currency")


def page(*families: Metric) -> dict[str, Metric]:
    """As a scraper sees it."""

    class Told(Collector):
        def collect(self) -> list[Metric]:
            return list(families)

    registry = CollectorRegistry()
    registry.register(Told())
    text = generate_latest(registry).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_a_run_as_a_page() -> None:
    gate = {"ranks": {"0": {"leasable": 800, "leased": 200, "session_blocks": 600, "overruns": 3}}}
    engine = EngineSample(finished=480, preemptions=7, preemption_requests=480, at_most_once=478)
    found = page(*figure_families(readings(Observed([request()], engine, gate, node("qwen3.6-27b")))))
    (leased,) = found["mcp_offload_node_kv_leased_ratio"].samples
    assert (leased.value, leased.labels) == (0.25, {"depth": "", "basis": "measured"})
    (speed,) = found["mcp_offload_node_decode_velocity_median_tokens_per_second"].samples
    assert (speed.value, speed.labels["depth"]) == (10, "0k-2k")
    overruns = found["mcp_offload_node_lease_overruns"]
    assert (overruns.type, overruns.samples[0].value) == ("counter", 3)
    assert found["mcp_offload_node_preempted_requests_ratio"].samples == []  # only its bounds are known
    low, high = (
        found[f"mcp_offload_node_preempted_requests_{end}_ratio"].samples[0] for end in ("low", "high")
    )
    assert 0 < low.value < 2 / 480 < 5 / 480 < high.value
    assert "Clopper" in found["mcp_offload_node_preempted_requests_low_ratio"].documentation
    assert {sample.labels["basis"] for sample in found["mcp_offload_node_figure_measurable"].samples} <= {
        basis.value for basis in Basis
    }


def test_what_cannot_be_is_flagged() -> None:
    impossible = make("mbu", 1.4, impossible="1.40 times the memory traffic that the GPUs can do")
    about = page(*figure_families([impossible, make("mfu", 0.1), missing("hfu", "needs a page")]))
    flags = {s.labels["figure"]: s.value for s in about["mcp_offload_node_figure_impossible"].samples}
    assert flags == {"mbu": 1, "mfu": 0, "hfu": 0}
    known = {s.labels["figure"]: s.value for s in about["mcp_offload_node_figure_measurable"].samples}
    assert known == {"mbu": 1, "mfu": 1, "hfu": 0}


def test_names_end_in_their_units_and_are_all_explained() -> None:
    families = list(figure_families(readings(Observed([request()], price_per_hour=1))))
    assert len({family.name for family in families}) == len(families)
    for family in families:
        assert re.fullmatch(r"mcp_offload_node_[a-z0-9_]+", family.name)
        assert len(family.documentation) > 20
        flags = "figure_" in family.name
        assert family.name.endswith(UNITS) or family.type == "counter" or flags, family.name
    assert {metric_name(name) for name in DEFINITIONS} & {family.name for family in families}


def test_only_a_mode_that_holds_now_is_told() -> None:
    looks = [Look(0.0, EngineSample()), Look(30.0, EngineSample())]
    storm = Found(Mode.EVICTION_STORM, 0, 30, "")
    over = replace(storm, mode=Mode.PREFILL_FREEZE, end_seconds=20)
    (family,) = page(mode_family([storm, over], looks)).values()
    told = {sample.labels["mode"]: sample.value for sample in family.samples}
    assert told == dict.fromkeys(Mode, 0) | {Mode.EVICTION_STORM: 1}
    (idle,) = page(mode_family([], ())).values()
    assert {sample.value for sample in idle.samples} == {0}
