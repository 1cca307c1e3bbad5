"""What a run did, as one JSON line: docs/reference/traces.md tells each field."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx2 as httpx

SCHEMA = 1
EVERY_SECONDS = 0.5


@dataclass(slots=True)
class NodeEvent:
    """One question to the model; a bad answer was cut off or had another shape."""

    node: str
    attempt: int
    at_seconds: float
    seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None
    bad_answer: bool = False


@dataclass(slots=True)
class ToolReturn:
    """What a tool put into the conversation."""

    node: str
    tool: str
    characters: int


@dataclass(slots=True)
class Compile:
    """One attempt of the generator, as compilers and the check saw it."""

    attempt: int
    compiler: str
    compiled: bool
    correct: bool | None


@dataclass(slots=True)
class Trace:
    """One run of the agent."""

    run: str
    prompt_id: str
    family: str
    in_scope: bool | None
    features: dict[str, float]
    model: str
    shape: str
    retries: int
    seed: int | None = None
    cache_dtype: str | None = None
    block_tokens: int | None = None
    engine_blocks: int | None = None
    outcome: str = "failed"
    operation: str | None = None
    seconds: float = 0.0
    nodes: list[NodeEvent] = field(default_factory=list[NodeEvent])
    tool_returns: list[ToolReturn] = field(default_factory=list[ToolReturn])
    compiles: list[Compile] = field(default_factory=list[Compile])
    memory: list[dict[str, float | None]] = field(default_factory=list[dict[str, float | None]])

    def line(self) -> str:
        """The trace as one line of JSON, with the sums that its events give."""
        answered = [event for event in self.nodes if event.prompt_tokens is not None]
        sums = {
            "steps": len(answered),
            "base_tokens": answered[0].prompt_tokens if answered else None,
            "expansion_tokens": sum(event.completion_tokens or 0 for event in answered),
            "peak_tokens": max(
                ((event.prompt_tokens or 0) + (event.completion_tokens or 0) for event in answered),
                default=None,
            ),
        }
        return json.dumps({"schema": SCHEMA, **asdict(self), **sums}, separators=(",", ":"))


def features(prompt: str) -> dict[str, float]:
    """What is known of a prompt before anything is asked."""
    words = re.findall(r"[A-Za-z_]+", prompt)
    return {
        "characters": len(prompt),
        "words": len(words),
        "lines": prompt.count("\n") + 1,
        "digits": sum(character.isdigit() for character in prompt),
        "code_characters": sum(character in "[](){}*+-/=<>;_" for character in prompt),
        "question": float("?" in prompt),
        "kernel_words": len(re.findall(r"(?i)\b(?:kernel|cuda|gpu|thread|vector|array|matrix)", prompt)),
    }


@dataclass(slots=True)
class Engine:
    """Samples of the engine that answers: blocks of the KV cache in use, requests that run, memory."""

    cache_dtype: str | None = None
    block_tokens: int | None = None
    blocks: int | None = None
    samples: list[tuple[float, dict[str, float | None]]] = field(
        default_factory=list[tuple[float, dict[str, float | None]]]
    )

    def during(self, since: float, until: float) -> list[dict[str, float | None]]:
        """Samples between two moments of `time.monotonic`; the last before them where there is none."""
        inside = [(at, sample) for at, sample in self.samples if since <= at <= until]
        inside = inside or [entry for entry in self.samples if entry[0] < since][-1:]
        return [{"at_seconds": round(at - since, 3), **sample} for at, sample in inside]


@asynccontextmanager
async def watched(url: str | None, process_id: int | None) -> AsyncGenerator[Engine]:
    """Sample an engine's /metrics, and its processes' memory where it runs on this machine."""
    engine = Engine()
    if url is None:
        yield engine
        return
    async with httpx.AsyncClient(timeout=30) as client:
        await _sample(client, url, process_id, engine)
        sampling = asyncio.create_task(_keep_sampling(client, url, process_id, engine))
        try:
            yield engine
        finally:
            sampling.cancel()
            await asyncio.gather(sampling, return_exceptions=True)


async def _keep_sampling(client: httpx.AsyncClient, url: str, process_id: int | None, engine: Engine) -> None:
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        await _sample(client, url, process_id, engine)


async def _sample(client: httpx.AsyncClient, url: str, process_id: int | None, engine: Engine) -> None:
    page = (await client.get(url)).text
    told = re.search(r"(?m)^vllm:cache_config_info\{(.*)\}", page)
    if told is not None:
        labels = dict(re.findall(r'(\w+)="([^"]*)"', told.group(1)))
        engine.cache_dtype = labels.get("cache_dtype")
        engine.block_tokens = int(labels["block_size"])
        engine.blocks = int(labels["num_gpu_blocks"]) - 1
    usage, running = _figure(page, "kv_cache_usage_perc"), _figure(page, "num_requests_running")
    used = None if usage is None or engine.blocks is None else round(usage * engine.blocks)
    rss = None if process_id is None else resident_bytes(process_id)
    engine.samples.append(
        (
            time.monotonic(),
            {"kv_blocks": used, "running": running, "process_bytes": rss},
        )
    )


def resident_bytes(process_id: int) -> int:
    """Resident memory of a process and all it started; pages that they share count for each."""
    total = 0
    try:
        pages = int(Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1])
        total = pages * os.sysconf("SC_PAGE_SIZE")
        for task in Path(f"/proc/{process_id}/task").iterdir():
            children = (task / "children").read_text(encoding="ascii").split()
            total += sum(resident_bytes(int(child)) for child in children)
    except (FileNotFoundError, ProcessLookupError):
        pass  # it ended meanwhile
    return total


def _figure(page: str, name: str) -> float | None:
    found = re.search(rf"(?m)^vllm:{name}(?:\{{.*\}})? (\S+)$", page)
    return None if found is None else float(found.group(1))
