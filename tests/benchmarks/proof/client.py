"""An agent's loop, as every framework has one: ask the model, run the tools it calls, ask again."""

from __future__ import annotations

import json
from typing import Any

import aiohttp

from tests.benchmarks.proof.model import CHAT
from tests.benchmarks.replay.systems import Tools


class EndpointRefused(Exception):
    """The endpoint answered with an error; the message is its own."""


async def converse(url: str, tools: Tools, system: str, question: str, session: str) -> None:
    """Go on until the model answers without calling a tool.

    Raises:
        EndpointRefused: by an error of the endpoint's.
    """
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"{system}\n\n{tools.definitions.split(chr(10) + '{')[0]}"},
        {"role": "user", "content": question},
    ]
    functions = [
        {
            "type": "function",
            "function": {
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["input_schema"],
            },
        }
        for tool in tools.listed
    ]
    body = {"model": "m", "messages": messages, "tools": functions, "max_tokens": 4096, "temperature": 0}
    timeout = aiohttp.ClientTimeout(total=3600)
    async with aiohttp.ClientSession(timeout=timeout, headers={"x-session-id": session}) as http:
        while True:
            async with http.post(url + CHAT, json=body) as answer:
                told = await answer.json()
            if answer.status != 200:
                raise EndpointRefused(f"{answer.status}: {json.dumps(told)[:600]}")
            message = told["choices"][0]["message"]
            messages.append(
                {name: message[name] for name in ("role", "content", "tool_calls") if name in message}
            )
            if not message.get("tool_calls"):
                return
            for call in message["tool_calls"]:
                function = call["function"]
                text = await tools.call(function["name"], json.loads(function["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
