"""The kernel agent from end to end: LangGraph, real compilers, a real server; a recorded model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import prepare
from tests.examples.kernel_agent.recorded import (
    ANSWERS,
    RIGHT,
    UNGUARDED,
    Endpoint,
    Recorded,
    kernel,
    recorded,
)

ROOT = Path(__file__).parents[3]
TASK = "Compute alpha times a plus b for two float vectors."

pytestmark = [pytest.mark.clients, pytest.mark.process, pytest.mark.timeout(240)]


def run(url: str, folder: Path, prompt: str, *options: str, path: str | None = None) -> tuple[int, Any, str]:
    """Exit status, trace and standard error of the example as a user starts it."""
    server = f"{sys.executable} -m mcp_offload --store {folder / 'store'} --state {folder / 'state'}"
    done = subprocess.run(
        [
            str(prepare("langchain").python), "-m", "kernel_agent", prompt, "--url", url,
            "--model", "recorded", "--json", "--out", str(folder / "out"), "--server", server, *options,
        ],
        cwd=ROOT / "examples", capture_output=True, text=True, timeout=200,
        env={**os.environ, **({"PATH": path} if path else {})},
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def with_model(
    answers: Sequence[Recorded], folder: Path, prompt: str = TASK, *options: str, path: str | None = None
) -> tuple[int, Any, str, Endpoint]:
    with recorded(answers) as endpoint:
        return (*run(endpoint.url, folder, prompt, *options, path=path), endpoint)


def test_a_kernel_is_repaired_until_it_compiles_and_is_right(tmp_path: Path) -> None:
    status, trace, errors, endpoint = with_model(ANSWERS, tmp_path)
    assert status == 0, errors
    assert not endpoint.left and trace["outcome"] == "solved"
    assert [(c["compiled"], c["correct"]) for c in trace["compiles"]] == [
        (False, None),
        (True, False),
        (True, True),
    ]
    assert [event["node"] for event in trace["nodes"]] == [
        "planner", "analyzer", "optimizer", "generator", "critic", "generator", "critic", "generator",
    ]  # fmt: skip
    assert trace["steps"] == 8 and trace["base_tokens"] == trace["nodes"][0]["prompt_tokens"]
    assert trace["peak_tokens"] < 1500
    # What was superseded left the conversation, and the handle that reads it stayed.
    last = "".join(message["content"] for message in endpoint.asked[-1]["messages"])
    assert "superseded: f" in last and last.count("__global__ void saxpy") < 5


def test_a_wrong_result_is_not_called_done(tmp_path: Path) -> None:
    wrong = RIGHT._replace(value=kernel("    if (i < n) {\n        out[i] = alpha * a[i] - b[i];\n    }\n"))
    answers = [wrong if answer is RIGHT else answer for answer in ANSWERS]
    status, trace, errors, _ = with_model(answers, tmp_path, TASK, "--retries", "2")
    assert status == 1 and trace["outcome"] == "gave up"
    assert trace["compiles"][-1] == {**trace["compiles"][-1], "compiled": True, "correct": False}
    assert "error: out[0] is" in errors


def test_without_nvcc_the_c_compiler_decides(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "gcc").symlink_to("/usr/bin/gcc")
    status, trace, errors, _ = with_model(ANSWERS, tmp_path, path=str(tools))
    assert status == 0, errors
    assert {c["compiler"] for c in trace["compiles"]} == {"gcc"}
    assert "declared" in errors


def test_what_is_out_of_scope_ends_with_the_planner(tmp_path: Path) -> None:
    refuse = Recorded(("Task: Write a poem",), {"in_scope": False, "operation": "add"})
    status, trace, _, endpoint = with_model([refuse], tmp_path, "Write a poem about rain.")
    assert (status, trace["outcome"], trace["steps"]) == (0, "out of scope", 1)
    assert len(endpoint.asked) == 1 and not trace["compiles"]


def test_the_retry_budget_ends(tmp_path: Path) -> None:
    """Six attempts after the first, however hopeful the model is."""
    again = UNGUARDED._replace(words=("Generate the whole kernel again",))
    beyond = next(answer for answer in ANSWERS if "there is no guard" in str(answer.value))
    answers = [*ANSWERS[:5], *[again] * 6, *[beyond] * 6]
    status, trace, _, _ = with_model(answers, tmp_path)
    assert status == 1 and trace["outcome"] == "gave up"
    assert len(trace["compiles"]) == 7


def test_an_answer_of_another_shape_is_asked_for_again(tmp_path: Path) -> None:
    bad = ANSWERS[0]._replace(value="no JSON at all")
    status, trace, errors, _ = with_model([bad, *ANSWERS], tmp_path, TASK, "--plain")
    assert status == 0, errors
    assert [event["bad_answer"] for event in trace["nodes"]][:2] == [True, False]


def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    status, _, errors = run("http://127.0.0.1:9/v1", tmp_path, TASK)
    assert status == 1 and "http://127.0.0.1:9/v1/chat/completions cannot be reached" in errors
