"""A profile, a real vLLM and the gate before it: started, asked, checked and stopped by the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from serving.process.keeper import session_members
from serving.profile.command import speculative_config
from serving.profile.load import load_profile
from serving.profile.model import Speculation
from tests.serving import environment, models, node

pytestmark = [pytest.mark.serving, pytest.mark.timeout(900)]

GREEDY = Path(__file__).with_name("greedy.py")
CHAT = "/v1/chat/completions"
PORT = 8481
STEP_TOKENS = 512
TOOL = {
    "type": "function",
    "function": {
        "name": "read_handle",
        "description": "Read what a handle names.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "maxLength": 8},
                "lines": {"type": "integer"},
            },
            "required": ["handle", "lines"],
            "additionalProperties": False,
        },
    },
}


def has_fast_fp8() -> bool:
    """What vLLM's FP8 KV cache needs of a CPU."""
    flags = Path("/proc/cpuinfo").read_text()
    return "avx512f" in flags or "amx_bf16" in flags


@dataclass
class Up:
    """A node that `up` started."""

    server: node.Server
    told: dict[str, Any]
    profile: Path
    home: Path

    def command(self, *words: str, module: str = "serving") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", module, *words],
            env=variables(self.home), cwd=self.home, capture_output=True, text=True, check=False,
        )  # fmt: skip


def variables(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {**kept, **environment.variables(home)}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Generator[Up]:
    """The profile cpu-smoke with small steps; its FP8 cache where the CPU can. It is stopped at the end."""
    home = tmp_path_factory.mktemp("up")
    shipped = (Path(__file__).parents[2] / "serving/profile/data/profiles/cpu-smoke.toml").read_text()
    head, _, notes = shipped.partition("[notes]")
    head += f"port = {PORT}\nmax_num_batched_tokens = {STEP_TOKENS}\n"
    if not has_fast_fp8():
        head = head.replace('"fp8_e4m3"', '"auto"')
    profile = home / "smoke.toml"
    profile.write_text(f"{head}\n[notes]{notes}")
    line = [
        sys.executable, "-m", "serving", "--json", "up", str(profile), "--model", str(models.smollm2()),
        "--vllm", str(environment.command("vllm")), "--store", "store", "--listen", "127.0.0.1:0",
        "--iteration-details",
    ]  # fmt: skip
    with (home / "up.log").open("wb") as log:
        process = subprocess.Popen(
            line, env=variables(home), cwd=home, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
        assert process.stdout is not None
        try:
            told = process.stdout.readline()
            assert told, (home / "up.log").read_text()
            answer = json.loads(told)
            assert "listening" in answer, answer
            running = Up(node.Server(answer["listening"], process, home / "up.log"), answer, profile, home)
            yield running
            stops_cleanly(running)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def stops_cleanly(up: Up) -> None:
    """SIGTERM ends the gate, then the engine with every process of its own, and tells the recommendation."""
    engine_pid = up.server.status()["process"]["engine_pid"]
    assert session_members(engine_pid)
    up.server.process.send_signal(signal.SIGTERM)
    assert up.server.process.wait(120) == 0
    assert session_members(engine_pid) == []
    assert "recommended mode: too early to say" in up.server.log.read_text()


def chat(text: str, output: int, **more: Any) -> dict[str, Any]:
    body = {"model": "smollm2", "messages": [{"role": "user", "content": text}], "max_tokens": output}
    return {**body, "temperature": 0, **more}


def test_a_profile_becomes_a_node_that_chats(up: Up) -> None:
    status, answer = up.server.post(CHAT, chat("What is the capital of France? Answer briefly.", 24))
    assert status == 200
    assert "Paris" in answer["choices"][0]["message"]["content"]
    assert up.told["mode"] == "shadow"


def test_it_streams(up: Up) -> None:
    body = chat("Name three colours.", 24, stream_options={"include_usage": True})
    lines = [line for line in up.server.stream(CHAT, body) if line.startswith(b"data: ")]
    assert lines[-1].strip() == b"data: [DONE]"
    events = [json.loads(line[6:]) for line in lines[:-1]]
    assert len(events) > 5
    assert events[-1]["usage"]["completion_tokens"] > 5


def test_a_strict_tool_is_called_with_arguments_of_its_schema(up: Up) -> None:
    body = chat("Read 20 lines of handle f3.", 96, tools=[TOOL], tool_choice="required")
    status, answer = up.server.post(CHAT, body)
    assert status == 200, answer
    (call,) = answer["choices"][0]["message"]["tool_calls"][:1]
    assert call["function"]["name"] == "read_handle"
    arguments = json.loads(call["function"]["arguments"])
    assert set(arguments) == {"handle", "lines"}
    assert isinstance(arguments["lines"], int)


def test_check_passes_every_point_and_sees_chunks(up: Up) -> None:
    line = ("--json", "check", up.server.url, "--profile", str(up.profile), "--model", str(models.smollm2()))
    done = up.command(*line)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert {finding["verdict"] for finding in told.values()} == {"passed"}, told
    assert f"none with more than {STEP_TOKENS}" in told["chunked_prefill"]["evidence"]
    if has_fast_fp8():
        assert "cache_dtype fp8_e4m3" in told["kv_cache_dtype"]["evidence"]
        assert "93,184 tokens" in told["blocks"]["evidence"]


def test_check_fails_where_the_profile_says_otherwise(up: Up) -> None:
    other = up.home / "other.toml"
    text = up.profile.read_text().replace('engine_version = "0.32.0"', 'engine_version = "0.31.0"')
    other.write_text(
        text.replace("prefix_caching = true", "").replace("[notes]", "prefix_caching = false\n[notes]")
    )
    done = up.command("--json", "check", str(up.told["engine"]), "--profile", str(other))
    assert done.returncode == 1, done.stdout + done.stderr
    failed = {f["name"] for f in json.loads(done.stdout)["findings"] if f["verdict"] == "failed"}
    assert failed == {"version", "prefix_caching"}


def test_the_engines_log_is_read_by_its_handle(up: Up) -> None:
    done = up.command("--store", "store", "search", "KV cache size", up.told["log"], module="mcp_offload")
    assert done.returncode == 0, done.stderr
    assert "KV cache size" in done.stdout


def test_draft_model_speculation_changes_no_greedy_output(tmp_path: Path) -> None:
    """In float32: in 16 bits the batch's shape rounds differently."""
    profile = replace(
        load_profile("cpu-smoke"),
        speculation=Speculation("draft_model", 3, model=str(models.draft(24))),
    )
    assert profile.speculation is not None
    plain = {
        "model": str(models.smollm2()), "dtype": "float32", "max_model_len": 512, "enforce_eager": True,
        "max_num_seqs": 4,
    }  # fmt: skip
    asked = {
        "engines": [plain, {**plain, "speculative_config": speculative_config(profile.speculation)}],
        "prompts": ["The capital of France is", "def add(a, b):", "Once upon a time", "1, 2, 3, 4,"],
    }
    done = subprocess.run(
        [environment.python(), GREEDY],
        input=json.dumps(asked), cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment.variables(tmp_path) | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("ANSWERS "))
    off, on = json.loads(line.removeprefix("ANSWERS "))
    assert off["drafted"] == 0
    assert on["drafted"] > 0
    assert on["accepted"] > 0
    assert on["tokens"] == off["tokens"]
