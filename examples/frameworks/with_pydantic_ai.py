# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-ai-slim[mcp]>=2.68,<3"]
# ///
"""Pydantic AI: one server for the whole run."""

from __future__ import annotations

import asyncio

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted import LOG, TASK, Call, decide


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answers from the script. A real model: leave this function out and name it below."""
    if len(messages) == 1:
        print("tools:", *[tool.name for tool in info.function_tools])
    results = [
        part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart | RetryPromptPart)
    ]
    step = decide(results)
    if isinstance(step, Call):
        return ModelResponse(parts=[ToolCallPart(step.name, step.arguments)])
    return ModelResponse(parts=[TextPart(step)])


async def main() -> None:
    """Let the agent find out why the tests failed."""
    server = StdioTransport("mcp-offload", ["serve", "--root", str(LOG.parent)], keep_alive=False)
    toolset = MCPToolset(server, init_timeout=30, read_timeout=60, tool_error_behavior="failed")
    agent = Agent(FunctionModel(scripted), toolsets=[toolset])  # a real one: Agent("openai:gpt-5.1", ...)
    async with agent:
        print((await agent.run(TASK)).output)


if __name__ == "__main__":
    asyncio.run(main())
