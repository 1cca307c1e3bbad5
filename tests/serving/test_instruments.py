"""Metrics, exporter, failure modes and audit over what a real vLLM did: records and counters of one run."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving.telemetry import EngineSample, ServedRequest, parse_records
from tests.process.serving.test_exporter import exporter
from tests.serving import models, node

pytestmark = [pytest.mark.serving, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
NAMES = Path(__file__).with_name("data") / "vllm-metrics.txt"
EXAMPLES = ROOT / "examples" / "serving"
AGENTS, TURNS, OUTPUT_TOKENS = 6, 6, 40
TURN_TOKENS = 64


@dataclass
class Run:
    """What is left of a run."""

    home: Path
    engine: node.Server
    gate: node.Server
    before: EngineSample
    after: EngineSample

    @property
    def records(self) -> list[ServedRequest]:
        return list(parse_records((self.home / "records.jsonl").read_text().splitlines()))

    def typed(self, *words: str) -> tuple[int, Any]:
        """A command's status and JSON."""
        line = [sys.executable, "-m", "serving", "--json", *words]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    @property
    def sources(self) -> tuple[str, ...]:
        pages = ("--page", str(self.home / "before.txt"), "--page", str(self.home / "after.txt"))
        return ("--records", str(self.home / "records.jsonl"), *pages)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Generator[Run]:
    """Six agents of six turns each: contexts grow by what was asked and answered before."""
    home = tmp_path_factory.mktemp("instruments")
    flags = ("--max-model-len", "2048", "--block-size", "128", "--num-gpu-blocks-override", "257")
    with node.engine(home, models.tiny(), *flags, port=8477) as engine:
        options = ("--mode", "on", "--max-output-tokens", "64", "--record", str(home / "records.jsonl"))
        with node.gate(home, engine.url, *options) as gate:
            agent(gate, 99, 1)  # the first request of an engine's life is no sample
            until_recorded(home, 1)
            (home / "records.jsonl").write_text("")
            (home / "before.txt").write_bytes(engine.get("/metrics"))
            before = engine.sample()
            with ThreadPoolExecutor(AGENTS) as pool:
                list(pool.map(lambda number: agent(gate, number, TURNS), range(AGENTS)))
            until_recorded(home, AGENTS * TURNS)
            (home / "after.txt").write_bytes(engine.get("/metrics"))
            yield Run(home, engine, gate, before, engine.sample())


