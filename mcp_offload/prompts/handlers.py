"""The handlers of prompts/*, and the completion of their arguments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteResult,
    CompletionArgument,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    PromptMessage,
    TextContent,
)

from mcp_offload.errors import OffloadError
from mcp_offload.models import Monitor
from mcp_offload.prompts.catalog import (
    MAX_ARGUMENT_CHARS,
    PROMPTS,
    PromptSpec,
    listed_prompts,
    prompt_text,
)
from mcp_offload.wire.completing import completed
from mcp_offload.wire.desk import REFUSAL, LeaseDesk, called
from mcp_offload.wire.scrub import scrub_text
from mcp_offload.wire.work import Workshop

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


async def list_prompts(ctx: _Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    """All prompts, on one page.

    Raises:
        MCPError: a cursor was given; none was ever handed out.
    """
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "Unknown cursor: all prompts are on the first page")
    return ListPromptsResult(prompts=listed_prompts())


class PromptHandlers:
    """Fills prompts in, and counts them."""

    def __init__(self, workshop: Workshop, desk: LeaseDesk) -> None:
        self._workshop = workshop
        self._desk = desk

    async def get_prompt(self, ctx: _Context, params: GetPromptRequestParams) -> GetPromptResult:
        """One prompt with its arguments filled in.

        Raises:
            MCPError: -32602 for an unknown prompt, or arguments that are unknown, missing or too long.
        """
        spec = _spec(params.name)
        text = scrub_text(prompt_text(spec, _checked(spec, params.arguments or {})))
        caller, told = called(self._desk, ctx)

        def work(monitor: Monitor) -> str:
            return text if self._desk.count(caller, told, "prompt", params.name, text) else REFUSAL

        try:
            shown = await self._workshop.run(ctx, work)
        except OffloadError as exc:
            _log.warning("a prompt could not be counted: %s", exc)
            shown = text
        message = PromptMessage(role="user", content=TextContent(type="text", text=shown))
        return GetPromptResult(description=spec.description, messages=[message])


def complete_prompt(
    open_service: Callable[[], OffloadService], name: str, argument: CompletionArgument, monitor: Monitor
) -> CompleteResult:
    """Handles for an argument that is one.

    Raises:
        MCPError: -32602 for an unknown prompt or argument.
    """
    spec = _spec(name)
    one = spec.arguments.get(argument.name)
    if one is None:
        raise MCPError(INVALID_PARAMS, f"Unknown argument; they are {', '.join(spec.arguments)}")
    if one.kinds is None:
        return completed([])
    found = open_service().complete_handle(argument.value, one.kinds, monitor=monitor)
    return completed(found.values, found.total)


def _spec(name: str) -> PromptSpec:
    spec = PROMPTS.get(name)
    if spec is None:
        raise MCPError(INVALID_PARAMS, f"Unknown prompt; the prompts are {', '.join(PROMPTS)}")
    return spec


def _checked(spec: PromptSpec, arguments: Mapping[str, str]) -> dict[str, str]:
    """The arguments on one line each, blank ones left out."""
    given = {name: " ".join(value.split()) for name, value in arguments.items()}
    given = {name: value for name, value in given.items() if value}
    missing = [name for name, one in spec.arguments.items() if one.required and name not in given]
    if missing or given.keys() - spec.arguments.keys():
        raise MCPError(INVALID_PARAMS, f"The arguments are {', '.join(spec.arguments)}; missing: {missing}")
    if max(map(len, given.values()), default=0) > MAX_ARGUMENT_CHARS:
        raise MCPError(INVALID_PARAMS, f"An argument has at most {MAX_ARGUMENT_CHARS} characters")
    return given
