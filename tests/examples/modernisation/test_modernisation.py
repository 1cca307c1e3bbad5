"""The swarm from end to end: real compilers, the real COBOL program, real servers; a recorded model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.examples.modernisation.recorded import Endpoint, Recorded, good_answers, recorded

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
JARS = Path("/usr/share/java")
LEASE_TOKENS = 18_000
MISSING = [tool for tool in ("cobc", "javac", "java") if shutil.which(tool) is None] + [
    jar for jar in ("spring3-context.jar", "junit4.jar") if not (JARS / jar).is_file()
]

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def run(url: str, folder: Path, *options: str, path: str | None = None) -> tuple[int, dict[str, Any], str]:
    """Exit status, report and standard error of the example as a user starts it."""
    server = f"{sys.executable} -m mcp_offload --store {folder / 'store'} --state {folder / 'state'}"
    done = subprocess.run(
        [
            sys.executable, "-m", "modernisation", "--url", url, "--model", "recorded", "--json",
            "--out", str(folder / "out"), "--server", server, *options,
        ],
        cwd=EXAMPLES, capture_output=True, text=True, timeout=240,
        env={**os.environ, "PATH": os.environ["PATH"] if path is None else path, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout), done.stderr


def with_model(
    answers: Sequence[Recorded], folder: Path, *options: str
) -> tuple[int, dict[str, Any], str, Endpoint]:
    with recorded(answers) as endpoint:
        return (*run(endpoint.url, folder, *options), endpoint)


def test_modules_become_java_that_compiles_and_writes_the_same_bytes(tmp_path: Path) -> None:
    answers = good_answers()
    status, report, errors, endpoint = with_model(answers, tmp_path)
    assert status == 0, errors
    assert set(report["steps"].values()) == {"ok"}
    assert list(report["steps"]) == [
        "fee_rules: parts", "fee_rules: rules", "fee_rules: FeeRules",
        "billing: parts", "billing: rules", "billing: Billing", "spring", "tests",
    ]  # fmt: skip
    # Each recorded answer was needed once, those that repair what fails among them.
    assert sorted(endpoint.given) == list(range(len(answers)))
    for name in ("edges", "month"):
        expected = (tmp_path / "out" / "expected" / f"{name}.txt").read_bytes()
        assert expected.count(b"\n") > 20
        for by in ("actual", "spring"):
            assert (tmp_path / "out" / by / f"{name}.txt").read_bytes() == expected
    peaks = {name: agent["peak_prompt_tokens"] for name, agent in report["agents"].items()}
    assert all(0 < peak < LEASE_TOKENS // 3 for peak in peaks.values()), peaks


def test_a_wrong_result_is_not_called_done(tmp_path: Path) -> None:
    """The repair of what differs changes nothing: the swarm gives up, says what differs, and exits with 1."""
    answers = [
        answer._replace(value={**answer.value, "text": answer.value["text"].replace("10000", "90000")})
        if answer.value.get("handle") == "newBalance"
        else answer
        for answer in good_answers()
    ]
    status, report, _, _ = with_model(answers, tmp_path, "--retries", "1")
    assert status == 1 and not report["ok"]
    state = report["steps"]["billing: Billing"]
    assert state.startswith("failed after 1 retries: edges.dat")
    assert "+00000035  S   1614583.33       0.00  1001614583.32" in state
    assert "spring" not in report["steps"]


def test_an_answer_without_its_parts_is_asked_for_again(tmp_path: Path) -> None:
    first = Recorded("You read outlines", ("monthly_fee",), {"parts": []})
    status, report, errors, _ = with_model([first, *good_answers()], tmp_path, "--retries", "2")
    assert status == 1
    assert report["steps"] == {"fee_rules: parts": "failed after 2 retries: the answer has no 'handles'"}
    assert report["agents"]["parser"]["bad_answers"] == 3
    assert errors.count("again, since") == 3


def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    status, report, _ = run("http://127.0.0.1:9/v1", tmp_path)
    assert status == 1
    assert "http://127.0.0.1:9/v1/chat/completions cannot be reached" in report["steps"]["stopped"]


def test_without_a_cobol_compiler_nothing_is_asked(tmp_path: Path) -> None:
    status, report, _ = run("http://127.0.0.1:9/v1", tmp_path, path=str(tmp_path))
    assert status == 1
    assert "cobc: command not found" in report["steps"]["stopped"]
