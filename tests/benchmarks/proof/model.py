"""A model that follows a script, behind an OpenAI-compatible endpoint, and sees what it is sent and no more.

A request comes from an agent or from a gate in front of this. It goes on to an engine, which computes the
prompt and one token; then the script says the next turn. So the client, the gate and the engine do all they
would do for a real model, and only the wording of the answers is not the engine's.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from tests.benchmarks.replay.agent import Agent, NotFound, Undelivered

CHAT = "/v1/chat/completions"
_WORD = re.compile(r"\w+")
_HOP = ("host", "content-length", "transfer-encoding", "connection")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as the engine counted it: its tokens, those that its prefix cache held, and the time."""

    tokens: int
    cached_tokens: int
    seconds: float


class Gone(Exception):
    """The agent's client has ended, so that no further prompt comes."""


@dataclass
class ScriptedModel:
    """The endpoint. ``salt`` keeps what one conversation left in the engine's cache from the next.

    Attributes:
        visible: all text of the newest prompt but the definitions of tools.
        prompts: what the engine said of each.
    """

    engine: str
    salt: str
    visible: str = ""
    prompts: list[Prompt] = field(default_factory=list)
    _messages: list[dict[str, Any]] = field(default_factory=list)
    _arrived: asyncio.Queue[None] = field(default_factory=asyncio.Queue)
    _replies: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[str]:
        """Serve on a port of its own; the address."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post(CHAT, self._chat)
        app.router.add_route("*", "/{path:.*}", self._pass)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            yield f"http://{host}:{port}"
        finally:
            await runner.cleanup()

    async def prompt(self, client: asyncio.Task[None]) -> None:
        """Wait for the next prompt.

        Raises:
            Gone: the client ended instead, with an error or because it was told the answer.
        """
        arrived = asyncio.ensure_future(self._arrived.get())
        await asyncio.wait({arrived, client}, return_when=asyncio.FIRST_COMPLETED)
        if not arrived.done():
            arrived.cancel()
            raise Gone(str(client.exception()) if client.done() and client.exception() else "it ended")

    def say(self, text: str, tool: str | None = None, arguments: dict[str, Any] | None = None) -> None:
        """Answer the prompt that waits: with a text, and a call of a tool where one is named."""
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if tool is not None:
            function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
            message["tool_calls"] = [
                {"id": f"call_{len(self.prompts)}", "type": "function", "function": function}
            ]
        self._replies.put_nowait(message)

    def result(self) -> str:
        """The text of the newest tool result, as it stands in the prompt."""
        return _text(next(one for one in reversed(self._messages) if one["role"] == "tool")["content"])

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        usage = await self._compute(body, request.headers.get("authorization"))
        self._messages = body["messages"]
        self.visible = "\n".join(map(_shown, self._messages))
        self._arrived.put_nowait(None)
        message = await self._replies.get()
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        head = {"id": f"chatcmpl-{len(self.prompts)}", "object": "chat.completion", "created": 0}
        return web.json_response({**head, "model": body["model"], "choices": [choice], "usage": usage})

    async def _compute(self, body: dict[str, Any], authorization: str | None) -> dict[str, Any]:
        asked = {**body, "max_tokens": 1, "stream": False, "cache_salt": self.salt, "tool_choice": "none"}
        asked.pop("max_completion_tokens", None)
        headers = {"authorization": authorization} if authorization else {}
        began = time.perf_counter()
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=1800)) as session,
            session.post(self.engine + CHAT, json=asked, headers=headers) as answer,
        ):
            told = await answer.json()
        if "usage" not in told:
            raise web.HTTPBadRequest(text=json.dumps(told), content_type="application/json")
        usage = told["usage"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        self.prompts.append(Prompt(usage["prompt_tokens"], cached, time.perf_counter() - began))
        return usage

    async def _pass(self, request: web.Request) -> web.Response:
        """Whatever else is asked goes to the engine as it is."""
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method, self.engine + request.path_qs, data=await request.read(), headers=headers
            ) as answer,
        ):
            kept = {"content-type": answer.headers.get("content-type", "application/json")}
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)


@dataclass
class Seeing(Agent):
    """An agent that knows what stands in its newest prompt, and nothing that was in an earlier one."""

    model: ScriptedModel | None = None

    async def call(self, tool: str, **arguments: Any) -> str:
        """As :meth:`Agent.call`; what it knows afterwards is what the next prompt holds."""
        text = await super().call(tool, **arguments)
        assert self.model is not None
        self._words = {*self.known, *_WORD.findall(f"{self.definitions}\n{self.model.visible}")}
        return text

    def find_all(self, pattern: str, text: str) -> list[str]:
        """As :meth:`Agent.find_all`, in a text that the newest prompt holds."""
        assert self.model is not None
        if text not in self.model.visible:
            raise Undelivered(f"the text {text[:60]!r} is not in the prompt any more")
        self._check(pattern, "a pattern")
        found = [match.group(1) for match in re.finditer(pattern, text)]
        if not found:
            raise NotFound(f"{pattern!r} in {text[:200]!r}")
        return found

    def answer(self, *answers: str) -> None:
        """As :meth:`Agent.answer`, of what the newest prompt holds."""
        assert self.model is not None
        for answer in answers:
            if not answer or answer not in self.model.visible:
                raise Undelivered(f"the prompt does not hold the answer {answer!r}")
        super().answer(*answers)


def _shown(message: dict[str, Any]) -> str:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    said = [f"{call['name']} {_unescaped(call['arguments'])}" for call in calls]
    return "\n".join([_text(message.get("content")), *said])


def _unescaped(arguments: str) -> str:
    """A call's arguments as a model reads them, which knows what an escape in JSON stands for."""
    return json.dumps(json.loads(arguments), ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""
