"""What is changed in a server's greeting and in its list of tools. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, cast

from mcp_offload.settings import WrapSettings
from mcp_offload.wire.messages import JsonObject, as_object

READING: Final = ("read_handle", "search_handles", "outline_handle")
"""The tools that are added, by the names that they have in this package's own server."""

_RESOLVES: Final = ' A string argument "handle:H" stands for what handle H names, e.g. "handle:f12#L1-40".'


class Names:
    """What the added tools are called: as in this package's server, unless the wrapped one has the name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._complete: dict[str, str] | None = None

    @property
    def known(self) -> bool:
        """Whether the whole list of the server's tools has been seen."""
        return self._complete is not None

    def note_page(self, names: Sequence[str], *, first: bool, last: bool) -> None:
        """Take in one page of the server's list."""
        if first:
            self._taken.clear()
        self._taken.update(names)
        if last:
            self._complete = {self._free(name): name for name in READING}

    def _free(self, name: str) -> str:
        while name in self._taken:
            name = f"offload_{name}"
        return name

    def meant(self, name: str) -> str | None:
        """Which of the added tools ``name`` calls, or None where it is one of the server's own."""
        return None if self._complete is None else self._complete.get(name)

    def listed(self) -> dict[str, str]:
        """The name of each added tool; as they would be where the list has not been seen."""
        if self._complete is None:
            return {name: name for name in READING}
        return {meant: name for name, meant in self._complete.items()}


def reading_hint(wrap: WrapSettings, names: Names) -> str:
    """By which tools handles are read, as a phrase."""
    if not wrap.with_tools:
        return "with the tools of mcp-offload (read_handle, search_handles, outline_handle)"
    return "with " + ", ".join(names.listed()[name] for name in READING)


def greeting(result: JsonObject, wrap: WrapSettings) -> JsonObject:
    """The result of ``initialize`` or ``server/discover`` with what the model should know.

    A server without tools gets none and is greeted as it is.
    """
    capabilities = as_object(result.get("capabilities")) or {}
    if "tools" not in capabilities:
        return result
    hint = f"Large results are stored and answered by a handle; read parts {reading_hint(wrap, Names())}."
    own = result.get("instructions")
    return {**result, "instructions": f"{own}\n{hint}" if isinstance(own, str) and own else hint}


def tool_list(
    result: JsonObject, wrap: WrapSettings, added: Mapping[str, JsonObject], names: Mapping[str, str]
) -> JsonObject:
    """One page of tools; ``added`` are definitions for its end, ``names`` what they are called.

    A tool whose results may be replaced promises no shape for them any more: clients check it.
    """
    tools = [_tool(tool, wrap) for tool in tools_in(result)]
    more = [{**definition, "name": names[name]} for name, definition in added.items()]
    return {**result, "tools": [*tools, *more]}


def tools_in(result: JsonObject) -> list[JsonObject]:
    """The tools of a page; whatever is not an object is left out."""
    listed = result.get("tools")
    items = cast("list[object]", listed) if isinstance(listed, list) else []
    return [tool for tool in map(as_object, items) if tool is not None]


def tool_names(result: JsonObject) -> list[str]:
    """The names on a page."""
    return [name for tool in tools_in(result) if isinstance(name := tool.get("name"), str)]


def shown_text(result: JsonObject) -> str:
    """What of a page reaches a model: its tools as JSON, without what is for programs."""
    shown = [{key: value for key, value in tool.items() if key != "_meta"} for tool in tools_in(result)]
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def is_last(result: JsonObject) -> bool:
    """Whether no page follows."""
    return not result.get("nextCursor")


def _tool(tool: JsonObject, wrap: WrapSettings) -> JsonObject:
    name = str(tool.get("name"))
    if wrap.threshold(name) is not None and "outputSchema" in tool:
        tool = {key: value for key, value in tool.items() if key != "outputSchema"}
    if name in wrap.resolve:
        tool = {**tool, "description": f"{tool.get('description') or ''}{_RESOLVES}".strip()}
    return tool
