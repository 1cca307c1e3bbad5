"""Where the large texts of a history are, in any dialect: results of tools, arguments of past calls; pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final, cast

from serving.compaction.dialects import Body, Dialect


class Step(Enum):
    """A step of a path that is no key."""

    JSON = "the value that the string here is the JSON of"


Path = tuple[str | int | Step, ...]

COMPACTED: Final = frozenset({Dialect.CHAT, Dialect.RESPONSES, Dialect.MESSAGES})
"""The dialects whose requests hold a history."""

LEAST_BYTES: Final = 64
"""Shorter texts are never looked at: whatever stood for them would be longer."""

NUMBERED: Final = " with line numbers"
"""Follows a file's name where each line begins with its number, as tools that read files give it."""

_PATHS: Final = ("file_path", "path", "filename", "file", "notebook_path", "target_file", "filePath")
"""Arguments by which agents' tools name a file."""
_FILE: Final = re.compile(r"[^/\\\x00-\x1f\x7f]{1,80}\.[A-Za-z0-9]{1,8}\Z")
_NUMBERED: Final = re.compile(r"\s*\d+(?:→|\t|: |\|)")
_TOOL: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_MADE_BY_MODEL: Final = (
    "function_call", "custom_tool_call", "reasoning", "local_shell_call", "web_search_call",
    "file_search_call", "computer_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "shell_call", "apply_patch_call",
)  # fmt: skip
"""Types of a responses request's items that an answer consists of, besides messages of the assistant."""


@dataclass(frozen=True)
class Slot:
    """A text that could be replaced.

    Attributes:
        path: where it stands in the request.
        call_id: of the tool call that it belongs to.
        tool: the tool's name.
        field: the argument's name, or an empty text for a result.
        name: what the text may be called, a file's name where the call names one.
        text: itself.
        aged: whether the model has written something after it, so that it was read or written before.
    """

    path: Path
    call_id: str
    tool: str
    field: str
    name: str
    text: str
    aged: bool

    @cached_property
    def key(self) -> bytes:
        """What the choice for this text is kept under: the same wherever its call stands."""
        head = json.dumps([self.call_id, self.tool, self.field]).encode()
        return hashlib.blake2b(head + b"\n" + self.text.encode(), digest_size=20).digest()


