# /// script
# requires-python = ">=3.11"
# dependencies = ["strands-agents>=1.62,<2"]
# ///
"""Strands Agents: one server for the whole run."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from mcp import StdioServerParameters, stdio_client
from scripted import LOG, TASK, Call, decide
from strands import Agent
from strands.models import Model
from strands.tools.mcp import MCPClient


class Scripted(Model):
    """Answers from the script. A real model: leave this class out and name it below."""

    async def stream(
        self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any
    ) -> AsyncGenerator[Any, None]:
        blocks = [block for message in messages for block in message["content"]]
        results = [block["toolResult"]["content"][0]["text"] for block in blocks if "toolResult" in block]
        if not results:
            print("tools:", *[spec["name"] for spec in tool_specs])
        step = decide(results)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(step, Call):
            call = {"toolUse": {"toolUseId": f"call_{len(results)}", "name": step.name}}
            yield {"contentBlockStart": {"start": call}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(step.arguments)}}}}
        else:
            yield {"contentBlockDelta": {"delta": {"text": step}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if isinstance(step, Call) else "end_turn"}}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        raise NotImplementedError("the example asks for no structured output")
        yield

    def get_config(self) -> dict[str, Any]:
        return {}

    def update_config(self, **_: Any) -> None:
        return None


def main() -> None:
    """Let the agent find out why the tests failed."""
    server = StdioServerParameters(command="mcp-offload", args=["serve", "--root", str(LOG.parent)])
    with MCPClient(lambda: stdio_client(server)) as client:
        agent = Agent(
            model=Scripted(),  # a real one: model="us.anthropic.claude-sonnet-4-6", or OpenAIModel(...)
            tools=client.list_tools_sync(),
            callback_handler=None,
        )
        print(agent(TASK))


if __name__ == "__main__":
    main()
