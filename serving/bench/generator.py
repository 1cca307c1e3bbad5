"""vLLM's load generator as a process that is asked for one measurement after the other."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from serving.bench.program import Program
from serving.bench.suite import Cell, RandomLoad
from serving.errors import EngineError

_DRIVER: Final = Path(__file__).with_name("driver.py")
_CONTIGUOUS: Final = Path(__file__).with_name("contiguous.py")


def client_argv(cell: Cell, url: str, repeat: int, trace: Path | None) -> list[str]:
    """The arguments of ``vllm bench serve`` for one measurement."""
    profile, load = cell.engine.profile, cell.load
    if isinstance(load, RandomLoad):
        asked = load.argv(cell.seed + repeat)
    else:
        asked = [
            "--dataset-name", "timed_trace", "--dataset-path", str(trace),
            "--timed-trace-chunk-hash-size", str(load.block_tokens),
            "--no-self-timed", "--num-prompts", str(load.requests), "--seed", str(cell.seed + repeat),
        ]  # fmt: skip
    return [
        "--backend", "openai", "--endpoint", "/v1/completions", "--base-url", url,
        "--model", profile.model, "--served-model-name", profile.served_model_name or profile.model,
        *asked, "--temperature", "0", "--ready-check-timeout-sec", "0", "--request-id-prefix", "bench-",
        "--disable-tqdm",
    ]  # fmt: skip


class Generator:
    """The generator, started when it is first needed.

    Args:
        python: the interpreter that has vLLM.
        environment: its variables.
        folder: where its log, its pipe and its outcomes lie.
    """

    def __init__(self, python: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.versions: dict[str, str] = {}
        self._python = python
        # Python's own hash seeds the text of a trace's blocks: the same for every run.
        self._environment = {**environment, "PYTHONHASHSEED": "0"}
        self._folder = folder
        self._pipe = folder / "jobs"
        self._program: Program | None = None
        self._jobs: int | None = None

    async def start(self) -> None:
        """Start it; it gets ready while the engine does."""
        if self._program is not None:
            return
        self._pipe.unlink(missing_ok=True)
        os.mkfifo(self._pipe, 0o600)
        self._jobs = os.open(self._pipe, os.O_RDWR | os.O_CLOEXEC)
        self._program = await Program.start(
            "vLLM's load generator",
            [*self._python, str(_DRIVER), str(self._pipe)],
            self._environment,
            self._folder / "generator.log",
        )

    async def ready(self) -> dict[str, str]:
        """Wait until it takes jobs; what it says of its versions.

        Raises:
            EngineError: it ended instead.
        """
        await self.start()
        if not self.versions:
            assert self._program is not None
            self.versions = (await self._program.told())["ready"]
        return self.versions

    async def run(self, argv: Sequence[str], trace: Path | None) -> dict[str, Any]:
        """One measurement; what ``vllm bench serve`` writes of it.

        Raises:
            EngineError: it failed.
        """
        await self.ready()
        assert self._program is not None
        assert self._jobs is not None
        result = self._folder / "outcome.json"
        job = {"argv": list(argv), "result": str(result), "trace": str(trace) if trace else None}
        os.write(self._jobs, json.dumps(job).encode() + b"\n")
        told = await self._program.told()
        if "failed" in told:
            raise EngineError(
                f"vLLM's load generator failed: {told['failed']}; see {self._folder / 'generator.log'}."
            )
        return json.loads(result.read_text("utf-8"))

    async def end(self) -> None:
        """End it."""
        if self._jobs is not None:
            os.close(self._jobs)
            self._jobs = None
        if self._program is not None:
            await self._program.end()
            self._program = None
        with suppress(OSError):
            self._pipe.unlink()


async def run_contiguous(
    cell: Cell, argv: Sequence[str], python: Sequence[str], environment: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    """One measurement of the runtime with a contiguous cache.

    Raises:
        EngineError: it failed.
    """
    job, result = folder / "job.json", folder / "outcome.json"
    profile = cell.engine.profile
    asked = {"argv": list(argv), "result": str(result), "model": profile.model}
    job.write_text(json.dumps({**asked, "positions": profile.max_model_len}), encoding="utf-8")
    line = [*python, str(_CONTIGUOUS), str(job)]
    program = await Program.start("The contiguous runtime", line, environment, folder / "contiguous.log")
    try:
        while "done" not in await program.told():
            pass
    finally:
        await program.end()
    return json.loads(result.read_text("utf-8"))
