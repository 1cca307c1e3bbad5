"""Completes the template's variables from what is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CompleteResult, CompletionArgument

from mcp_offload.models import Monitor
from mcp_offload.resources.catalog import PAGES
from mcp_offload.wire.completing import completed, starting
from mcp_offload.wire.resource_uri import HERE, URI_TEMPLATE, workspace_slug

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

PARTS: Final = ("sig", "doc", "body", "head")
FAILURE_PARTS: Final = ("tb", "out")


def complete_template(
    open_service: Callable[[], OffloadService],
    workspace: str,
    uri: str,
    argument: CompletionArgument,
    known: Mapping[str, str],
    monitor: Monitor,
) -> CompleteResult:
    """Values for one variable; ``known`` holds those already chosen.

    Raises:
        MCPError: another template, or a variable that it has not.
    """
    if uri != URI_TEMPLATE:
        raise MCPError(INVALID_PARAMS, f"Unknown template; the one there is is {URI_TEMPLATE}")
    typed = argument.value
    match argument.name:
        case "workspace":
            return starting(typed, (HERE, workspace_slug(workspace)))
        case "artifact":
            found = open_service().complete_handle(typed.partition("#")[0])
            pages = [page for page in PAGES if page.startswith(typed)]
            return completed([*found.values, *pages], found.total + len(pages))
        case "v":
            found = open_service().complete_version(known.get("artifact", ""), typed)
        case "sel":
            found = open_service().complete_selector(known.get("artifact", ""), typed, monitor=monitor)
        case "part":
            return starting(typed, FAILURE_PARTS if known.get("sel", "").startswith("!") else PARTS)
        case _:
            raise MCPError(INVALID_PARAMS, "Unknown variable; they are workspace, artifact, v, sel and part")
    return completed(found.values, found.total)
