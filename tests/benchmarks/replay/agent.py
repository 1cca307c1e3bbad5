"""A scripted agent that may only use what it was told, and the rules it is held to.

An :class:`Agent` works on one task. What was *delivered* to it is the definitions of its tools, the question,
and the results of the calls it made for this task; results of earlier tasks do not count, though they fill
the same context. Everything it passes to a tool and everything it looks for in a text has to be made of
words that were delivered, or of the few that every model brings along (:data:`KNOWN`, and those of a
system); every answer has to occur in a result, as it stands. :class:`Undelivered` says that one does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_offload.tokens import TokenCounter

#: How much the agent wants to see: its choice, no knowledge of what is there.
AMOUNTS = frozenset({"max_tokens", "max_results", "limit", "page_size"})
#: What a model knows of programs and logs without being told.
KNOWN = frozenset({"def", "class", "return", "error", "Error", "ERROR", "FAILED", "failed"})
#: How far from a line that was delivered an agent may count: what stands around a hit.
NEAR_LINES = 20
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\.|\(\?[a-z]+\)")


class Undelivered(Exception):
    """The agent used something that nobody had told it."""


class NotFound(Exception):
    """A text does not hold what the agent looks for in it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question with known answers.

    Attributes:
        answers: each as it stands in what a right agent has read, in the order that the question asks for.
    """

    name: str
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, and the text of its result."""

    tool: str
    arguments: Mapping[str, Any]
    text: str

    def asked(self) -> str:
        """What a model writes to make the call."""
        return json.dumps({"name": self.tool, "arguments": self.arguments}, ensure_ascii=False)


#: Calls a tool with arguments, and returns the text of its result.
CallTool = Callable[[str, dict[str, Any]], Awaitable[str]]


@dataclass
class Agent:
    """What a script works with.

    Attributes:
        definitions: what was delivered before the question.
        known: words the agent brings along.
    """

    task: Task
    call_tool: CallTool
    definitions: str
    known: frozenset[str] = KNOWN
    calls: list[Call] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    answers: tuple[str, ...] = ()
    _words: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Before the first call the agent knows its tools and the question."""
        self._words |= {*self.known, *_WORD.findall(f"{self.definitions}\n{self.task.question}")}

    async def call(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's result.

        Raises:
            Undelivered: an argument holds a word that nobody told.
        """
        for name, value in arguments.items():
            if name not in AMOUNTS:
                for leaf in _leaves(value):
                    self._check(leaf, f"argument {name} of {tool}")
        text = await self.call_tool(tool, arguments)
        self.calls.append(Call(tool, arguments, text))
        self._words.update(_WORD.findall(text))
        return text

    def note(self, text: str) -> None:
        """Say something before the next call, which stays in the context whatever becomes of the results.

        Raises:
            Undelivered: it holds a word that nobody told.
        """
        self._check(text, "a note")
        self.notes.append(text)

    def find(self, pattern: str, text: str) -> str:
        """The first group of the first match of ``pattern`` in a text that was delivered.

        Raises:
            Undelivered: the text, or a word of the pattern, was not delivered.
            NotFound: nothing matches.
        """
        return self.find_all(pattern, text)[0]

    def find_all(self, pattern: str, text: str) -> list[str]:
        """As :meth:`find`, for all matches; there is at least one."""
        if not any(text in call.text for call in self.calls):
            raise Undelivered(f"the text {text[:60]!r} is no result")
        self._check(pattern, "a pattern")
        found = [match.group(1) for match in re.finditer(pattern, text)]
        if not found:
            raise NotFound(f"{pattern!r} in {text[:200]!r}")
        return found

    def near(self, number: str, offset: int) -> str:
        """A line a little above or below one that was delivered, which the agent may count by itself.

        Raises:
            Undelivered: the line was not delivered, or is too far away.
        """
        if f"L{number}" not in self._words:
            self._check(number, "a line")
        if abs(offset) > NEAR_LINES:
            raise Undelivered(f"{offset} lines from {number} is too far to count")
        counted = str(int(number) + offset)
        self._words |= {number, counted, f"L{counted}"}
        return counted

    def answer(self, *answers: str) -> None:
        """Give the answers of the task.

        Raises:
            Undelivered: one occurs in no result.
        """
        for answer in answers:
            if not answer or not any(answer in call.text for call in self.calls):
                raise Undelivered(f"no result holds the answer {answer!r}")
        self.answers = answers

    def _check(self, text: str, what: str) -> None:
        for word in _WORD.findall(_ESCAPE.sub(" ", text)):
            # One letter tells nothing, and is mostly syntax.
            if len(word) > 1 and word not in self._words:
                raise Undelivered(f"nobody told the word {word!r} in {what}: {text[:200]!r}")


#: Works on a task: calls tools, looks into results, answers.
Script = Callable[[Agent], Awaitable[None]]


def _leaves(value: Any) -> Iterator[str]:
    """The strings and numbers in an argument; a truth value tells nothing."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _leaves(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _leaves(inner)
    elif not isinstance(value, bool):
        yield str(value)


@dataclass(frozen=True)
class Outcome:
    """What became of one task.

    Attributes:
        failure: why it was not solved; empty where all answers are right.
        tokens: what the task added to the context: question, calls, results, answers.
        delivered_tokens: of them, those of results.
    """

    task: Task
    calls: tuple[Call, ...]
    found: int
    failure: str
    tokens: int
    delivered_tokens: int


async def work(agent: Agent, script: Script) -> str:
    """Run a script; why it failed, or nothing."""
    try:
        await script(agent)
    except (NotFound, Undelivered) as failure:
        return f"{type(failure).__name__}: {failure}"
    wrong = [(got, want) for got, want in zip(agent.answers, agent.task.answers, strict=False) if got != want]
    if wrong or len(agent.answers) != len(agent.task.answers):
        return f"answered {agent.answers!r}"
    return ""


def outcome(agent: Agent, failure: str, counter: TokenCounter) -> Outcome:
    """Measure what an agent did."""
    results = counter.count_many([call.text for call in agent.calls])
    asked = [call.asked() for call in agent.calls]
    said = counter.count_many([agent.task.question, *asked, *agent.notes, *agent.answers])
    right = sum(got == want for got, want in zip(agent.answers, agent.task.answers, strict=False))
    return Outcome(agent.task, tuple(agent.calls), right, failure, sum(results) + sum(said), sum(results))


async def dispensable(done: Outcome, script: Script, definitions: str, known: frozenset[str]) -> list[int]:
    """Which results of a solved task it could have done without; there should be none.

    The script runs again on the recorded results, each of them empty in turn. A call that it then makes
    otherwise has no result: a failure, too.
    """
    return [
        removed
        for removed in range(len(done.calls))
        if not await work(Agent(done.task, _recorded(done.calls, removed), definitions, known), script)
    ]


def _recorded(calls: Sequence[Call], removed: int) -> CallTool:
    """Gives the results of calls again, but one."""
    left = [(call, at == removed) for at, call in enumerate(calls)]

    async def call_tool(tool: str, arguments: dict[str, Any]) -> str:
        for at, (call, gone) in enumerate(left):
            if (call.tool, call.arguments) == (tool, arguments):
                del left[at]
                return "" if gone else call.text
        raise NotFound(f"no result of {tool} {arguments}")

    return call_tool
