"""vLLM's own load generator, kept running between jobs: ``python driver.py PIPE``, by vLLM's interpreter.

Importing vLLM takes longer than many a job, hence one process for all. Each line of the named pipe is a job,
``{"argv": [...], "result": PATH, "trace": PATH or null}``: the arguments of ``vllm bench serve``, where the
outcome goes as JSON, and, for a replay, the trace whose agents wait for their answers. What happened is told
on standard output, one line that begins with ``@@``.

Runs where vLLM is installed; nothing else of the project imports this module, and it imports nothing of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SESSION_HEADER = "x-mcp-offload-session"
BACKEND = "openai"


def main() -> None:
    """Do jobs until the pipe closes."""
    from vllm.benchmarks import serve
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = FlexibleArgumentParser()
    serve.add_cli_args(parser)
    tell({"ready": versions()})
    with open(sys.argv[1], encoding="utf-8") as jobs:
        for line in jobs:
            job = json.loads(line)
            try:
                result = run(serve, parser.parse_args(job["argv"]), job.get("trace"))
                Path(job["result"]).write_text(json.dumps(result), encoding="utf-8")
                tell({"done": job["result"]})
            except (Exception, SystemExit) as error:  # noqa: BLE001  (told to who asked; the next job may do)
                traceback.print_exc()
                tell({"failed": f"{type(error).__name__}: {error}"})


def run(serve: Any, args: Any, trace: str | None) -> dict[str, Any]:
    """One job: what ``vllm bench serve`` would write, with every request's times."""
    args.save_detailed = True
    plain = serve.ASYNC_REQUEST_FUNCS[BACKEND]
    if trace is not None:
        serve.ASYNC_REQUEST_FUNCS[BACKEND] = Agents(plain, Path(trace)).send
    try:
        return asyncio.run(serve.main_async(args))
    finally:
        serve.ASYNC_REQUEST_FUNCS[BACKEND] = plain


class Agents:
    """Sends a trace's requests as agents do: each after the answer before it, and its tool's time.

    vLLM's generator has no such order of its own; it calls this where it would send a request.
    """

    def __init__(self, send: Any, trace: Path) -> None:
        self._send = send
        with trace.open(encoding="utf-8") as lines:
            self._requests = [json.loads(line) for line in lines if line.strip()]
        self._place = {request["chat_id"]: place for place, request in enumerate(self._requests)}
        self._answered: dict[int, asyncio.Event] = {}

    async def send(self, request_func_input: Any, session: Any, pbar: Any = None) -> Any:
        """Wait for this request's turn, and send it under its agent's name."""
        if not self._answered:
            self._answered = {place: asyncio.Event() for place in range(len(self._requests))}
        place = int(request_func_input.request_id.rpartition("-")[2])
        request = self._requests[place]
        before = self._place.get(request["parent_chat_id"])
        if before is None:
            await asyncio.sleep(request["timestamp"])
        else:
            await self._answered[before].wait()
            await asyncio.sleep(request.get("pause_seconds", 0.0))
        own = {SESSION_HEADER: f"agent-{self._first(place)}"}
        request_func_input.extra_headers = {**(request_func_input.extra_headers or {}), **own}
        try:
            return await self._send(request_func_input=request_func_input, session=session, pbar=pbar)
        finally:
            self._answered[place].set()

    def _first(self, place: int) -> int:
        while (before := self._place.get(self._requests[place]["parent_chat_id"])) is not None:
            place = before
        return int(self._requests[place]["chat_id"])


def versions() -> dict[str, str]:
    """Of what takes part, as this interpreter sees it."""
    found = {"python": sys.version.split()[0]}
    for name in ("vllm", "torch", "transformers", "flashinfer-python"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def tell(value: dict[str, Any]) -> None:
    """Say something to who started this."""
    sys.stdout.write(f"@@{json.dumps(value)}\n")  # noqa: TID251  a program of its own
    sys.stdout.flush()  # noqa: TID251


if __name__ == "__main__":
    main()
