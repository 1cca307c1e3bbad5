"""The agent: planner, analyzer, optimizer, generator and critic, one conversation, as a LangGraph graph."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph

from .check import Compilers, check
from .desk import Desk
from .model import Answer, BadAnswer, Endpoint, Message, Schema
from .operations import OPERATIONS, Operation
from .trace import Compile, Engine, NodeEvent, ToolReturn, Trace

PAGES = Path(__file__).with_name("pages")
PAGE_TOKENS = 400
ASKED_AGAIN = 2
SUPERSEDED_CHARS = 200

SYSTEM = """\
You write CUDA kernels in five steps: plan, analyze, optimize, generate, criticise. Answer each with JSON.
Kernels are plain C with CUDA's built-in names: float arrays, no barriers, no shared memory, no includes."""

_TERM = r"(a\[i\]|b\[i\]|out\[i\]|alpha|lo|hi|0\.0f|a\[n - 1 - i\])"
_EXPRESSION = rf"^({_TERM}( [-+*] {_TERM}){{0,2}}|fmaxf\({_TERM}, {_TERM}\))$"


class State(TypedDict, total=False):
    """What the nodes pass on; the conversation itself is the agent's."""

    operation: str
    attempt: int
    failure: str
    solved: bool
    again: bool


class GaveUp(Exception):
    """The model gave no usable answer however often it was asked."""


