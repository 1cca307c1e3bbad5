"""An engine that does what it is told: for failures that a real one cannot be asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

USAGE = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}


@dataclass
class FakeEngine:
    """Speaks vLLM's interface; every token of a prompt is one character of its messages' text."""

    blocks: int = 101
    block_tokens: int = 16
    ranks: int = 1
    preemptions: int = 0
    started: float = 1000.0
    metrics_status: int = 200
    render_status: int = 200
    answer_status: int = 200
    max_model_len: int = 4096
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    running: int = 0
    most: int = 0
    left: int = 0
    hold: asyncio.Event | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    chunks: list[bytes] | None = None

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Any
    ) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": message["type"] + ".complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        path = scope["path"]
        if path == "/metrics":
            await self._answer(send, self.metrics_status, self.metrics().encode(), b"text/plain")
        elif path.endswith("/render"):
            await self._render(send, path, json.loads(body))
        elif path in {"/tokenize", "/v1/messages/count_tokens"}:
            count = len(_text(json.loads(body)))
            told = {"count": count} if path == "/tokenize" else {"input_tokens": count}
            await self._answer(send, 200, json.dumps(told).encode())
        elif scope["method"] == "POST":
            self.headers.append({k.decode(): v.decode() for k, v in scope["headers"]})
            await self._generate(send, receive, json.loads(body) if body else {})
        else:
            await self._answer(
                send, 200, b'{"object":"list","data":[{"id":"m","max_model_len":%d}]}' % self.max_model_len
            )

    def metrics(self) -> str:
        lines = [f"process_start_time_seconds {self.started}"]
        for rank in range(self.ranks):
            lines += [
                f'vllm:cache_config_info{{engine="{rank}",num_gpu_blocks="{self.blocks}",'
                f'block_size="{self.block_tokens}",cache_dtype="fp8",enable_prefix_caching="True"}} 1.0',
                f'vllm:num_preemptions_total{{engine="{rank}"}} {self.preemptions}',
                f'vllm:kv_cache_usage_perc{{engine="{rank}"}} 0.25',
                f'vllm:inter_token_latency_seconds_bucket{{engine="{rank}",le="0.1"}} 3',
            ]
        return "\n".join(lines) + "\n"

    async def _render(self, send: Any, path: str, body: dict[str, Any]) -> None:
        if self.render_status != 200:
            await self._answer(send, self.render_status, b'{"error":{"message":"no"}}')
            return
        text = _text(body)
        limit = body.get("max_tokens") or self.max_model_len - len(text)
        made: Any = {"token_ids": [1] * len(text), "sampling_params": {"max_tokens": limit}}
        await self._answer(
            send, 200, json.dumps([made] if path == "/v1/completions/render" else made).encode()
        )

    async def _generate(self, send: Any, receive: Any, body: dict[str, Any]) -> None:
        self.requests.append(body)
        self.running += 1
        self.most = max(self.most, self.running)
        self.began.set()
        self.idle.clear()
        leaving = asyncio.ensure_future(receive())
        holding = asyncio.ensure_future(self.hold.wait() if self.hold else asyncio.sleep(0))
        try:
            await asyncio.wait({leaving, holding}, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                self.left += 1
                return
            if self.answer_status != 200:
                await self._answer(send, self.answer_status, b'{"error":{"message":"the engine says no"}}')
            elif body.get("stream"):
                await self._stream(send)
            else:
                await self._answer(send, 200, json.dumps({"choices": [], "usage": USAGE}).encode())
        except asyncio.CancelledError:
            self.left += 1
            raise
        finally:
            self.running -= 1
            if not self.running:
                self.idle.set()
            for task in (leaving, holding):
                task.cancel()
            await asyncio.gather(leaving, holding, return_exceptions=True)

    async def _stream(self, send: Any) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
        )
        for chunk in self.chunks or events():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _answer(self, send: Any, status: int, body: bytes, kind: bytes = b"application/json") -> None:
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def events() -> list[bytes]:
    """Three tokens and the usage, as vLLM streams them."""
    tokens = [b'data: {"choices":[{"delta":{"content":"%d"}}]}\n\n' % i for i in range(3)]
    return [
        *tokens,
        b'data: {"choices":[],"usage":' + json.dumps(USAGE).encode() + b"}\n\n",
        b"data: [DONE]\n\n",
    ]


def _text(body: dict[str, Any]) -> str:
    return body.get("prompt") or body.get("input") or "".join(str(m["content"]) for m in body["messages"])
