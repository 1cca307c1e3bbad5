"""The example swarm against a real engine behind the gate; the model keeps to schemas and knows nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.serving import models, node

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        shutil.which("cobc") is None or shutil.which("javac") is None, reason="no cobc or no javac"
    ),
]


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Generator[node.Server]:
    home = tmp_path_factory.mktemp("node")
    flags = (
        "--max-model-len", "16384", "--num-gpu-blocks-override", "160", "--block-size", "128",
        # A model that knows nothing would write spaces between the words of an answer without end.
        "--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}',
    )  # fmt: skip
    with (
        node.engine(home, models.tiny(), *flags, port=8476) as engine,
        node.gate(home, engine.url, "--mode", "on") as server,
    ):
        yield server


def test_agents_are_led_by_what_their_checks_say(gate: node.Server, tmp_path: Path) -> None:
    """The engine constrains the answers, so that handles are real ones; nothing that it writes compiles."""
    server = f"{sys.executable} -m mcp_offload --store {tmp_path / 'store'} --state {tmp_path / 'state'}"
    done = subprocess.run(
        [
            sys.executable, "-m", "modernisation", "--url", f"{gate.url}/v1", "--model", "m", "--json",
            "--out", str(tmp_path / "out"), "--server", server,
            "--retries", "2", "--answer-tokens", "4000", "--text-chars", "40",
        ],
        cwd=ROOT / "examples", capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert "fee_rules: rules" in report["steps"], (report["steps"], done.stderr)
    assert report["steps"]["fee_rules: parts"] == report["steps"]["fee_rules: rules"] == "ok", done.stderr
    assert report["steps"]["fee_rules: FeeRules"].startswith("failed after 2 retries: ")
    assert "billing: parts" not in report["steps"]
    rules = json.loads((tmp_path / "out" / "rules" / "fee_rules.json").read_text(encoding="utf-8"))
    assert rules and all("#fee_rules" in rule["handle"] for rule in rules)
    assert report["agents"]["synthesiser"]["questions"] == 3
    assert 0 < report["agents"]["synthesiser"]["peak_prompt_tokens"] < 18_000
