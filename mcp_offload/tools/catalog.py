"""The tools as listed: names, one or two sentences each, schemas and annotations; and the instructions.

Every word here is paid for in each conversation, so it teaches one of four things: pass paths, a path
is a handle, outline before read, edits reach the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp_types import Tool, ToolAnnotations

from mcp_offload.settings import ToolProfile
from mcp_offload.tools import arguments as args
from mcp_offload.tools.arguments import ToolArguments, listed_schema
from mcp_offload.tools.schemas import output_schema

INSTRUCTIONS: Final = """\
Work with files and logs by short handles instead of their text.
- Pass paths: store_artifact(source) keeps bytes out of your context. Never re-emit content to store it.
- A path is a handle: outline_handle("src/app.py"), read_handle(["src/app.py#Parser.parse"]).
- Outline or search before you read; read only the symbols or lines you need.
- edit_handle changes the file on disk; send only the new text."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool; ``profile`` is the smallest that lists it.

    ``found_by`` is what a client that defers tools finds it by; None = the client loads it at once.
    """

    title: str
    description: str
    arguments: type[ToolArguments]
    annotations: ToolAnnotations
    profile: ToolProfile = "default"
    found_by: str | None = None

    @property
    def hints(self) -> dict[str, object]:
        """What Claude Code reads in a tool's ``_meta``; no client shows that to the model.

        Source: Claude Code 2.1, ``anthropic/alwaysLoad`` and ``anthropic/searchHint``.
        """
        if self.found_by is None:
            return {"anthropic/alwaysLoad": True}
        return {"anthropic/searchHint": self.found_by}


_READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def _writes(*, destructive: bool, idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=False,
    )


TOOLS: Final[Mapping[str, ToolSpec]] = {
    "store_artifact": ToolSpec(
        "Store a file or log",
        "Store a file, directory or glob by path, out of your context; returns handles. "
        "Handles unused for days expire.",
        args.StoreArguments,
        _writes(destructive=False, idempotent=True),
    ),
    "outline_handle": ToolSpec(
        "Outline",
        "List the symbols of a file, parts of a log or files of a directory, each with handle, lines and "
        "tokens. Use it before reading.",
        args.OutlineArguments,
        _READS,
    ),
    "read_handle": ToolSpec(
        "Read by handle",
        "Read what handles name: f12#Invoice.total, f12#Invoice:sig, f12@3#L10-44, l2#L-20 (last 20 lines), "
        "src/app.py#main.",
        args.ReadArguments,
        _READS,
    ),
    "search_handles": ToolSpec(
        "Search what is stored",
        "Search stored text by RE2 regex, or symbols by name; each hit has a handle.",
        args.SearchArguments,
        _READS,
    ),
    "edit_handle": ToolSpec(
        "Edit by handle",
        "Replace a symbol or lines, or insert text before or after. Writes the file on disk too, "
        "if it has not changed since.",
        args.EditArguments,
        _writes(destructive=True, idempotent=False),
    ),
    "diff_handles": ToolSpec(
        "Compare versions",
        "Compare two versions or artifacts, or one with its file on disk.",
        args.DiffArguments,
        _READS,
        found_by="compare versions of a file",
    ),
    "export_handle": ToolSpec(
        "Export to a file",
        "Write a handle's exact bytes to a path.",
        args.ExportArguments,
        _writes(destructive=True, idempotent=True),
        found_by="write stored bytes to a file",
    ),
    "list_artifacts": ToolSpec(
        "List what is stored",
        "List what is stored, most recently used first.",
        args.ListArguments,
        _READS,
        profile="all",
        found_by="list stored files and logs",
    ),
    "release_handles": ToolSpec(
        "Release or pin",
        "Drop stored bytes; or pin, unpin. Files on disk stay.",
        args.ReleaseArguments,
        _writes(destructive=True, idempotent=True),
        profile="all",
        found_by="free or pin stored artifacts",
    ),
    "context_lease": ToolSpec(
        "Context lease",
        "Report your context; tells tokens left.",
        args.LeaseArguments,
        _writes(destructive=False, idempotent=True),
        profile="all",
        found_by="report on the context",
    ),
}


RUN_TOOL: Final[Mapping[str, ToolSpec]] = {
    "run_command": ToolSpec(
        "Run a command",
        "Run a command; its output is stored, you get its digest and a handle. While it runs read l9#L-20.",
        args.RunArguments,
        ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
        ),
    ),
}
"""Listed last, and only where an operator allows commands."""


def tools_of(profile: ToolProfile, *, run: bool = False) -> dict[str, ToolSpec]:
    """The tools that ``profile`` lists, in the order in which they are listed; ``run``: commands too."""
    tools = {name: spec for name, spec in TOOLS.items() if profile == "all" or spec.profile == "default"}
    return {**tools, **RUN_TOOL} if run else tools


def listed_tools(profile: ToolProfile, *, structured: bool = False, run: bool = False) -> list[Tool]:
    """The tool definitions as sent; ``structured``: with the schemas of their results."""
    return [
        Tool(
            name=name,
            title=spec.title,
            description=spec.description,
            input_schema=listed_schema(spec.arguments),
            output_schema=output_schema(name) if structured else None,
            annotations=spec.annotations,
            _meta=spec.hints,
        )
        for name, spec in tools_of(profile, run=run).items()
    ]
