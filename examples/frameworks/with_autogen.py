# /// script
# requires-python = ">=3.11"
# dependencies = ["autogen-agentchat>=0.7.5,<0.8", "autogen-ext[mcp]>=0.7.5,<0.8", "mcp<2"]
# ///
"""AutoGen: one server for the whole run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, FunctionExecutionResultMessage, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams
from scripted import LOG, TASK, Call, decide


class Scripted(ReplayChatCompletionClient):
    """Answers from the script. A real model: leave this class out and name its client below."""

    async def create(self, messages: Sequence[Any], *_: Any, **__: Any) -> CreateResult:
        executed = [message for message in messages if isinstance(message, FunctionExecutionResultMessage)]
        results = [result.content for message in executed for result in message.content]
        step = decide(results)
        content: Any = step
        if isinstance(step, Call):
            call_id = f"call_{len(results)}"
            content = [FunctionCall(call_id, name=step.name, arguments=json.dumps(step.arguments))]
        return CreateResult(
            finish_reason="function_calls" if isinstance(step, Call) else "stop",
            content=content,
            usage=RequestUsage(0, 0),
            cached=False,
        )


async def main() -> None:
    """Let the agent find out why the tests failed."""
    server = StdioServerParams(
        command="mcp-offload", args=["serve", "--root", str(LOG.parent)], read_timeout_seconds=60
    )
    async with McpWorkbench(server) as workbench:
        print("tools:", *[tool["name"] for tool in await workbench.list_tools()])
        agent = AssistantAgent(
            "debugger",
            model_client=Scripted(
                [],
                model_info={
                    "vision": False,
                    "function_calling": True,
                    "json_output": False,
                    "family": "scripted",
                    "structured_output": False,
                },
            ),
            workbench=workbench,
            max_tool_iterations=20,
            reflect_on_tool_use=False,
        )
        done = await agent.run(task=TASK)
        print(done.messages[-1].content)


if __name__ == "__main__":
    asyncio.run(main())
