# /// script
# requires-python = ">=3.11"
# dependencies = ["crewai>=1.15.30,<2", "crewai-tools[mcp]>=1.15.30,<2"]
# ///
"""CrewAI: one server for the whole run."""

from __future__ import annotations

from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai_tools import MCPServerAdapter
from mcp import StdioServerParameters
from scripted import LOG, TASK, Call, decide


class Scripted(BaseLLM):
    """Answers from the script. A real model: leave this class out and name it below."""

    prefix: str = ""

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        results = [message["content"] for message in messages if message["role"] == "tool"]
        step = decide(results)
        if not isinstance(step, Call):
            return step
        return [
            {
                "id": f"call_{len(results)}",
                "type": "function",
                "function": {"name": self.prefix + step.name, "arguments": step.arguments},
            }
        ]

    def supports_function_calling(self) -> bool:
        return True

    def get_context_window_size(self) -> int:
        return 200_000


def main() -> None:
    """Let the agent find out why the tests failed."""
    server = StdioServerParameters(command="mcp-offload", args=["serve", "--root", str(LOG.parent)])
    model = Scripted(model="scripted")  # a real one: LLM("openai/gpt-5.1")
    with MCPServerAdapter(server, connect_timeout=60) as tools:
        print("tools:", *[tool.name for tool in tools])
        agent = Agent(role="debugger", goal="find out", backstory="patient", tools=list(tools), llm=model)
        task = Task(description=TASK, expected_output="the first failure", agent=agent)
        print(Crew(agents=[agent], tasks=[task]).kickoff().raw)


if __name__ == "__main__":
    main()
