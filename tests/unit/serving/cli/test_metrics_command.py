"""``metrics`` as it is typed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from serving.cli.main import run
from serving.middleware.records import Record

RECORD = Record(
    request_id="r",
    arrived_unix_seconds=1000.0,
    session_id="s",
    session_source="header",
    agent_class="coder",
    tenant="",
    path="/v1/chat/completions",
    stream=True,
    outcome="answered",
    reason=None,
    status=200,
    prompt_tokens=40_000,
    cached_tokens=0,
    new_tokens=40_000,
    output_tokens=4001,
    output_exact=True,
    leased_blocks=10,
    waited_seconds=0.0,
    first_byte_seconds=1.0,
    last_byte_seconds=101.0,
)
PAGE = """vllm:cache_config_info{block_size="16",cache_dtype="fp8",engine="0",num_gpu_blocks="30000"} 1.0
vllm:request_success_total{engine="0",finished_reason="stop"} 1.0
vllm:generation_tokens_total{engine="0"} 4001.0
vllm:iteration_tokens_total_count{engine="0"} 4001.0
vllm:num_preemptions_total{engine="0"} 0.0
"""
STATUS = {"ranks": {"0": {"leasable": 100, "leased": 25, "session_blocks": 50, "overruns": 0}}}


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "requests.jsonl"
    path.write_text(json.dumps(asdict(RECORD)) + "\n")
    return path


@pytest.fixture
def gate() -> Iterator[str]:
    """A server with the two pages that are read."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {"/metrics": PAGE, "/gate/status": json.dumps(STATUS)}.get(self.path)
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write((found or "").encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run([*words], {"HOME": "/nowhere"})
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def figures(out: str) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in json.loads(out)["figures"]}


def test_records_alone(capsys: pytest.CaptureFixture[str], records: Path) -> None:
    status, out, _ = typed(capsys, "metrics", "--records", str(records), "--explain")
    assert status == 0
    assert "sustained_velocity_median[32k-64k]  40 tok/s [measured]" in out
    assert "(output - 1) / (last byte - first byte)" in out
    assert "mfu: not measurable; needs the model and the GPU" in out


def test_with_a_gate_and_the_node(capsys: pytest.CaptureFixture[str], records: Path, gate: str) -> None:
    node = ("--model", "llama-3.1-70b-fp8", "--gpu", "h100-sxm", "--gpus", "8")
    status, out, _ = typed(capsys, "--json", "metrics", "--records", str(records), "--url", gate, *node)
    found = figures(out)
    assert status == 0
    assert found["kv_leased"]["value"] == 0.25
    assert found["preempted_requests"]["high"] == pytest.approx(0.95)
    weights = 68_451_041_280 + 2 * (1_050_673_152 + 1_318_912)
    moved = 4001 * weights + 163_840 * (4000 * 42_000 + 44_000)
    assert found["mbu"]["value"] == pytest.approx(moved / (101 * 8 * 3.35e12))
    assert found["mbu"]["basis"] == "computed"


def test_the_impossible_fails(capsys: pytest.CaptureFixture[str], records: Path) -> None:
    node = ("--model", "llama-3.1-70b-fp8", "--gpu", "a100-80")
    status, out, _ = typed(capsys, "metrics", "--records", str(records), *node)
    assert status == 1
    assert "IMPOSSIBLE: a request decoded at 40.0 tok/s" in out


def test_a_page_from_before_is_subtracted(
    capsys: pytest.CaptureFixture[str], records: Path, tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text(PAGE.replace("4001.0", "1000.0"))
    after.write_text(PAGE.replace("4001.0", "5001.0").replace('stop"} 1.0', 'stop"} 11.0'))
    pages = ("--page", str(before), "--page", str(after))
    _, out, _ = typed(capsys, "--json", "metrics", "--records", str(records), *pages)
    assert figures(out)["preemption_events"]["samples"] == 10


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ((), 2, "Name what to read"),
        (("--records", "/nowhere.jsonl"), 2, "/nowhere.jsonl cannot be read"),
        (("--url", "ftp://x"), 2, "http:// or https://"),
        (("--url", "http://127.0.0.1:9"), 1, "cannot be read"),
        (("--page", "a", "--page", "b", "--page", "c"), 2, "twice"),
    ],
)
def test_what_is_wrong_is_said(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, told: str
) -> None:
    found, _, err = typed(capsys, "metrics", *words)
    assert found == status
    assert told in err


def test_a_model_without_a_gpu(capsys: pytest.CaptureFixture[str], records: Path) -> None:
    status, _, err = typed(capsys, "metrics", "--records", str(records), "--model", "qwen3.6-27b")
    assert (status, "go together" in err) == (2, True)
