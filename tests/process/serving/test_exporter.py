"""The exporter beside a gate, as real processes: what Prometheus would be given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from serving.gateway import keys as key_file
from tests.process.serving.rig import PATIENCE_SECONDS, Served, ask, body, client, engine, gate, request

pytestmark = pytest.mark.process
NODE = ("--model", "llama-3.1-70b-fp8", "--gpu", "h100-sxm", "--gpus", "2", "--price-per-hour", "9")


@contextmanager
def exporter(*flags: str) -> Generator[str]:
    """Where it listens."""
    line = [sys.executable, "-m", "serving", "--json", "metrics", "--listen", "127.0.0.1:0", *flags]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout
            told = process.stdout.readline()
            assert told, process.communicate()
            yield json.loads(told)["listening"]
        finally:
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 130


def scraped(url: str) -> dict[str, Metric]:
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
        return {family.name: family for family in text_string_to_metric_families(answer.read().decode())}


def value(page: dict[str, Metric], name: str, **labels: str) -> float:
    (found,) = [s for s in page[f"mcp_offload_node_{name}"].samples if labels.items() <= s.labels.items()]
    return found.value


def until(url: str, name: str, wanted: float, **labels: str) -> dict[str, Metric]:
    """Scrape until a value is there: the gate writes a record once the answer has left."""
    for _ in range(2000):
        page = scraped(url)
        samples = page[f"mcp_offload_node_{name}"].samples
        if any(s.value == wanted and labels.items() <= s.labels.items() for s in samples):
            return page
    raise AssertionError(page[f"mcp_offload_node_{name}"])


@pytest.fixture
def behind() -> Generator[Served]:
    with engine() as made:
        yield made


def test_a_node_is_told_while_it_serves(behind: Served, tmp_path: Path) -> None:
    records, series = tmp_path / "requests.jsonl", tmp_path / "series.jsonl"
    sources = ("--records", str(records), "--series", str(series))
    with (
        gate(behind, "--record", str(records)) as before,
        exporter("--url", before.url, *sources, *NODE) as url,
    ):
        page = scraped(url)
        assert value(page, "source_up", source="engine") == 1
        assert value(page, "kv_active_ratio") == 0
        assert value(page, "figure_measurable", figure="mfu") == 0
        with client(before.port, request(body(40, 0.05, stream=True))) as streaming:
            streaming.until("[DONE]")
        assert ask(before.port, body(3))[0] == 200
        page = until(url, "figure_samples", 2, figure="queue_wait_p50")
        speed = value(page, "decode_velocity_median_tokens_per_second", depth="0k-2k", basis="measured")
        assert 0 < speed < 21  # forty tokens, fifty milliseconds apart
        assert value(page, "figure_impossible", figure="decode_velocity_median") == 0
        assert value(page, "failure_mode", mode="eviction_storm") == 0
        assert value(page, "cost_per_session_currency") > 0
        assert page["mcp_offload_node_lease_overruns"].samples[0].name.endswith("_total")
        assert value(page, "window_seconds") > 0
    looks = [json.loads(line) for line in series.read_text().splitlines()]
    assert len(looks) > 1
    assert looks[-1]["leased"] == 0


def test_the_impossible_is_flagged(behind: Served, tmp_path: Path) -> None:
    """The fake engine writes faster than any 70B model on two GPUs does."""
    records = tmp_path / "requests.jsonl"
    with gate(behind, "--record", str(records)) as before:
        with client(before.port, request(body(800, stream=True))) as streaming:
            streaming.until("[DONE]")
        with exporter("--records", str(records), *NODE) as url:
            page = until(url, "figure_impossible", 1, figure="decode_velocity_median")
            assert value(page, "source_up", source="records") == 1


def test_a_source_that_is_away_ends_no_scrape(behind: Served, tmp_path: Path) -> None:
    key = tmp_path / "key"
    secret = key_file.add(tmp_path / "keys.jsonl", "prometheus")
    with gate(behind, "--keys", str(tmp_path / "keys.jsonl")) as before:
        with exporter("--url", before.url) as url:
            assert value(scraped(url), "source_up", source="engine") == 0  # it asks for a key
        key.write_text(f"{secret}\n")
        with exporter("--url", before.url, "--key-file", str(key)) as url:
            assert value(scraped(url), "source_up", source="engine") == 1
            before.kill()
            page = until(url, "source_up", 0, source="engine")
            assert value(page, "kv_active_ratio") == 0  # as it was last seen


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--listen", "127.0.0.1:0"), "Name what to read"),
        (("--listen", "x", "--records", "r"), "not HOST:PORT"),
        (("--listen", "127.0.0.1:0", "--records", "r", "--window-seconds", "0"), "--window-seconds"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], told: str) -> None:
    line = [sys.executable, "-m", "serving", "metrics", *words]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (ended.returncode, told in ended.stderr) == (2, True), ended.stderr
