# /// script
# requires-python = ">=3.11"
# dependencies = ["llama-index-core>=0.14.25,<0.15", "llama-index-tools-mcp>=0.6,<0.7"]
# ///
"""LlamaIndex: a server process for each call, which the session holds together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from scripted import LOG, TASK, Call, decide


def scripted(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Answers from the script. A real model: leave this function out and name it below."""
    results = [message.content or "" for message in messages if message.role == MessageRole.TOOL]
    step = decide(results)
    if isinstance(step, Call):
        call = ToolCallBlock(
            tool_call_id=f"call_{len(results)}", tool_name=step.name, tool_kwargs=step.arguments
        )
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=[call])
    return ChatMessage(role=MessageRole.ASSISTANT, content=step)


class TextClient(BasicMCPClient):
    """Shows a model the text of results, and errors as errors; of itself LlamaIndex shows their repr."""

    async def call_tool(self, *arguments: Any, **options: Any) -> Any:
        result = await super().call_tool(*arguments, **options)
        text = result.content[0].text
        if result.is_error:
            raise ValueError(text)
        return text


async def main() -> None:
    """Let the agent find out why the tests failed."""
    client = TextClient(
        "mcp-offload", args=["serve", "--root", str(LOG.parent), "--session", uuid4().hex], timeout=60
    )
    tools = await McpToolSpec(client).to_tool_list_async()
    print("tools:", *[tool.metadata.name for tool in tools])
    model = MockFunctionCallingLLM(response_generator=scripted)  # a real one: OpenAI("gpt-5.1")
    agent = FunctionAgent(tools=tools, llm=model)
    print(await agent.run(TASK))


if __name__ == "__main__":
    asyncio.run(main())
