# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain>=1.2,<2", "langchain-mcp-adapters>=0.3.2,<0.4"]
# ///
"""langchain-mcp-adapters: a server process for each call, which the session holds together."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
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
    client = MultiServerMCPClient(
        {
            "offload": {
                "transport": "stdio",
                "command": "mcp-offload",
                "args": ["serve", "--root", str(LOG.parent), "--session", uuid4().hex],
            }
        }
    )
    tools = await client.get_tools()
    print("tools:", *[tool.name for tool in tools])
    agent = create_agent(Scripted(), tools)  # a real one: create_agent("openai:gpt-5.1", tools)
    done = await agent.ainvoke({"messages": [("user", TASK)]})
    print(done["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
