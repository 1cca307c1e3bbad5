"""The two faces of a result: the text block a model reads, and JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mcp_offload.models import (
    DiffResult,
    EditResult,
    ExportResult,
    LeaseResult,
    ListResult,
    MapResult,
    OutlineResult,
    ReleaseResult,
    RunResult,
    SearchResult,
    StoreManyResult,
    StoreResult,
    SymbolHits,
)
from mcp_offload.service import jsonable, render, render_run
from mcp_offload.service.leases import lease_line
from mcp_offload.tools.arguments import ReleaseArguments, ToolArguments
from mcp_offload.tools.perform import Result

_DONE = {"release": "released", "pin": "pinned", "unpin": "unpinned"}


def present_text(given: ToolArguments, result: Result) -> str:
    """One text block, as the command line prints it."""
    match result:
        case StoreResult() | StoreManyResult():
            return render.store_text(result)
        case OutlineResult() | MapResult():
            return render.outline_text(result)
        case list():
            return render.read_text(result)
        case SearchResult():
            return render.search_text(result)
        case SymbolHits():
            return render.symbols_text(result)
        case EditResult():
            return render.edit_text(result)
        case DiffResult():
            return render.diff_text(result)
        case RunResult():
            return render_run.run_text(result)
        case ExportResult() | ListResult() | ReleaseResult() | LeaseResult():
            return _managed_text(given, result)


def _managed_text(
    given: ToolArguments, result: ExportResult | ListResult | ReleaseResult | LeaseResult
) -> str:
    match result:
        case LeaseResult():
            return lease_line(result)
        case ExportResult():
            return render.export_text(result)
        case ListResult():
            return render.list_text(result)
        case ReleaseResult():
            action = given.action if isinstance(given, ReleaseArguments) else "release"
            return render.release_text(result, _DONE[action])


def present_json(result: Result) -> Mapping[str, object]:
    """One JSON object, as ``--json`` prints it."""
    data = jsonable.reads_json(result) if isinstance(result, list) else jsonable.to_json(result)
    return cast("Mapping[str, object]", data)
