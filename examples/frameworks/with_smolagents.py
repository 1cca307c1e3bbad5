# /// script
# requires-python = ">=3.11"
# dependencies = ["smolagents[mcp]>=1.26,<2", "mcp<2"]
# ///
"""smolagents: one server for the whole run."""

from __future__ import annotations

from typing import Any

from mcp import StdioServerParameters
from scripted import LOG, TASK, Call, decide
from smolagents import MCPClient, Model, ToolCallingAgent
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
)


class Scripted(Model):
    """Answers from the script. A real model: leave this class out and name it below."""

    def generate(self, messages: list[ChatMessage], *_: Any, **__: Any) -> ChatMessage:
        results = [
            message.content[0]["text"] for message in messages if message.role == MessageRole.TOOL_RESPONSE
        ]
        step = decide(results)
        call = step if isinstance(step, Call) else Call("final_answer", {"answer": step})
        function = ChatMessageToolCallFunction(name=call.name, arguments=call.arguments)
        wanted = ChatMessageToolCall(function=function, id=f"call_{len(results)}", type="function")
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[wanted])


def main() -> None:
    """Let the agent find out why the tests failed."""
    server = StdioServerParameters(command="mcp-offload", args=["serve", "--root", str(LOG.parent)])
    with MCPClient(server, adapter_kwargs={"connect_timeout": 60}, structured_output=False) as tools:
        print("tools:", *[tool.name for tool in tools])
        for tool in tools:
            for parameter in tool.inputs.values():
                parameter["nullable"] = True  # else the agent demands every parameter, optional ones too
        model = Scripted()  # a real one: InferenceClientModel("Qwen/Qwen3-Coder-480B-A35B-Instruct")
        agent = ToolCallingAgent(tools, model, verbosity_level=0)
        print(agent.run(TASK))


if __name__ == "__main__":
    main()
