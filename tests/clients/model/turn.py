"""One request to the model, whatever its dialect, and what a script answers to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]

SEARCHES = ("ToolSearch", "tool_search")
"""The tools by which clients load the definitions of others; they are no steps of a script."""


@dataclass(frozen=True)
class Tool:
    """A definition as the model gets it; ``namespace`` is that of OpenAI's responses, else empty."""

    name: str
    description: str
    schema: Body
    namespace: str = ""


@dataclass(frozen=True)
class Call:
    """A call that the model made earlier in the conversation."""

    id: str
    name: str
    arguments: Body


@dataclass(frozen=True)
class Result:
    """What the model is told of a call."""

    id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Turn:
    """A request to the model.

    Attributes:
        dialect: ``messages``, ``responses``, ``chat`` or ``gemini``.
        system: the system prompt's text.
        body: the request as it came.
    """

    dialect: str
    body: Body
    tools: tuple[Tool, ...]
    calls: tuple[Call, ...]
    results: tuple[Result, ...]
    system: str

    @property
    def steps(self) -> int:
        """How many steps of a script were taken."""
        return sum(call.name not in SEARCHES for call in self.calls)

    def tool(self, wanted: str) -> Tool | None:
        """The tool of that name, or whose name ends with it behind a sign that is no letter."""
        for tool in self.tools:
            head = tool.name.removesuffix(wanted)
            if tool.name.endswith(wanted) and not head[-1:].isalpha():
                return tool
        return None

    def result(self, number: int) -> Result:
        """What came of the script's step ``number``, from 0."""
        calls = [call for call in self.calls if call.name not in SEARCHES]
        return next(result for result in self.results if result.id == calls[number].id)

    def holds(self, text: str) -> bool:
        """True where the request holds ``text`` anywhere, as JSON writes it."""
        return json.dumps(text, ensure_ascii=False)[1:-1] in json.dumps(self.body, ensure_ascii=False)


@dataclass(frozen=True)
class Step:
    """A tool to call: one of several names, since clients name theirs differently, and its arguments.

    Attributes:
        arguments: or what makes them of the turn, such as a handle out of an earlier result.
    """

    names: tuple[str, ...]
    arguments: Body | Callable[[Turn], Body]

    def arguments_for(self, turn: Turn) -> Body:
        """What to call the tool with."""
        return self.arguments(turn) if callable(self.arguments) else self.arguments


@dataclass(frozen=True)
class Answer:
    """A text, or a call of ``tool``."""

    text: str = "done"
    tool: Tool | None = None
    arguments: Body | None = None


def answer(turn: Turn, script: Sequence[Step]) -> Answer:
    """The script's next call; where the client hides the tool, a search for it; at the end a text."""
    if not turn.tools or turn.steps >= len(script):
        return Answer()
    step = script[turn.steps]
    for name in step.names:
        if tool := turn.tool(name):
            return Answer(tool=tool, arguments=step.arguments_for(turn))
    query = {"query": f"select:mcp__offload__{step.names[0]}"}
    searched = any(call.name in SEARCHES and call.arguments == query for call in turn.calls)
    search = next((tool for tool in turn.tools if tool.name in SEARCHES), None)
    if search and not searched:
        return Answer(tool=search, arguments=query)
    return Answer(text=f"there is no tool named {' or '.join(step.names)}")


def text_of(content: object) -> str:
    """The text of a message's content, whichever of the dialects' shapes it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        for key in ("text", "content", "parts", "output"):
            if key in content:
                return text_of(content[key])
        return json.dumps(content, ensure_ascii=False)
    return "" if content is None else str(content)
