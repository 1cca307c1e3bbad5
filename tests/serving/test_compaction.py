"""Compaction before a real vLLM with prefix caching: lengths as the engine counts them, and warmth."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from serving.compaction.dialects import Dialect
from tests.serving import models, node
from tests.unit.serving.compaction.talk import DIALECTS, PATHS, Turn, request

pytestmark = [pytest.mark.serving, pytest.mark.timeout(900)]

LEASE = 18_000
TURNS = 60
BLOCKS = 640
BLOCK_TOKENS = 128
SEVERAL = range(28, 42, 2)
"""The turns of several agents that are asked for; in the last each raw history has some 43,000 tokens."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compaction")


@pytest.fixture(scope="module")
def engine(home: Path) -> Generator[node.Server]:
    """A pool of 81,792 tokens: room for one long history, or for several short ones."""
    flags = (
        "--max-model-len", "80000", "--block-size", str(BLOCK_TOKENS), "--enable-prefix-caching",
        "--num-gpu-blocks-override", str(BLOCKS), "--max-num-batched-tokens", "8192",
        "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
    )  # fmt: skip
    with node.engine(home, models.tiny(), *flags, port=8473) as server:
        yield server


@pytest.fixture(scope="module")
def gate(home: Path, engine: node.Server) -> Generator[node.Server]:
    flags = ("--compaction", "on", "--mode", "off", "--store", str(home / "store"), "--workspace", "here")
    variables = {"MCP_OFFLOAD_STATE": str(home / "state")}
    with node.gate(home, engine.url, *flags, variables=variables) as server:
        yield server


def history(agent: int) -> list[Turn]:
    """Reads, writes and test runs of one agent, as an agent's tools give them; about 70,000 tokens."""
    rng = random.Random(agent)
    words = ["total", "rate", "line", "customer", "index", "value", "order", "price", "cache", "node"]
    made: list[Turn] = []
    for number in range(TURNS):
        name = f"src/part_{agent}_{number}.py"
        body = "\n\n".join(
            f"def {rng.choice(words)}_{number}_{i}({rng.choice(words)}, {rng.choice(words)}):\n"
            f"    return {rng.choice(words)} * {rng.randint(2, 99)}"
            for i in range(rng.randint(20, 60))
        )
        log = "".join(
            f"tests/test_{rng.choice(words)}.py::test_{i} PASSED\n" for i in range(rng.randint(20, 90))
        )
        call_id = f"call_{agent}_{number}"
        call, result = {
            0: ((call_id, "read", {"path": name}), body),
            1: ((call_id, "write", {"path": name, "content": body}), f"wrote {len(body)} bytes"),
            2: (
                (call_id, "bash", {"command": "pytest"}),
                log + f"=== {log.count('PASSED')} passed in 1.50s ===\n",
            ),
        }[number % 3]
        made.append(Turn((call,), (result,), text=f"Step {number}: {rng.choice(words)}."))
    return made


@dataclass
class Warmth:
    """Tokens of all prompts of some conversations, as the engine told."""

    prompts: int = 0
    cached: int = 0
    peak: int = 0

    def add(self, usage: dict[str, Any]) -> None:
        self.prompts += usage["prompt_tokens"]
        self.cached += usage["prompt_tokens_details"]["cached_tokens"] or 0
        self.peak = max(self.peak, usage["prompt_tokens"])

    @property
    def told(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompts,
            "computed_tokens": self.prompts - self.cached,
            "hit_rate": round(self.cached / self.prompts, 4),
            "peak_tokens": self.peak,
        }


def converse(server: node.Server, agents: list[int], numbers: range, salt: str) -> Warmth:
    """These turns of every agent's conversation, the agents taking turns."""
    warmth = Warmth()
    histories = [history(agent) for agent in agents]
    for number in numbers:
        for turns in histories:
            body = request(Dialect.CHAT, turns[:number], "read", "write", "bash", max_tokens=1, temperature=0)
            body["messages"][0]["content"] = f"{salt} {server.url}"  # neither warms the other's cache
            status, answer = server.post(PATHS[Dialect.CHAT], body)
            assert status == 200, answer
            warmth.add(answer["usage"])
    return warmth


def test_one_agent_stays_under_the_lease(
    engine: node.Server, gate: node.Server, record_property: Any
) -> None:
    raw, compacted = (converse(server, [1], range(1, TURNS + 1), "one") for server in (engine, gate))
    told = {"raw": raw.told, "compacted": compacted.told, "steps": gate.status()["compaction"]["steps"]}
    record_property("one_agent", told)
    sys.stderr.write(f"\none agent: {json.dumps(told)}\n")
    assert raw.peak > 60_000
    assert compacted.peak <= LEASE
    assert compacted.prompts < raw.prompts / 2
    assert compacted.told["hit_rate"] > 0.85


def test_several_agents_stay_warm(engine: node.Server, gate: node.Server, record_property: Any) -> None:
    raw, compacted = (converse(server, [2, 3, 4], SEVERAL, "several") for server in (engine, gate))
    told = {"raw": raw.told, "compacted": compacted.told}
    record_property("several_agents", told)
    sys.stderr.write(f"\nseveral agents: {json.dumps(told)}\n")
    assert compacted.peak <= LEASE
    assert compacted.told["hit_rate"] >= raw.told["hit_rate"]
    assert compacted.told["computed_tokens"] < raw.told["computed_tokens"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_engine_takes_what_is_sent_in_every_dialect(
    dialect: Dialect, engine: node.Server, gate: node.Server
) -> None:
    limit = {"max_output_tokens": 16} if dialect is Dialect.RESPONSES else {"max_tokens": 16}
    body = request(dialect, history(90)[:30], "read", "write", "bash", temperature=0, **limit)
    before = gate.status()["compaction"]
    status, answer = gate.post(PATHS[dialect], body)
    assert status == 200, answer
    after = gate.status()["compaction"]
    assert (after["changed"], after["uncounted"]) == (before["changed"] + 1, before["uncounted"])
    usage = answer["usage"]
    assert usage.get("prompt_tokens", usage.get("input_tokens")) <= LEASE
    assert any(gate.stream(PATHS[dialect], {**body, "stream": True}))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_too_much_at_once_is_refused(dialect: Dialect, gate: node.Server) -> None:
    turns = [Turn((("c1", "bash", {"command": "cat"}),), ("word and " * 12_000,))]
    status, answer = gate.post(PATHS[dialect], request(dialect, turns, "bash"))
    assert status == 400
    assert f"> {LEASE} maximum" in answer["error"]["message"]
