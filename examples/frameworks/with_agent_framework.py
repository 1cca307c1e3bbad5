# /// script
# requires-python = ">=3.11"
# dependencies = ["agent-framework-core>=1.23,<2", "mcp>=2.3,<3", "tenacity>=9"]
# ///
"""Microsoft Agent Framework: one server for the whole run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, MCPStdioTool, Message
from agent_framework import FunctionInvocationLayer as CallsTools
from scripted import LOG, TASK, Call, decide


class Scripted(CallsTools, BaseChatClient):
    """Answers from the script. A real model: leave this class out and name its client below."""

    async def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> ChatResponse:
        contents = [content for message in messages for content in message.contents]
        results = [str(content.result) for content in contents if content.type == "function_result"]
        step = decide(results)
        if isinstance(step, Call):
            content = Content.from_function_call(f"call_{len(results)}", step.name, arguments=step.arguments)
        else:
            content = Content.from_text(step)
        return ChatResponse(messages=[Message(role="assistant", contents=[content])])


async def main() -> None:
    """Let the agent find out why the tests failed."""
    server = MCPStdioTool(
        name="offload",
        command="mcp-offload",
        args=["serve", "--root", str(LOG.parent)],
        load_prompts=False,  # they would be offered as tools
        request_timeout=60,
    )
    # A real one: OpenAIChatClient(model="gpt-5.1", ...). Without the setting all that a model is told of an
    # error is that there was one.
    client = Scripted(function_invocation_configuration={"include_detailed_errors": True})
    async with server, Agent(client=client, tools=server) as agent:
        print("tools:", *[function.name for function in server.functions])
        print(await agent.run(TASK))


if __name__ == "__main__":
    asyncio.run(main())
