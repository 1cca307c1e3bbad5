"""Runs a benchmark: engines one after the other, gates before them, loads on them, and what came of it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from serving.bench.generator import Generator, client_argv, run_contiguous
from serving.bench.program import LogFile, Program
from serving.bench.reading import Answer, answers, figures
from serving.bench.results import Results
from serving.bench.suite import Cell, EngineSpec, Plan, RandomLoad, cells, groups
from serving.bench.watch import PoolWatch, counters, gate_status, scrape
from serving.errors import EngineError
from serving.process.ask import HttpClient
from serving.process.node import EngineCommand, Node
from serving.process.preflight import require_free_port
from serving.profile.command import engine_argv, engine_variables
from serving.telemetry import EngineSample, total

REQUEST_COLUMNS: Final = (
    "prompt_tokens", "output_tokens", "start_seconds", "first_seconds", "seconds", "tokens_per_second",
    "error",
)  # fmt: skip
"""Of a measurement's ``requests``, in the order of its prompts."""

_ERROR_CHARS: Final = 2_000
_GRACE_SECONDS: Final = 20.0


@dataclass(frozen=True)
class Place:
    """Where a benchmark runs.

    Attributes:
        folder: of results and logs.
        vllm: the command.
        python: the interpreter that has vLLM.
        environ: variables that every process gets.
        trace: the file that is replayed; None where none is.
        note: is told what a person wants to know, one line each.
        progress: is told how far it is, often.
    """

    folder: Path
    vllm: str
    python: Sequence[str]
    environ: Mapping[str, str]
    trace: Path | None
    note: Callable[[str], None]
    progress: Callable[[str], None]


@dataclass(frozen=True)
class _Due:
    """A measurement that is not there yet."""

    cell: Cell
    repeat: int
    place: str


class Runner:
    """One run of a benchmark.

    Attributes:
        failures: measurements that were tried and failed.
    """

    def __init__(self, plan: Plan, place: Place, results: Results) -> None:
        self.failures = 0
        self._plan = plan
        self._place = place
        self._results = results
        self._logs = place.folder / "logs"
        self._generator = Generator(place.python, _environment(place, {}), self._logs)

    async def run(self) -> None:
        """Measure what is not there yet; a cell that fails is noted, and the next one tried."""
        await asyncio.to_thread(self._logs.mkdir, parents=True, exist_ok=True)
        try:
            for spec, due in self._due():
                await self._group(spec, due)
        finally:
            await self._generator.end()
            self._place.progress("")

    def _due(self) -> list[tuple[EngineSpec, list[_Due]]]:
        repeats = range(self._plan.scale.repeats)
        made = cells(self._plan)
        count, found = 0, list[tuple[EngineSpec, list[_Due]]]()
        for spec, group in groups(made):
            due: list[_Due] = []
            # Cells take turns, so that what drifts meanwhile meets them all.
            for repeat in repeats:
                for cell in group:
                    count += 1
                    if not self._results.has(cell.factors, repeat):
                        due.append(_Due(cell, repeat, f"{count}/{len(made) * len(repeats)}"))
            if due:
                found.append((spec, due))
        return found

    async def _group(self, spec: EngineSpec, due: list[_Due]) -> None:
        left = list(due)
        try:
            if spec.runtime == "contiguous":
                while left:
                    await self._contiguous(left[0])
                    left.pop(0)
                return
            await self._generator.start()
            async with self._engine(spec) as (url, command):
                while left:
                    await self._measure(left[0], url, command)
                    left.pop(0)
        except EngineError as error:
            for missed in left:
                self._failed(missed, error)

    def _failed(self, due: _Due, error: EngineError) -> None:
        self.failures += 1
        said = str(error)
        self._results.add("failed", due.cell.factors, due.repeat, {"error": said[:_ERROR_CHARS]})
        self._place.note(f"{due.place} {due.cell.name}: FAILED: {said.splitlines()[0]}")

    async def _contiguous(self, due: _Due) -> None:
        argv = client_argv(due.cell, "http://127.0.0.1", due.repeat, None)
        environment = _environment(self._place, engine_variables(due.cell.engine.profile))
        self._place.progress(f"{due.place} {due.cell.name}")
        told = await run_contiguous(due.cell, argv, self._place.python, environment, self._logs)
        self._keep(due, told, None, (), {"client": ["vllm", "bench", "serve", *argv]})

    @asynccontextmanager
    async def _engine(self, spec: EngineSpec) -> AsyncGenerator[tuple[str, list[str]]]:
        """An engine that answers, and how it was started."""
        profile = spec.profile
        require_free_port(profile.host, profile.port, "the engine", "--port")
        argv = [self._place.vllm, *engine_argv(profile)[1:], *spec.options]
        command = EngineCommand(
            argv,
            # The prefix cache is emptied between measurements, by a request that only this mode has.
            _environment(self._place, {**engine_variables(profile), "VLLM_SERVER_DEV_MODE": "1"}),
            f"http://127.0.0.1:{profile.port}",
            grace_seconds=_GRACE_SECONDS,
        )
        log = LogFile(self._logs / "engine.log")
        node = Node(command, log, self._place.progress)
        running = asyncio.ensure_future(node.run())
        ready = asyncio.ensure_future(node.ready.wait())
        try:
            await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            yield command.url, argv
            node.stop()
            await running
        finally:
            for task in (ready, running):
                task.cancel()
            await asyncio.gather(ready, running, return_exceptions=True)
            log.close()

    async def _measure(self, due: _Due, url: str, command: list[str]) -> None:
        cell = due.cell
        if told := _unfit(cell, total(await asyncio.to_thread(scrape, url))):
            self._results.add("skipped", cell.factors, due.repeat, {"reason": told})
            self._place.note(f"{due.place} {cell.name}: skipped: {told}")
            return
        await asyncio.to_thread(_empty_prefix_cache, url)
        async with self._gate(due, url) as (gate_url, gate_command):
            before = await asyncio.to_thread(scrape, url)
            watch = PoolWatch(url, gate_url, self._plan.scale.sample_seconds, self._teller(due))
            watching = asyncio.ensure_future(watch.run(before))
            try:
                argv = client_argv(cell, gate_url or url, due.repeat, self._place.trace)
                told = await self._generator.run(argv, self._place.trace)
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
            engine = total(await asyncio.to_thread(scrape, url), before)
            gate = await asyncio.to_thread(gate_status, gate_url) if gate_url else None
        commands = {"engine": command, "gate": gate_command, "client": ["vllm", "bench", "serve", *argv]}
        self._keep(due, told, engine, watch.looks, commands, gate)

    @asynccontextmanager
    async def _gate(self, due: _Due, url: str) -> AsyncGenerator[tuple[str | None, list[str] | None]]:
        """The gate before the engine, where the cell has one, as ``up`` would start it."""
        mode, profile = due.cell.gate, due.cell.engine.profile
        if mode is None:
            yield None, None
            return
        ahead = profile.speculation.tokens if profile.speculation else 0
        records = self._place.folder / f"requests-{mode}-{due.repeat}.jsonl"
        records.unlink(missing_ok=True)
        line = [
            sys.executable, "-m", "serving", "--json", "gate", "--engine", url, "--listen", "127.0.0.1:0",
            "--mode", mode, "--reserve", "expected", "--look-ahead-tokens", str(ahead),
            "--floor", f"{profile.min_tokens_per_second:g}", "--record", str(records),
        ]  # fmt: skip
        log = self._logs / "gate.log"
        gate = await Program.start("The gate", line, _environment(self._place, {}), log, '{"listening"')
        try:
            yield (await gate.told())["listening"], line
        finally:
            await gate.end()

    def _teller(self, due: _Due) -> Callable[[int, float], None]:
        load = due.cell.load
        asked = load.prompts if isinstance(load, RandomLoad) else load.requests

        def tell(answered: int, usage: float) -> None:
            self._place.progress(
                f"{due.place} {due.cell.name}: {answered} of {asked} answered, {usage:.0%} of the pool in use"
            )

        return tell

    def _keep(
        self,
        due: _Due,
        told: dict[str, Any],
        engine: EngineSample | None,
        looks: Sequence[tuple[float | None, ...]],
        commands: Mapping[str, Sequence[str] | None],
        gate: Mapping[str, Any] | None = None,
    ) -> None:
        read = figures(told, engine)
        line = {
            "measured": datetime.now(UTC).isoformat(timespec="seconds"),
            "smoke": self._plan.smoke,
            "figures": read,
            "requests": [_row(answer) for answer in answers(told)],
            "engine": counters(engine) if engine else None,
            "gate": gate,
            "pool": [[None if value is None else round(value, 4) for value in look] for look in looks],
            "commands": commands,
        }
        self._results.add("measure", due.cell.factors, due.repeat, line)
        speed = read["velocity"]
        shown = "no velocity" if speed is None else f"{speed:.1f} tok/s a stream"
        smoke = " (smoke)" if self._plan.smoke else ""
        self._place.note(f"{due.place} {due.cell.name}: {shown}{smoke}, {read['seconds']:.1f} s")


