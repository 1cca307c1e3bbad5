"""Dashboard and alerts: their own tools take them, and every metric that they name is exported."""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from serving.middleware import LeaseMiddleware
from serving.middleware.status import metrics_page
from serving.telemetry import Observed, readings
from serving.telemetry.definitions import DEFINITIONS
from serving.telemetry.families import PREFIX, metric_name
from tests.unit.serving.engine import FakeEngine

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "serving"
ALERTS = EXAMPLES / "prometheus" / "alerts.yml"
DASHBOARD = EXAMPLES / "grafana" / "dashboard.json"
VLLM_NAMES = ROOT / "tests" / "serving" / "data" / "vllm-metrics.txt"
SILENT = (
    "spec_decode", "acceptance",  # without speculation
    "sustained_velocity",  # without answers of 4,000 tokens
    "engine_restarts", "memory_failures",  # where `up` did not start the engine
    "mfu_ratio", "hfu_ratio", "mbu_ratio",  # where records and counters of a window lie too far apart
)  # fmt: skip
"""Parts of names that a node may have nothing to say of."""

_NAME = re.compile(r"(?<![\w$:])((?:vllm:|mcp_offload_)\w+)")


def expressions(window: str = "5m") -> list[str]:
    """What the dashboard asks, with its variables filled in."""
    found = [
        target["expr"]
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        for target in panel.get("targets", ())
    ]
    return [text.replace("$instance", ".*").replace("$__rate_interval", window) for text in found]


def rules() -> list[dict[str, Any]]:
    loaded = YAML(typ="safe").load(ALERTS.read_text())
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def used() -> set[str]:
    """Every name that the dashboard or an alert uses."""
    texts = [*expressions(), *(rule["expr"] for rule in rules())]
    return {name for text in texts for name in _NAME.findall(text)}


def gate_names() -> Iterator[str]:
    async def page() -> bytes:
        lease = LeaseMiddleware(FakeEngine())
        await lease.engine.read()
        told = metrics_page(lease)
        await lease.close()
        return told

    for family in text_string_to_metric_families(asyncio.run(page()).decode()):
        yield family.name + ("_total" if family.type == "counter" else "")


def node_names() -> Iterator[str]:
    counted = {"lease_overruns", "engine_restarts", "memory_failures"}
    for figure in DEFINITIONS:
        yield f"{PREFIX}{figure}_total" if figure in counted else metric_name(figure)
    yield from (metric_name("preempted_requests", end) for end in ("low", "high"))
    yield from (f"{PREFIX}{name}" for name in ("failure_mode", "source_up", "window_seconds"))
    yield from (f"{PREFIX}figure_{name}" for name in ("samples", "measurable", "impossible"))


def exported() -> set[str]:
    engine = {name + ("_total" if kind == "counter" else "") for name, kind in _vllm()}
    histograms = {
        f"{name}_{part}"
        for name, kind in _vllm()
        if kind == "histogram"
        for part in ("bucket", "sum", "count")
    }
    return engine | histograms | set(gate_names()) | set(node_names())


def _vllm() -> Iterator[tuple[str, str]]:
    for line in VLLM_NAMES.read_text().splitlines():
        name, kind = line.split()
        yield name.removesuffix("_total"), kind


def tool(name: str) -> str:
    """A program of Debian's; where continuous integration has none that is a failure."""
    found = shutil.which(name)
    if found is None:
        assert not os.environ.get("REQUIRE_TEST_TOOLS"), f"{name} is missing: apt install prometheus"
        pytest.skip(f"{name} is not installed")
    return found


def checked(*words: str, home: Path = ALERTS.parent) -> str:
    done = subprocess.run([tool("promtool"), *words], cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("text", [*expressions(), *(rule["expr"] for rule in rules())])
def test_every_name_is_exported(text: str) -> None:
    names = _NAME.findall(text)
    assert names
    assert set(names) <= exported()


def test_a_wrong_name_would_be_found() -> None:
    assert _NAME.findall("rate(vllm:num_preemption_total[5m]) / mcp_offload_gate_x") == [
        "vllm:num_preemption_total",
        "mcp_offload_gate_x",
    ]
    assert "vllm:num_preemption_total" not in exported()
    assert {"vllm:num_preemptions_total", "vllm:inter_token_latency_seconds_sum"} <= exported()


def test_promtool_takes_rules_and_configuration() -> None:
    assert "11 rules found" in checked("check", "rules", "alerts.yml")
    assert "SUCCESS" in checked("check", "config", "prometheus.yml")


def test_each_alert_fires_where_it_must_and_not_where_it_must_not() -> None:
    tests = YAML(typ="safe").load((ALERTS.parent / "alerts_test.yml").read_text())["tests"]
    held = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case.get("exp_alerts")}
    assert held == {rule["alert"] for rule in rules()}
    assert "SUCCESS" in checked("test", "rules", "alerts_test.yml")


def test_prometheus_parses_what_the_dashboard_asks(tmp_path: Path) -> None:
    written = [{"record": f"panel:{place}", "expr": text} for place, text in enumerate(expressions())]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": written}]}))
    assert f"{len(written)} rules found" in checked("check", "rules", "panels.yml", home=tmp_path)


def test_the_dashboard_is_what_grafanas_sdk_builds() -> None:
    built = runpy.run_path(str(EXAMPLES / "grafana" / "dashboard.py"))["build"]()
    assert built == DASHBOARD.read_text(), "run python examples/serving/grafana/dashboard.py"


def test_grafanas_schema_knows_every_field_of_the_dashboard() -> None:
    """What the SDK's model of a dashboard does not know is lost on the way through it."""
    told = json.loads(DASHBOARD.read_text())
    again = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(told)))
    assert again == told
    panels = [panel for panel in told["panels"] if panel["type"] != "row"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(panels)
    assert all(panel["title"] and panel["targets"] for panel in panels)


def test_every_alert_has_its_page_in_the_runbook() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "docs" / "how-to" / "runbook.md").read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}
    for rule in rules():
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert page == "docs/how-to/runbook.md"
        assert anchor in anchors, rule["alert"]
        assert rule["annotations"]["summary"]


def test_every_figure_has_a_name_of_its_own() -> None:
    names = [metric_name(figure) for figure in DEFINITIONS]
    assert len(set(names)) == len(names)
    assert {reading.name for reading in readings(Observed())} <= DEFINITIONS.keys()