def agent(server: node.Server, number: int, turns: int) -> None:
    """One agent's whole life."""
    context: list[int] = []
    for turn in range(turns):
        context += [1000 + (7 * number + 31 * turn + place) % 900 for place in range(TURN_TOKENS)]
        body = {
            "model": "m", "prompt": context, "max_tokens": OUTPUT_TOKENS, "ignore_eos": True, "stream": True,
            "temperature": 0, "return_token_ids": True, "stream_options": {"include_usage": True},
        }  # fmt: skip
        headers = {"content-type": "application/json", "x-mcp-offload-session": f"agent-{number}"}
        asked = urllib.request.Request(f"{server.url}/v1/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(asked, timeout=300) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    for choice in json.loads(line[6:])["choices"]:
                        context += choice.get("token_ids") or []


def until_recorded(home: Path, requests: int) -> None:
    """A record is written once the client has its answer."""
    pause = threading.Event()
    for _ in range(600):
        path = home / "records.jsonl"
        if path.exists() and len(path.read_text().splitlines()) >= requests:
            return
        pause.wait(0.05)
    raise AssertionError(f"{requests} records were not written")


def test_records_and_counters_tell_the_same(done: Run) -> None:
    records = done.records
    assert len(records) == AGENTS * TURNS
    assert all(one.outcome == "answered" and one.output_exact and one.stream for one in records)
    written = sum(one.output_tokens for one in records)
    assert written == AGENTS * TURNS * OUTPUT_TOKENS
    assert done.after.generation_tokens - done.before.generation_tokens == written
    prompts = sum(one.prompt_tokens or 0 for one in records)
    assert done.after.prompt_tokens - done.before.prompt_tokens == prompts
    cached = sum(one.cached_tokens or 0 for one in records)
    assert done.after.prefix_hits - done.before.prefix_hits == cached > 0
    assert done.after.finished - done.before.finished == len(records)


def test_metrics_by_hand(done: Run) -> None:
    flags = ("--model", str(models.tiny()), "--gpu", "h100-sxm")
    status, told = done.typed("metrics", *done.sources, *flags)
    figures = {figure["name"]: figure for figure in told["figures"]}
    assert status == 0, [figure for figure in told["figures"] if figure["impossible"]]
    records = done.records
    speeds = sorted(
        (one.output_tokens - 1) / (one.last_seconds - one.first_seconds)
        for one in records
        if one.last_seconds and one.first_seconds and one.last_seconds > one.first_seconds  # read at once
    )
    # All contexts lie under 2,000 tokens: one bucket.
    assert figures["decode_velocity_median"]["value"] == pytest.approx(speeds[(len(speeds) - 1) // 2])
    assert figures["decode_velocity_median"]["samples"] == len(speeds) > 0
    # Each turn needs what was asked anew; of what was held, blocks that were not full are computed again.
    needed = AGENTS * TURNS * TURN_TOKENS
    computed = sum((one.prompt_tokens or 0) - (one.cached_tokens or 0) for one in records)
    assert figures["recompute_factor"]["value"] == pytest.approx(computed / needed)
    assert 1 <= computed / needed < 3
    hits = (done.after.prefix_hits - done.before.prefix_hits) / (
        done.after.prefix_queries - done.before.prefix_queries
    )
    assert figures["prefix_hit_share"]["value"] == pytest.approx(hits)
    assert figures["preemption_events"]["value"] == 0
    assert figures["preempted_requests"]["high"] == pytest.approx(1 - 0.05 ** (1 / (AGENTS * TURNS)))
    assert figures["sustained_velocity_median"]["value"] is None
    for name in (
        "mfu",
        "hfu",
        "mbu",
    ):  # of a CPU held against a GPU: what is shown is that pages and records agree
        assert 0 < figures[name]["value"] < 1, figures[name]


def test_an_audit_of_it(done: Run) -> None:
    status, told = done.typed("audit", *done.sources, "--profile", "cpu-smoke")
    found = {standard["name"]: standard for standard in told["standards"]}
    assert found["sustained_velocity"]["status"] == "not measurable"
    assert found["paged_memory"]["status"] == "passed"
    assert "256 blocks of 128 tokens" in found["paged_memory"]["evidence"][0]
    assert found["low_bit_kv"]["status"] == "failed"  # the KV cache of a CPU is not low-bit
    assert status == 1


def test_it_fails_in_no_mode_while_it_is_watched(done: Run) -> None:
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(agent, done.gate, 7, 4)
        kept = done.home / "series.jsonl"
        watch = ("--url", done.gate.url, "--looks", "5", "--every", "1", "--write", str(kept))
        status, told = done.typed("modes", *watch)
        working.result()
    assert (status, told) == (0, {"looks": 5, "modes": []})
    assert done.typed("modes", str(kept))[1] == told


def test_the_names_that_dashboard_and_alerts_use_are_vllms(done: Run) -> None:
    """The file holds what this vLLM exports; dashboard and alerts are tested against it without vLLM."""
    from tests.docs.test_monitoring import used

    page = (done.home / "after.txt").read_text()
    told = {line[7:] for line in page.splitlines() if line.startswith("# TYPE vllm:")}
    kept = NAMES.read_text().splitlines()
    wanted = {line for line in kept if any(name.startswith(line.split()[0]) for name in used())}
    assert len(wanted) > 5
    assert {line for line in wanted if "spec_decode" not in line} <= told  # those only while it speculates


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def prometheus(home: Path, targets: dict[str, tuple[str, str]]) -> Generator[str]:
    """Debian's Prometheus with the alert rules; reads each target, address and path, every second."""
    from tests.docs.test_monitoring import tool

    found = tool("prometheus")
    jobs = [
        {"job_name": job, "metrics_path": path, "static_configs": [{"targets": [address]}]}
        for job, (address, path) in targets.items()
    ]
    rules = str(EXAMPLES / "prometheus" / "alerts.yml")
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [rules],
        "scrape_configs": jobs,
    }
    (home / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
    port = free_port()
    line = [
        found, f"--config.file={home / 'prometheus.yml'}", f"--storage.tsdb.path={home / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with (
        (home / "prometheus.log").open("wb") as log,
        subprocess.Popen(line, stdout=log, stderr=log) as process,
    ):
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def asked(url: str, path: str, **query: str) -> Any:
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
        return json.loads(answer.read())["data"]


def test_every_panel_shows_something_on_a_real_node(done: Run) -> None:
    """Prometheus itself reads engine, gate and exporter, and answers what the dashboard asks."""
    from tests.docs.test_monitoring import SILENT, expressions

    address = done.gate.url.removeprefix("http://")
    flags = (
        "--url",
        done.gate.url,
        "--records",
        str(done.home / "records.jsonl"),
        "--model",
        str(models.tiny()),
    )
    pause = threading.Event()
    with (
        exporter(*flags, "--gpu", "h100-sxm", "--price-per-hour", "1") as exported,
        prometheus(
            done.home,
            {
                "vllm": (address, "/metrics"),
                "gate": (address, "/gate/metrics"),
                "node": (exported.split("/")[2], "/metrics"),
            },
        ) as url,
    ):
        missing: list[str] = []
        for round_ in range(60):
            agent(done.gate, 200 + round_, 2)
            try:
                missing = [
                    told
                    for told in expressions(window="20s")
                    if not asked(url, "query", query=told)["result"]
                ]
            except OSError:  # it is not up yet
                missing = ["all"]
            if not [told for told in missing if not any(name in told for name in SILENT)]:
                break
            pause.wait(0.5)
        assert not [told for told in missing if not any(name in told for name in SILENT)]
        groups = asked(url, "rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert rules
        assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []
        assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []
        with urllib.request.urlopen(exported, timeout=30) as answer:
            page = {family.name: family for family in text_string_to_metric_families(answer.read().decode())}
        measurable = {
            sample.labels["figure"]: sample.value
            for sample in page["mcp_offload_node_figure_measurable"].samples
        }
        for name in (
            "decode_velocity_median",
            "recompute_factor",
            "recompute_share",
            "kv_leased",
            "latency_p99",
        ):
            assert measurable[name] == 1, name