def _row(answer: Answer) -> list[Any]:
    """A request as results keep it; :data:`REQUEST_COLUMNS` names the places."""
    return [
        answer.prompt_tokens, answer.output_tokens, round(answer.start_seconds, 4),
        round(answer.first_seconds, 5), round(answer.seconds, 5), answer.velocity, answer.error,
    ]  # fmt: skip


def _environment(place: Place, more: Mapping[str, str]) -> dict[str, str]:
    """What every process gets; a proxy is not for this machine, and n-gram speculation has few threads."""
    fixed = {"NO_PROXY": "127.0.0.1,localhost", "VLLM_NO_USAGE_STATS": "1"}
    made = {**place.environ, **fixed, **more}
    if "VLLM_CPU_KVCACHE_SPACE" in made:
        made.setdefault("NUMBA_NUM_THREADS", "1")
    made["PATH"] = os.pathsep.join((os.path.dirname(place.vllm), made.get("PATH", os.defpath)))
    return made


def _unfit(cell: Cell, engine: EngineSample) -> str:
    """Why a cell cannot be measured on this engine; empty where it can."""
    if cell.engine.profile.kv_cache_dtype == "auto" and engine.cache_dtype.startswith("fp8"):
        return f"the checkpoint has its KV cache in {engine.cache_dtype} by itself"
    held = engine.kv_tokens or engine.blocks * engine.block_tokens
    if isinstance(cell.load, RandomLoad) and held and cell.load.most_tokens > held:
        return (
            f"{cell.load.concurrency} streams take {cell.load.most_tokens:,} tokens, the pool holds"
            f" {held:,}: some would wait"
        )
    return ""


def _empty_prefix_cache(url: str) -> None:
    """Source: vLLM's ``vllm bench sweep``, which does the same between its runs.

    Raises:
        EngineError: blocks are still held after a while.
    """
    client = HttpClient(url)
    until = time.monotonic() + _GRACE_SECONDS
    while not client.post("/reset_prefix_cache", {}).get("success", True):
        if time.monotonic() > until:
            raise EngineError(f"{url} does not empty its prefix cache: requests still hold blocks of it.")
        time.sleep(0.2)
