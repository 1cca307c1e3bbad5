# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain[mcp]>=1.5.2,<1.6"]
# ///
"""LangChain with its own adapter: one server for the whole run."""

from __future__ import annotations

import asyncio
from typing import Any

from fastmcp.client.transports import StdioTransport
from langchain.agents import create_agent
from langchain.mcp import MCPAdapter
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from scripted import LOG, TASK, Call, decide


class Scripted(BaseChatModel):
    """Answers from the script. A real model: leave this class out and name it below."""

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        step = decide(results)
        if isinstance(step, Call):
            call = {"name": step.name, "args": step.arguments, "id": f"call_{len(results)}"}
            message = AIMessage("", tool_calls=[call])
        else:
            message = AIMessage(step)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


async def main() -> None:
    """Let the agent find out why the tests failed."""
    server = StdioTransport("mcp-offload", ["serve", "--root", str(LOG.parent)], keep_alive=False)
    async with MCPAdapter(server) as adapter:
        tools = await adapter.list_tools()
        print("tools:", *[tool.name for tool in tools])
        agent = create_agent(Scripted(), tools)  # a real one: create_agent("openai:gpt-5.1", tools)
        done = await agent.ainvoke({"messages": [("user", TASK)]})
        print(done["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
