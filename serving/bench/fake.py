"""An engine without a model, as a process: ``python -m serving.bench.fake``.

It speaks as much of vLLM's HTTP interface as the gate uses, and writes tokens at the pace that a request
asks for, so that what a gate adds can be told from what an engine takes. Prints its address as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import uvicorn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PACE_FIELD: Final = "pace_seconds"
"""Of a request: seconds between two tokens; 0 for none, below 0 to write nothing until the client leaves."""


class FakeEngine:
    """Answers requests; a prompt has one token for each four characters of its JSON.

    Args:
        blocks: that its metrics page names.
        block_tokens: tokens in one.
        told: is given a word as each request begins and ends: ``began``, ``served`` or ``left``.
    """

    def __init__(
        self, blocks: int, block_tokens: int, told: Callable[[str], None] = lambda word: None
    ) -> None:
        self._blocks = blocks
        self._block_tokens = block_tokens
        self._started = time.time()
        self._told = told
        self._running = 0
        self._tokens = 0
        self._token_seconds = 0.0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection's scope."""
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        body = await _body(receive)
        if path.endswith("/render"):
            await self._render(send, path, json.loads(body))
        elif scope["method"] == "POST":
            await self._generate(json.loads(body), receive, send)
        elif path == "/metrics":
            await _answer(send, self.metrics().encode(), b"text/plain")
        else:
            await _answer(send, b'{"object":"list","data":[{"id":"m","max_model_len":1000000}]}')

    def metrics(self) -> str:
        """The names that the gate reads, in Prometheus' text format."""
        return (
            f"process_start_time_seconds {self._started}\n"
            f'vllm:cache_config_info{{engine="0",num_gpu_blocks="{self._blocks + 1}",'
            f'block_size="{self._block_tokens}",cache_dtype="fp8",enable_prefix_caching="True"}} 1.0\n'
            f'vllm:num_requests_running{{engine="0"}} {self._running}\n'
            f'vllm:num_preemptions_total{{engine="0"}} 0\n'
            f'vllm:inter_token_latency_seconds_sum{{engine="0"}} {self._token_seconds}\n'
            f'vllm:inter_token_latency_seconds_count{{engine="0"}} {self._tokens}\n'
            f'vllm:kv_cache_usage_perc{{engine="0"}} 0\n'
        )

    async def _render(self, send: Send, path: str, body: dict[str, Any]) -> None:
        tokens = len(json.dumps(body.get("messages") or body.get("prompt") or body.get("input"))) // 4
        made: Any = {"token_ids": [1] * tokens, "sampling_params": {"max_tokens": body.get("max_tokens")}}
        await _answer(send, json.dumps([made] if path == "/v1/completions/render" else made).encode())

    async def _generate(self, body: dict[str, Any], receive: Receive, send: Send) -> None:
        self._running += 1
        self._told("began")
        word = "left"
        writing = asyncio.ensure_future(self._write(body, send))
        leaving = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                await writing
                word = "served"
        finally:
            self._running -= 1
            self._told(word)
            writing.cancel()
            leaving.cancel()

    async def _write(self, body: dict[str, Any], send: Send) -> None:
        tokens, pace = int(body.get("max_tokens") or 16), float(body.get(PACE_FIELD, 0))
        usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
        if pace < 0:
            await asyncio.Event().wait()
        if not body.get("stream"):
            await asyncio.sleep(pace * tokens)
            await _answer(send, json.dumps({"object": "chat.completion", "usage": usage}).encode())
            return
        head = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        due = time.monotonic()
        for _ in range(tokens):
            due += pace
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self._tokens += 1
            self._token_seconds += pace
            await send({"type": "http.response.body", "body": event(time.monotonic_ns()), "more_body": True})
        last = b'data: {"choices":[],"usage":' + json.dumps(usage).encode() + b"}\n\ndata: [DONE]\n\n"
        await send({"type": "http.response.body", "body": last, "more_body": False})


def event(now_nanoseconds: int) -> bytes:
    """A token's event, as long as vLLM's, with the time at which it was written."""
    return (
        b'data: {"id":"chatcmpl-9f1c2d3e4b5a69788796a5b4c3d2e1f0","object":"chat.completion.chunk",'
        b'"created":1764500000,"model":"m","choices":[{"index":0,"delta":{"content":" token"},'
        b'"logprobs":null,"finish_reason":null,"token_ids":null}],"sent_ns":%d}\n\n' % now_nanoseconds
    )


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body


async def _answer(send: Send, body: bytes, kind: bytes = b"application/json") -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")  # noqa: TID251  a program of its own
    sys.stdout.flush()  # noqa: TID251


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m serving.bench.fake")
    parser.add_argument("--port", type=int, default=0, help="where to listen on loopback; 0 for any")
    parser.add_argument("--blocks", type=int, default=1_000_000, help="of KV cache")
    parser.add_argument("--block-tokens", type=int, default=16, help="in each of them")
    parser.add_argument("--tell", action="store_true", help="print a line as each request begins and ends")
    args = parser.parse_args()
    # Named, or asyncio does not turn Nagle's algorithm off for connections that are accepted.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", args.port))
    listening.listen(1024)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    engine = FakeEngine(args.blocks, args.block_tokens, *([_print] if args.tell else []))
    config = uvicorn.Config(
        engine, http="httptools", lifespan="off", log_level="error",
        access_log=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    _print(json.dumps({"listening": url}))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.run([listening])


if __name__ == "__main__":
    main()
