"""The gate before a real vLLM: every dialect, and a pool too small for the agents that want it."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.serving import models, node

pytestmark = [pytest.mark.serving, pytest.mark.timeout(900)]

BLOCKS = 17
BLOCK_TOKENS = 128
AGENTS = 16
REQUESTS = 304
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("node")


@pytest.fixture(scope="module")
def engine(home: Path) -> Generator[node.Server]:
    """Sixteen usable blocks of 128 tokens: room for a third of what sixteen agents ask for."""
    flags = (
        "--max-model-len", "2048", "--block-size", str(BLOCK_TOKENS),
        "--num-gpu-blocks-override", str(BLOCKS), "--max-num-seqs", "16",
    )  # fmt: skip
    with node.engine(home, models.tiny(), *flags, port=8471) as server:
        yield server


@pytest.fixture(scope="module")
def gate(home: Path, engine: node.Server) -> Generator[node.Server]:
    flags = ("--mode", "on", "--max-output-tokens", "512", "--queue-seconds", "600", "--record")
    with node.gate(home, engine.url, *flags, str(home / "records.jsonl")) as server:
        yield server


def chat(text: str, output: int, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": output, **more}


def test_answers_are_the_engines_own_in_every_dialect(engine: node.Server, gate: node.Server) -> None:
    requests = [
        (CHAT, chat("Say something.", 8, temperature=0)),
        ("/v1/completions", {"model": "m", "prompt": "Once upon", "max_tokens": 8, "temperature": 0}),
        (
            "/v1/responses",
            {"model": "m", "input": "Say something.", "max_output_tokens": 8, "temperature": 0},
        ),
        ("/v1/messages", chat("Say something.", 8, temperature=0)),
    ]
    for path, body in requests:
        (direct_status, direct), (status, leased) = engine.post(path, body), gate.post(path, body)
        assert (direct_status, status) == (200, 200), (path, direct, leased)
        for answer in (direct, leased):
            for varying in ("id", "created", "created_at", "usage", "output", "system_fingerprint"):
                answer.pop(varying, None)
        assert leased == direct


def test_a_streams_lines_are_the_engines_own(engine: node.Server, gate: node.Server) -> None:
    body = chat("Say something.", 8, temperature=0, stream_options={"include_usage": True})

    def contents(server: node.Server) -> list[Any]:
        lines = [line for line in server.stream(CHAT, body) if line.startswith(b"data: {")]
        events = [json.loads(line[6:]) for line in lines]
        return [
            (event["choices"], event.get("usage", {}) and event["usage"]["completion_tokens"])
            for event in events
        ]

    assert contents(gate) == contents(engine)


def _record_of(path: Path, prompt_tokens: int) -> dict[str, Any]:
    """The last record, which is written once the client has the answer."""
    pause = threading.Event()
    for _ in range(400):
        lines = path.read_text().splitlines() if path.exists() else []
        record = json.loads(lines[-1]) if lines else {}
        if record.get("prompt_tokens") == prompt_tokens:
            return record
        pause.wait(0.05)
    raise AssertionError(f"no record of a prompt of {prompt_tokens} tokens")


def test_counts_are_exact(gate: node.Server, home: Path) -> None:
    status, answer = gate.post(CHAT, chat("How many tokens is this, I wonder?", 4))
    assert status == 200
    record = _record_of(home / "records.jsonl", answer["usage"]["prompt_tokens"])
    assert record["output_tokens"] == answer["usage"]["completion_tokens"]
    assert record["output_exact"] is True


def test_a_prompt_that_never_fits_is_refused_with_the_numbers(gate: node.Server) -> None:
    status, answer = gate.post("/v1/completions", {"model": "m", "prompt": [[5] * 1500, [6] * 1500]})
    assert status == 400
    assert "3,000 tokens can never fit" in answer["error"]["message"]
    assert "2,048" in answer["error"]["message"]


def test_a_client_that_leaves_stops_the_engine(gate: node.Server) -> None:
    lines = gate.stream(CHAT, chat("Count to a thousand.", 500, ignore_eos=True))
    next(lines)
    assert gate.status()["ranks"]["0"]["running"] == 1
    lines.close()
    pause = threading.Event()
    for _ in range(400):
        if gate.status()["ranks"]["0"]["leased"] == 0 and gate.sample().running == 0:
            break
        pause.wait(0.05)
    assert gate.status()["ranks"]["0"]["leased"] == 0
    assert gate.sample().running == 0


def _agents(server: node.Server, requests: int) -> float:
    """Sixteen agents, each with its own growing conversation; the seconds that all took."""

    def run(agent: int) -> None:
        rng = random.Random(agent)
        for turn in range(requests // AGENTS):
            prompt = [1000 + agent] * rng.randint(20, 60) + [2000 + turn] * 20
            body = {
                "model": "m", "prompt": prompt, "max_tokens": rng.randint(60, 220),
                "ignore_eos": True, "temperature": 0,
            }  # fmt: skip
            status, answer = server.post("/v1/completions", body)
            assert status == 200, answer
            assert answer["usage"]["completion_tokens"] == body["max_tokens"]

    started = time.perf_counter()
    with ThreadPoolExecutor(AGENTS) as pool:
        list(pool.map(run, range(AGENTS)))
    return time.perf_counter() - started


def test_strict_leases_end_preemption(engine: node.Server, gate: node.Server, record_property: Any) -> None:
    before = engine.sample().preemptions
    ungated_seconds = _agents(engine, REQUESTS)
    preempted = engine.sample().preemptions - before
    assert preempted > 0, "the pool is too large to show anything"

    before = engine.sample().preemptions
    gated_seconds = _agents(gate, REQUESTS)
    assert engine.sample().preemptions == before
    rank = gate.status()["ranks"]["0"]
    assert (rank["leased"], rank["running"], rank["overruns"]) == (0, 0, 0)
    assert sum(rank["waited"].values()) > 0

    # With none in n requests, the rate is below 3/n with 95 % confidence (the rule of three).
    told = {
        "requests": REQUESTS,
        "preemptions_ungated": int(preempted),
        "preemptions_strict": 0,
        "rate_bound_95": round(3 / REQUESTS, 4),
        "seconds_ungated": round(ungated_seconds, 1),
        "seconds_strict": round(gated_seconds, 1),
    }
    record_property("strict_leases", told)
    sys.stderr.write(f"\nstrict leases: {told}\n")
