"""``plan`` and ``profile`` as they are typed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from serving.cli.main import run
from serving.profile.load import load_profile, shipped_profiles


def typed(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    try:
        status = run(line.split(), {"HOME": "/nowhere"})
    except SystemExit as ended:
        status = int(ended.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


LLAMA = "plan llama-3.1-70b-fp8 --gpu h100-sxm --gpus 8 --agents 50 --depth 41k"


def test_a_plan_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, LLAMA)
    assert status == 0
    for told in (
        "carried by TP8: 77 fit in memory",
        "* fp8     163,840",
        "gate        Nothing",
        "vllm serve nvidia/Llama-3.1-70B-Instruct-FP8 \\",
        "--max-num-batched-tokens 2048",
        "overhead_bytes = 4,000,000,000 B: assumed",
    ):
        assert told in out


def test_every_figure_is_tagged(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = typed(capsys, f"{LLAMA} --figures")
    assert "kv_bytes_per_token = 163,840 B per pool [computed]" in out
    assert "busy = 1 share of 1 [assumed]" in out


def test_a_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, f"--json {LLAMA} --draft llama-3.1-8b --acceptance 0.8")
    plan: dict[str, Any] = json.loads(out)
    assert status == 0
    assert plan["carries"] is True
    assert [row["topology"] for row in plan["topologies"] if row["chosen"]] == ["TP8"]
    assert {figure["basis"] for figure in plan["figures"]} == {"computed", "assumed"}
    assert plan["speculation"][0]["method"] == "draft_model"
    assert plan["argv"][:2] == ["vllm", "serve"]
    assert set(plan["reasons"]) == {word for word in plan["argv"] if word.startswith("--")}


def test_what_does_not_fit_ends_with_1_and_says_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = typed(capsys, "plan llama-3.1-70b-fp8 --gpu h100-sxm --depth 18k")
    assert (status, out) == (1, "")
    assert "would fit: 2 x H100 SXM5 80 GB (--gpus 2)" in err
    status, out, _ = typed(capsys, "--json plan llama-3.1-70b-fp8 --gpu h100-sxm")
    assert status == 1
    assert json.loads(out)["error"]["type"] == "does_not_fit"
    status, out, _ = typed(capsys, "plan llama-3.1-70b-fp8 --gpu h100-sxm --gpus 8 --agents 500")
    assert status == 1
    assert "NOT carried" in out and "would carry it:" in out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("plan nothing --gpu h100-sxm", "neither a shipped model"),
        ("plan llama-3.1-8b --gpu h100", "no GPU 'h100'"),
        ("plan llama-3.1-8b --gpu h100-sxm --depth 41x", "number of tokens"),
        ("plan llama-3.1-8b --gpu h100-sxm --agents 0", "whole number"),
        ("plan llama-3.1-8b --gpu h100-sxm --busy 2", "share of 1"),
        ("plan llama-3.1-8b --gpu h100-sxm --floor nan", "positive number"),
        ("plan llama-3.1-8b --gpu h100-sxm --draft gpt-oss-120b", "share the tokenizer"),
        ("plan llama-3.1-8b --gpu h100-sxm --plot x.bmp", "must end in"),
        ("plan llama-3.1-8b --gpu h100-sxm --write-profile x.ini", "must end in .toml"),
        ("plan llama-3.1-8b --gpu h100-sxm --write-profile /nowhere/x.toml", "cannot be written"),
        ("plan llama-3.1-8b", "--gpu"),
        ("profile show", "Name a profile"),
        ("profile show nothing", "There is no profile"),
        ("profile list cpu-smoke", "takes no name"),
    ],
)
def test_wrong_usage_ends_with_2(capsys: pytest.CaptureFixture[str], line: str, told: str) -> None:
    status, out, err = typed(capsys, line)
    assert (status, out) == (2, "")
    assert told in err


def test_a_plan_becomes_a_profile(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    status, _, err = typed(capsys, f"{LLAMA} --write-profile {path}")
    assert (status, err) == (0, f"mcp-offload-serving: wrote {path}\n")
    assert tomllib.loads(path.read_text())["tensor_parallel"] == 8
    assert load_profile(str(path)).tensor_parallel == 8
    status, _, err = typed(capsys, f"{LLAMA} --write-profile {path}")
    assert status == 2
    assert "is there already" in err


def test_a_plan_becomes_a_chart(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    assert typed(capsys, f"{LLAMA} --plot {path}")[0] == 0
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert typed(capsys, f"{LLAMA} --plot /nowhere/plan.svg")[0] == 2


def test_profiles_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, "profile list")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == list(shipped_profiles())
    _, out, _ = typed(capsys, "--json profile list")
    assert [row["name"] for row in json.loads(out)["profiles"]] == list(shipped_profiles())
    for name in shipped_profiles():
        status, out, _ = typed(capsys, f"profile show {name}")
        assert status == 0
        assert "max_num_batched_tokens" in out and "vllm serve" in out
        _, out, _ = typed(capsys, f"--json profile show {name}")
        assert json.loads(out)["argv"][0][0] == "vllm"