@dataclass(slots=True)
class Agent:
    """One run.

    Attributes:
        text_chars: the most characters of a text inside an answer, so that a constrained one ends.
        shape: `source`, a whole kernel, or `expression`, one assignment, for models that are too small.
    """

    endpoint: Endpoint
    desk: Desk
    tools: Compilers
    folder: Path
    prompt: str
    trace: Trace
    pages: dict[str, str]
    retries: int = 6
    text_chars: int = 4000
    shape: Literal["source", "expression"] = "source"
    report: Callable[[str], None] = lambda line: None
    _messages: list[Message] = field(default_factory=lambda: [{"role": "system", "content": SYSTEM}])
    _sources: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    _began: float = 0.0

    async def run(self, engine: Engine) -> Trace:
        """Run the graph; the trace tells how it ended, and what the engine held meanwhile."""
        self._began = time.monotonic()
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            # Planner, analyzer, optimizer and two nodes for each attempt, with room to spare.
            state = await self._graph().ainvoke(State(attempt=0), {"recursion_limit": 10 + 2 * self.retries})
            self.trace.outcome = _outcome(state)
        except GaveUp as error:
            self.report(f"stopped: {error}")
        finally:
            ended = time.monotonic()
            self.trace.seconds = round(ended - self._began, 3)
            self.trace.cache_dtype, self.trace.block_tokens = engine.cache_dtype, engine.block_tokens
            self.trace.engine_blocks = engine.blocks
            self.trace.memory = engine.during(self._began, ended)
        return self.trace

    def _graph(self) -> Any:
        graph = StateGraph(State)
        for name in ("planner", "analyzer", "optimizer", "generator", "critic"):
            graph.add_node(name, getattr(self, f"_{name}"))
        graph.add_edge(START, "planner")
        graph.add_conditional_edges("planner", lambda state: "analyzer" if "operation" in state else END)
        graph.add_edge("analyzer", "optimizer")
        graph.add_edge("optimizer", "generator")
        graph.add_edge("generator", "critic")
        graph.add_conditional_edges("critic", lambda state: "generator" if state["again"] else END)
        return graph.compile()

    async def _planner(self, state: State) -> State:
        """Is it one of the kernels that can be checked? Anything else ends here, before it costs more."""
        known = "\n".join(f"- {operation.name}: {operation.says}" for operation in OPERATIONS.values())
        answer = await self._ask(
            "planner", 0, f"Task: {self.prompt}\n\nPlan. Kernels that can be written:\n{known}",
            {"in_scope": {"type": "boolean"}, "operation": {"type": "string", "enum": list(OPERATIONS)}},
        )  # fmt: skip
        if answer["in_scope"] is not True or answer["operation"] not in OPERATIONS:
            return State()
        self.trace.operation = answer["operation"]
        return State(operation=answer["operation"])

    async def _analyzer(self, state: State) -> State:
        """What the reference pages that fit best have to say."""
        operation = OPERATIONS[state["operation"]]
        names = best_pages(f"{self.prompt} {operation.name} {operation.says}")
        text = await self.desk.read([self.pages[name] for name in names], PAGE_TOKENS)
        self._returned("analyzer", "read_handle", text)
        await self._ask(
            "analyzer", 0, f"{text}\n\nAnalyze: which of this matters for {operation.name}?",
            {"facts": {"type": "string", "maxLength": self.text_chars}},
        )  # fmt: skip
        return State()

    async def _optimizer(self, state: State) -> State:
        """How the work is divided."""
        await self._ask(
            "optimizer", 0, "Optimize: how is the work divided among threads?",
            {
                "strategy": {
                    "type": "string",
                    "enum": ["a thread for each element", "a thread for each row", "a loop over the grid"],
                },
                "reason": {"type": "string", "maxLength": self.text_chars},
            },
        )  # fmt: skip
        return State()

    async def _generator(self, state: State) -> State:
        """The kernel, written to a file that the server stores; older ones stay there by handle."""
        operation, attempt = OPERATIONS[state["operation"]], state["attempt"] + 1
        ask = f"Generate the kernel, as exactly this function:\n{operation.signature}"
        if state.get("failure"):
            ask = f"Generate the whole kernel again, repaired:\n{operation.signature}"
        answer = await self._ask("generator", attempt, ask, self._generated())
        source = self.folder / "kernel.cu"
        source.write_text(_source(operation, answer), encoding="utf-8")
        handle = await self.desk.store(source)
        self._supersede(handle)
        return State(attempt=attempt)

    async def _critic(self, state: State) -> State:
        """Compilers and the check decide; only against a failure is the model asked anything."""
        operation, attempt = OPERATIONS[state["operation"]], state["attempt"]
        checked = await check(self.desk, self.tools, self.folder, operation)
        self.trace.compiles.append(Compile(attempt, checked.compiler, checked.compiled, checked.correct))
        if not checked.failure:
            return State(solved=True, again=False)
        self.report(f"attempt {attempt}: {checked.failure}")
        self._returned("critic", "read_handle", checked.failure)
        if attempt > self.retries:
            return State(solved=False, again=False)
        answer = await self._ask(
            "critic", attempt, f"{checked.failure}\n\nCriticise: what is wrong, and is it worth another try?",
            {"cause": {"type": "string", "maxLength": self.text_chars}, "again": {"type": "boolean"}},
        )  # fmt: skip
        return State(failure=checked.failure, solved=False, again=answer["again"] is True)

    async def _ask(self, node: str, attempt: int, text: str, properties: Schema) -> dict[str, Any]:
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
        self._messages.append({"role": "user", "content": text})
        for _ in range(1 + ASKED_AGAIN):
            began = time.monotonic()
            event = NodeEvent(node, attempt, round(began - self._began, 3), 0.0, None, None)
            self.trace.nodes.append(event)
            try:
                answer: Answer = await self.endpoint.ask(self._messages, schema)
            except BadAnswer as error:
                event.bad_answer = True
                self.report(f"{node}: {error}")
                continue
            finally:
                event.seconds = round(time.monotonic() - began, 3)
            event.prompt_tokens, event.completion_tokens = answer.prompt_tokens, answer.completion_tokens
            self._messages.append({"role": "assistant", "content": answer.text})
            return answer.value
        raise GaveUp(f"no usable answer of the {node}")

    def _generated(self) -> Schema:
        if self.shape == "expression":
            return {
                "target": {"type": "string", "enum": ["out[i]", "a[i]", "out[n]"]},
                "value": {"type": "string", "pattern": _EXPRESSION},
            }
        return {"source": {"type": "string", "maxLength": self.text_chars}}

    def _supersede(self, handle: str) -> None:
        """Older sources leave the conversation: what a long one said is read by its handle from now on."""
        for at, older in self._sources:
            if len(self._messages[at]["content"]) > SUPERSEDED_CHARS:
                self._messages[at] = {"role": "assistant", "content": f"(superseded: {older})"}
        self._sources.append((len(self._messages) - 1, handle))

    def _returned(self, node: str, tool: str, text: str) -> None:
        self.trace.tool_returns.append(ToolReturn(node, tool, len(text)))


def best_pages(text: str, count: int = 2) -> list[str]:
    """The names of the reference pages that share most of their words with a text; ties by name."""
    asked = set(_words(text))

    def score(page: Path) -> tuple[float, str]:
        words = set(_words(page.read_text(encoding="utf-8")))
        return (-len(asked & words) / len(words) ** 0.5, page.name)

    return [page.name for page in sorted(PAGES.glob("*.md"), key=score)[:count]]


async def stored_pages(desk: Desk) -> dict[str, str]:
    """Handles of the reference pages by name."""
    return {page.name: await desk.store(page) for page in sorted(PAGES.glob("*.md"))}


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


def _source(operation: Operation, answer: dict[str, Any]) -> str:
    if "source" in answer:
        return f"{answer['source']}\n"
    return (
        f"{operation.signature} {{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) {\n"
        f"        {answer['target']} = {answer['value']};\n"
        "    }\n"
        "}\n"
    )


def _outcome(state: dict[str, Any]) -> str:
    if "operation" not in state:
        return "out of scope"
    return "solved" if state.get("solved") else "gave up"
