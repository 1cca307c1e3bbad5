"""``audit`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serving.cli.main import run


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run([*words], {"HOME": "/nowhere"})
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_shipped_claims(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, "audit", "--claims", "design")
    assert status == 1
    assert "IMPOSSIBLE    kv-per-token" in out
    assert out.splitlines()[-1] == "11 impossible, 3 doubtful, 5 possible, 5 contradictory"


def test_the_shipped_claims_as_json_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = typed(capsys, "--json", "audit", "--claims", "design")
    claims = {claim["name"]: claim for claim in json.loads(out)["claims"]}
    assert claims["kv-per-token"]["verdict"] == "impossible"
    assert claims["kv-per-token"]["findings"][0]["bound"] == 327_680
    _, out, _ = typed(capsys, "audit", "--claims", "design", "--markdown")
    assert out.count("\n| ") == 24 + 1 - 0


def test_claims_that_can_be_true(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text("name,model,kv_bytes_per_token\nx,qwen3-coder-30b-a3b,98304\n")
    assert typed(capsys, "audit", "--claims", str(path))[0] == 0


def test_a_node(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text('vllm:cache_config_info{block_size="16",cache_dtype="fp8",num_gpu_blocks="30001"} 1.0\n')
    stats = tmp_path / "stats.json"
    stats.write_text('{"delivered": {"sessions": [], "kept_out_tokens": 0}}')
    node = ("--page", str(page), "--profile", "llama-3.1-70b-fp8-8xh100", "--offload-stats", str(stats))
    status, out, _ = typed(capsys, "--json", "audit", *node)
    found = {standard["name"]: standard["status"] for standard in json.loads(out)["standards"]}
    assert status == 1
    assert found == {
        "sustained_velocity": "not measurable",
        "paged_memory": "passed",
        "chunked_prefill": "not measurable",
        "low_bit_kv": "not measurable",
        "offloading": "failed",
    }


def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert typed(capsys, "audit", "--claims", "/nowhere.toml")[0] == 2
    assert "Name what to read" in typed(capsys, "audit")[2]
    syntax = tmp_path / "syntax.json"
    syntax.write_text("{}")
    status, _, err = typed(capsys, "audit", "--page", str(syntax), "--syntax", str(syntax))
    assert (status, "syntax counts need on.generations" in err) == (2, True)
