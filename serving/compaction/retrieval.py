"""The tools that read back what was replaced: the client's own, or those that the gate adds and serves."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from mcp_offload import (
    InvalidHandleError,
    OffloadError,
    OffloadService,
    outline_text,
    parse_handle,
    read_text,
    search_text,
)
from serving.compaction.dialects import Body, Dialect
from serving.compaction.settings import Retrieval

READ: Final = "read_handle"
SEARCH: Final = "search_handles"
OUTLINE: Final = "outline_handle"

_HANDLES: Final = {"type": "array", "items": {"type": "string"}}
_TOOLS: Final[Mapping[str, tuple[str, Body, list[str]]]] = {
    READ: (
        "Read text of this conversation that was stored: f12 whole, f12#L10-44 lines, f12#Invoice.total a"
        " symbol, l2#L-20 the last 20 lines.",
        {"handles": _HANDLES},
        ["handles"],
    ),
    SEARCH: (
        "Search stored text by RE2 regex; each hit has a handle.",
        {"pattern": {"type": "string"}, "handles": _HANDLES},
        ["pattern"],
    ),
    OUTLINE: (
        "List the symbols of stored source, or the failures of a stored log, with handles.",
        {"handle": {"type": "string"}},
        ["handle"],
    ),
}


def tool_names(body: Mapping[str, Any]) -> list[str]:
    """The names of the tools that a request offers, in any dialect, those in namespaces as well."""
    names: list[str] = []
    for entry in _listed(body.get("tools")):
        tool = cast("Body", entry) if isinstance(entry, dict) else {}
        names.append(_name(tool))
        names += [_name(cast("Body", one)) for one in _listed(tool.get("tools")) if isinstance(one, dict)]
    return names


def without_tools(body: Body, names: Collection[str]) -> Body:
    """The request with some of its tools left out; it has none at all where no other is left."""
    listed = _listed(body.get("tools"))
    kept: list[Any] = [
        tool for tool in listed if not isinstance(tool, dict) or _name(cast("Body", tool)) not in names
    ]
    if kept:
        rest = {
            name: value for name, value in body.items() if name != "tool_choice" or not _names(value, names)
        }
        return {**rest, "tools": kept}
    return {name: value for name, value in body.items() if name not in {"tools", "tool_choice"}}


def client_reader(body: Mapping[str, Any]) -> str | None:
    """The tool of the client's by which its model reads handles; clients put a prefix before the name."""
    named = [name for name in tool_names(body) if name == READ or name.endswith(("_" + READ, "." + READ))]
    return next((name for name in named if "offload" in name.lower()), named[0] if named else None)


class Tools:
    """The tools that the gate adds to one request.

    Attributes:
        names: what each is called there, and which it is; empty where the gate adds none.
        reader: the tool that reads handles, as the model calls it.
    """

    def __init__(self, dialect: Dialect, body: Mapping[str, Any], retrieval: Retrieval) -> None:
        theirs = client_reader(body)
        uses_theirs = retrieval is Retrieval.CLIENT or (retrieval is Retrieval.AUTO and theirs is not None)
        several = (body.get("n") or 1) != 1 or bool(body.get("background"))
        several = several or not isinstance(body.get("tools") or [], list)
        taken = set(tool_names(body))
        self._dialect = dialect
        self.names = {} if uses_theirs or several else {_free(name, taken): name for name in _TOOLS}
        self.reader = (theirs or READ) if uses_theirs or several else _free(READ, taken)

    def added(self, body: Body) -> Body:
        """The request with the tools at the end of its own; the one given is not changed."""
        if not self.names:
            return body
        own = _listed(body.get("tools"))
        return {**body, "tools": [*own, *(self._definition(*named) for named in self.names.items())]}

    def _definition(self, name: str, tool: str) -> Body:
        description, properties, required = _TOOLS[tool]
        schema: Body = {"type": "object", "properties": properties, "required": required}
        if self._dialect is Dialect.MESSAGES:
            return {"name": name, "description": description, "input_schema": schema}
        definition: Body = {"name": name, "description": description, "parameters": schema}
        if self._dialect is Dialect.RESPONSES:
            return {"type": "function", **definition, "strict": False}
        return {"type": "function", "function": definition}


def run_tool(service: OffloadService, tool: str, arguments: str, max_tokens: int) -> tuple[str, bool]:
    """The result of a call, and whether it failed.

    Args:
        service: of the request's workspace.
        tool: one of the three.
        arguments: JSON, as the model wrote it.
        max_tokens: what the result may cost, in o200k tokens.
    """
    try:
        given: Any = json.loads(arguments or "{}")
    except ValueError:
        return "The arguments are no JSON; call again.", True
    if not isinstance(given, dict):
        return "The arguments must be an object; call again.", True
    try:
        return _ran(service, tool, cast("Body", given), max_tokens), False
    except OffloadError as error:
        return str(error), True


def _ran(service: OffloadService, tool: str, given: Body, max_tokens: int) -> str:
    if tool == OUTLINE:
        handle = str(given.get("handle", ""))
        _check(handle)
        return outline_text(service.outline(handle, max_tokens=max_tokens))
    handles = _handles(given.get("handles"))
    for handle in handles:
        _check(handle)
    if tool == READ:
        return read_text(service.read(handles, max_tokens=max_tokens))
    return search_text(service.search(str(given.get("pattern", "")), handles, max_tokens=max_tokens))


def _handles(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    return [str(handle) for handle in _listed(given)]


def _check(handle: str) -> None:
    """Handles alone: a path would be read from the disk of the gate's machine.

    Raises:
        InvalidHandleError: it is no handle of an artifact.
    """
    if not isinstance(getattr(parse_handle(handle).artifact, "number", None), int):
        raise InvalidHandleError(f"{handle!r} is no handle of stored text; use one such as f12 or f12#L1-40.")


def _names(choice: Any, names: Collection[str]) -> bool:
    """Whether a request insists on one of these tools, which the model could not call any more."""
    return isinstance(choice, dict) and _name(cast("Body", choice)) in names


def _name(tool: Body) -> str:
    function: Any = tool.get("function")
    held = cast("Body", function) if isinstance(function, dict) else tool
    return str(held.get("name") or "")


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"gate_{name}"
    return name
