# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents>=0.24,<0.25"]
# ///
"""OpenAI Agents SDK: one server for the whole run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from scripted import LOG, TASK, Call, decide


class Scripted(Model):
    """Answers from the script. A real model: leave this class out, set OPENAI_API_KEY and name it below."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        outputs = [item["output"] for item in input if item.get("type") == "function_call_output"]
        results = [output if isinstance(output, str) else output[0]["text"] for output in outputs]
        step = decide(results)
        if isinstance(step, Call):
            item = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call_{len(results)}",
                name=step.name,
                arguments=json.dumps(step.arguments),
            )
        else:
            text = ResponseOutputText(type="output_text", text=step, annotations=[])
            item = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("the example does not stream")


async def main() -> None:
    """Let the agent find out why the tests failed."""
    async with MCPServerStdio(
        {"command": "mcp-offload", "args": ["serve", "--root", str(LOG.parent)]},
        cache_tools_list=True,
        client_session_timeout_seconds=60,  # a call may take longer than the default of 5
    ) as server:
        print("tools:", *[tool.name for tool in await server.list_tools()])
        agent = Agent("debugger", mcp_servers=[server], model=Scripted())  # a real one: model="gpt-5.1"
        done = await Runner.run(agent, TASK, run_config=RunConfig(tracing_disabled=True))
        print(done.final_output)


if __name__ == "__main__":
    asyncio.run(main())
