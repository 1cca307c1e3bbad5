"""The gate as middleware of a real vLLM: no process of its own, the same leases."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.serving import environment, models, node

pytestmark = [pytest.mark.serving, pytest.mark.timeout(900)]

CHAT = "/v1/chat/completions"
SETTINGS = """
mode = "on"
max_output_tokens = 1900
queue_seconds = 600.0

[policy]
reserve = "strict"
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Generator[node.Server]:
    """Sixteen usable blocks of 128 tokens, leased by the server itself."""
    home = tmp_path_factory.mktemp("inside")
    settings = home / "gate.toml"
    settings.write_text(SETTINGS)
    variables = {"PYTHONPATH": str(environment.ROOT), "MCP_OFFLOAD_GATE_SETTINGS": str(settings)}
    flags = (
        "--middleware", "serving.middleware.vllm.Leases",
        "--max-model-len", "2048", "--block-size", "128", "--num-gpu-blocks-override", "17",
        "--max-num-seqs", "16",
    )  # fmt: skip
    with node.engine(home, models.tiny(), *flags, port=8473, variables=variables) as server:
        yield server


def rank(engine: node.Server) -> dict[str, Any]:
    return engine.status()["ranks"]["0"]


def prompt(first: int, output: int) -> dict[str, Any]:
    return {
        "model": "m", "prompt": [first] * 100, "max_tokens": output, "ignore_eos": True, "temperature": 0,
    }  # fmt: skip


def test_requests_are_leased_and_the_pages_say_so(engine: node.Server) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Say something."}], "max_tokens": 8}
    assert engine.post(CHAT, body)[0] == 200
    before = rank(engine)
    status, answer = engine.post(CHAT, body)
    assert status == 200
    assert answer["usage"]["completion_tokens"] <= 8
    state = rank(engine)
    counted = [state[name] - before[name] for name in ("admitted", "released")]
    assert (state["leasable"], counted, state["leased"]) == (16, [1, 1], 0)
    assert engine.status()["metrics_fresh"] is True
    told = f'mcp_offload_gate_admitted_total{{engine="0"}} {state["admitted"]}.0'
    assert told.encode() in engine.get("/gate/metrics")


def test_streams_pass_and_a_client_that_leaves_frees_its_lease(engine: node.Server) -> None:
    lines = engine.stream("/v1/completions", prompt(7, 1900))
    next(lines)
    lines.close()
    for _ in range(2000):
        if rank(engine)["leased"] == 0 and engine.sample().running == 0:
            break
    assert (rank(engine)["leased"], engine.sample().running) == (0, 0)
    assert engine.status()["outcomes"]["left"] == 1
    assert list(engine.stream("/v1/completions", prompt(8, 4)))[-2:] == [
        b"data: [DONE]\n",
        b"\n",
    ]


def test_what_does_not_fit_waits_inside_the_server_and_nothing_is_preempted(engine: node.Server) -> None:
    def run(agent: int) -> tuple[int, int]:
        status, answer = engine.post("/v1/completions", prompt(1000 + agent, 300))
        return status, answer["usage"]["completion_tokens"]

    assert run(99) == (200, 300)
    before = sum(rank(engine)["waited"].values())
    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(run, range(12))) == [(200, 300)] * 12
    state = rank(engine)
    assert sum(state["waited"].values()) > before, "four blocks each: only four run at once"
    assert (state["leased"], state["running"], state["overruns"]) == (0, 0, 0)
    assert engine.sample().preemptions == 0


def test_a_prompt_that_never_fits_is_refused_by_the_gate(engine: node.Server) -> None:
    status, answer = engine.post("/v1/completions", {"model": "m", "prompt": [[5] * 1500, [6] * 1500]})
    assert status == 400
    assert "can never fit" in answer["error"]["message"]
