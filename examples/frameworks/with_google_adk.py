# /// script
# requires-python = ">=3.11"
# dependencies = ["google-adk[mcp]>=2.13,<3"]
# ///
"""Google ADK: one server for the whole run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.genai.types import Content, Part
from mcp import StdioServerParameters
from scripted import LOG, TASK, Call, decide


class Scripted(BaseLlm):
    """Answers from the script. A real model: leave this class out, set GOOGLE_API_KEY and name it below."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        answers: list[Any] = [part.function_response.response for part in parts if part.function_response]
        if not answers:
            print("tools:", *llm_request.tools_dict)
        step = decide([answer["content"][0]["text"] for answer in answers])
        if isinstance(step, Call):
            part = Part.from_function_call(name=step.name, args=step.arguments)
        else:
            part = Part(text=step)
        yield LlmResponse(content=Content(role="model", parts=[part]))


async def main() -> None:
    """Let the agent find out why the tests failed."""
    server = StdioServerParameters(command="mcp-offload", args=["serve", "--root", str(LOG.parent)])
    tools = McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=60))
    agent = LlmAgent(name="debugger", model=Scripted(model="scripted"), tools=[tools])  # "gemini-3-pro"
    async with InMemoryRunner(agent=agent) as runner:  # closes the toolset, which ends the server
        for event in await runner.run_debug(TASK, quiet=True):
            if event.is_final_response():
                print(event.content.parts[0].text)


if __name__ == "__main__":
    asyncio.run(main())
