"""The reverse proxy over real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import uvicorn

from serving.gateway.forward import Forward
from tests.unit.serving.driving import ask, chat, run, send, until
from tests.unit.serving.engine import FakeEngine, events

CHAT = "/v1/chat/completions"


@asynccontextmanager
async def listening(app: Any) -> AsyncGenerator[str]:
    """Serve an application on loopback."""
    bound = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, http="httptools", lifespan="on", log_level="error"))
    task = asyncio.ensure_future(server.serve([bound]))
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        bound.close()


def test_bytes_statuses_and_headers_pass_both_ways() -> None:
    async def work() -> None:
        engine = FakeEngine()
        async with listening(engine) as url:
            forward = Forward(url + "/", engine_key="engine-secret")
            answer = await ask(forward, CHAT, chat(stream=True), authorization="Bearer client", x_trace="t1")
            assert answer.status == 200
            assert answer.body == b"".join(events())
            assert answer.headers["content-type"] == "text/event-stream"
            (sent,) = engine.headers
            assert (sent["authorization"], sent["x-trace"]) == ("Bearer engine-secret", "t1")
            assert engine.requests == [chat(stream=True)]
            engine.answer_status = 422
            assert (await ask(forward, CHAT, chat())).status == 422
            await forward.close()

    run(work())


def test_a_client_that_leaves_ends_the_engines_request() -> None:
    async def work() -> None:
        engine = FakeEngine(hold=asyncio.Event())
        async with listening(engine) as url:
            forward = Forward(url)
            exchange, task = send(forward, CHAT, chat())
            await engine.began.wait()
            exchange.gone.set()
            await task
            await engine.idle.wait()
            assert engine.left == 1
            await forward.close()

    run(work())


def test_an_engine_that_is_not_there_is_said_to_be() -> None:
    async def work() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            forward = Forward(f"http://127.0.0.1:{unused.getsockname()[1]}")
            answer = await ask(forward, "/v1/messages", chat())
        assert answer.status == 502
        told = answer.json()
        assert told["type"] == "error"
        assert "cannot be reached" in told["error"]["message"]
        await forward.close()

    run(work())


def test_a_body_in_pieces_is_streamed() -> None:
    async def work() -> None:
        engine = FakeEngine()
        async with (
            listening(engine) as url,
            listening(Forward(url)) as gate,
            aiohttp.ClientSession() as client,
        ):

            async def pieces() -> AsyncGenerator[bytes]:
                yield b'{"model": "m", '
                yield b'"messages": []}'

            async with client.post(gate + CHAT, data=pieces()) as answer:
                assert answer.status == 200
        assert engine.requests == [{"model": "m", "messages": []}]

    run(work())


def test_many_streams_at_once_keep_their_bytes() -> None:
    async def work() -> None:
        engine = FakeEngine()
        async with listening(engine) as url:
            forward = Forward(url)
            exchanges = [send(forward, CHAT, chat(stream=True)) for _ in range(64)]
            await asyncio.gather(*(task for _, task in exchanges))
            assert all(exchange.body == b"".join(events()) for exchange, _ in exchanges)
            await until(lambda: engine.running == 0)
            await forward.close()

    run(work())