def slots(dialect: Dialect, body: Mapping[str, Any]) -> list[Slot]:
    """The texts of a request that could be replaced, in order; texts that are no UTF-8 are left out.

    Args:
        dialect: of the request; completions have none.
        body: as decoded, of any shape: what is not understood is passed over.
    """
    listed = body.get("input") if dialect is Dialect.RESPONSES else body.get("messages")
    if dialect not in COMPACTED or not isinstance(listed, list):
        return []
    items = [cast("Body", item) if isinstance(item, dict) else {} for item in cast("list[Any]", listed)]
    reader = _Reader("input" if dialect is Dialect.RESPONSES else "messages", _newest(dialect, items))
    read = {Dialect.CHAT: _chat, Dialect.RESPONSES: _responses, Dialect.MESSAGES: _messages}[dialect]
    found = [slot for at, item in enumerate(items) for slot in read(reader, at, item)]
    return [slot for slot in found if len(slot.text) >= LEAST_BYTES // 4 and _is_text(slot.text)]


def unnumbered(slot: Slot) -> tuple[str, str] | None:
    """The name and text of a file that was read with line numbers, without these; None where it was not.

    Its lines are those of the slot's text up to the first that has no number.
    """
    if not slot.name.endswith(NUMBERED):
        return None
    kept: list[str] = []
    for line in slot.text.split("\n"):
        found = _NUMBERED.match(line)
        if found is None:
            break
        kept.append(line[found.end() :])
    return slot.name.removesuffix(NUMBERED), "\n".join([*kept, ""])


def rewritten(body: Body, texts: Mapping[Path, str]) -> Body:
    """The request with other texts at these paths; the one given is not changed."""
    if not texts:
        return body
    tree: dict[Any, Any] = {}
    for path, text in texts.items():
        node = tree
        for step in path[:-1]:
            node = node.setdefault(step, {})
        node[path[-1]] = text
    return _applied(body, tree)


def text_at(body: Body, path: Path) -> str:
    """The text at a path."""
    node: Any = body
    for step in path:
        node = json.loads(node) if step is Step.JSON else node[step]
    return node


def _applied(node: Any, tree: Any) -> Any:
    if isinstance(tree, str):
        return tree
    if Step.JSON in tree:
        return json.dumps(_applied(json.loads(node), tree[Step.JSON]), ensure_ascii=False)
    copy: Any = list(cast("list[Any]", node)) if isinstance(node, list) else dict(node)
    for step, below in tree.items():
        copy[step] = _applied(copy[step], below)
    return copy


def _newest(dialect: Dialect, items: Sequence[Body]) -> int:
    """Where the newest turn of the model begins; what stands before it is aged.

    An answer that the model is to go on with is no turn yet.
    """
    made = [_is_made(dialect, item) for item in items]
    end = len(made)
    while end and made[end - 1]:
        end -= 1
    while end and not made[end - 1]:
        end -= 1
    while end and made[end - 1]:
        end -= 1
    return end


def _is_made(dialect: Dialect, item: Body) -> bool:
    return item.get("role") == "assistant" or (
        dialect is Dialect.RESPONSES and item.get("type") in _MADE_BY_MODEL
    )


class _Reader:
    """Goes through the items of one request and remembers the calls it has seen."""

    def __init__(self, field: str, newest: int) -> None:
        self._field = field
        self._newest = newest
        self._calls: dict[str, tuple[str, str]] = {}

    def call(self, at: int, call_id: Any, tool: Any, arguments: Any, path: Path) -> Iterator[Slot]:
        """The arguments of a call; ``path`` leads to them within the item."""
        values, decode = _arguments(arguments)
        name = _file_name(values)
        self._calls[str(call_id)] = str(tool), name
        where: Path = (self._field, at, *path, *((Step.JSON,) if decode else ()))
        for below, text in _strings(values):
            field = ".".join(str(step) for step in below)
            label = name or f"{_clean(tool)} {field}"
            yield Slot((*where, *below), str(call_id), str(tool), field, label, text, at < self._newest)

    def custom(self, at: int, call_id: Any, tool: Any, text: Any, path: Path) -> Iterator[Slot]:
        """The free text of a custom tool's call."""
        self._calls[str(call_id)] = str(tool), ""
        if isinstance(text, str):
            where: Path = (self._field, at, *path)
            label = f"{_clean(tool)} input"
            yield Slot(where, str(call_id), str(tool), "input", label, text, at < self._newest)

    def result(self, at: int, call_id: Any, content: Any, path: Path, tool: Any = None) -> Iterator[Slot]:
        """The texts of a result: one string, or blocks."""
        known, name = self._calls.get(str(call_id), (str(tool or "tool"), ""))
        where: Path = (self._field, at, *path)
        texts: list[tuple[Path, str]] = []
        if isinstance(content, str):
            texts = [(where, content)]
        elif isinstance(content, list):
            texts = [
                ((*where, index, "text"), block["text"])
                for index, block in enumerate(cast("list[Any]", content))
                if isinstance(block, dict) and isinstance(cast("Body", block).get("text"), str)
            ]
        for place, text in texts:
            label = f"{_clean(known)} result"
            if name:
                label = f"{name}{NUMBERED}" if _NUMBERED.match(text) else name
            yield Slot(place, str(call_id), known, "", label, text, at < self._newest)


def _chat(reader: _Reader, at: int, item: Body) -> Iterator[Slot]:
    if item.get("role") in ("tool", "function"):
        yield from reader.result(
            at, item.get("tool_call_id"), item.get("content"), ("content",), item.get("name")
        )
        return
    for index, call in enumerate(_objects(item.get("tool_calls"))):
        where: Path = ("tool_calls", index)
        function, custom = _object(call.get("function")), _object(call.get("custom"))
        if function:
            yield from reader.call(
                at, call.get("id"), function.get("name"), function.get("arguments"),
                (*where, "function", "arguments"),
            )  # fmt: skip
        elif custom:
            yield from reader.custom(
                at, call.get("id"), custom.get("name"), custom.get("input"), (*where, "custom", "input")
            )


def _responses(reader: _Reader, at: int, item: Body) -> Iterator[Slot]:
    kind, call_id = item.get("type"), item.get("call_id")
    if kind == "function_call":
        yield from reader.call(at, call_id, item.get("name"), item.get("arguments"), ("arguments",))
    elif kind == "custom_tool_call":
        yield from reader.custom(at, call_id, item.get("name"), item.get("input"), ("input",))
    elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        yield from reader.result(at, call_id or item.get("id"), item.get("output"), ("output",))


def _messages(reader: _Reader, at: int, item: Body) -> Iterator[Slot]:
    for index, block in enumerate(_objects(item.get("content"))):
        where: Path = ("content", index)
        if block.get("type") == "tool_use":
            yield from reader.call(
                at, block.get("id"), block.get("name"), block.get("input"), (*where, "input")
            )
        elif block.get("type") == "tool_result":
            yield from reader.result(at, block.get("tool_use_id"), block.get("content"), (*where, "content"))


def _arguments(given: Any) -> tuple[Any, bool]:
    """A call's arguments, and whether they stood in JSON; none where that cannot be written again."""
    if not isinstance(given, str):
        return given, False
    try:
        return json.loads(given, object_pairs_hook=_once), True
    except (ValueError, RecursionError):
        return {}, True


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _strings(value: Any, below: Path = (), depth: int = 0) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str) and below:
        yield below, value
    elif depth < 8 and isinstance(value, dict):
        for name, inner in cast("Body", value).items():
            yield from _strings(inner, (*below, name), depth + 1)
    elif depth < 8 and isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _strings(inner, (*below, index), depth + 1)


def _file_name(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return ""
    for field in _PATHS:
        given = cast("Body", arguments).get(field)
        if isinstance(given, str) and (found := _FILE.search(given)):
            return found[0]
    return ""


def _clean(tool: Any) -> str:
    return _TOOL.sub("_", str(tool))[:60] or "tool"


def _is_text(text: str) -> bool:
    """Whether the text can be stored as it is: halves of surrogate pairs cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


def _object(value: Any) -> Body:
    return cast("Body", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Body]:
    """The members of a list, with an empty object in the place of whatever is none."""
    return [_object(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
