"""Keep files, logs and build artifacts out of an agent's context; work with them through handles.

The library behind the server and the command line::

    import os
    from mcp_offload import Settings, open_service

    here = os.getcwd()
    settings = Settings(
        store_dir="/var/tmp/my-store", state_dir="/var/tmp/my-state",
        roots=(here,), base_dir=here, workspace=here,
    )
    with open_service(settings) as service:
        stored = service.store("src/app.py")
        for symbol in service.outline(stored.handle).symbols:
            ...

Importing this package costs next to nothing: names load when they are first used. Every method raises
subclasses of :class:`OffloadError` and nothing else on purpose. What is not in ``__all__`` is not public.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_offload.errors import (
        ConflictError,
        HandleGoneError,
        HandleNotFoundError,
        InvalidHandleError,
        NotFoundError,
        OffloadError,
        OperationCancelledError,
        SourceError,
        StoreError,
        SymbolAmbiguousError,
        SymbolNotFoundError,
        UsageError,
    )
    from mcp_offload.handle import Handle, format_handle, parse_handle
    from mcp_offload.models import (
        ArtifactEntry,
        CardResult,
        CauseEntry,
        DiffResult,
        DigestResult,
        EditResult,
        ExportResult,
        FailureEntry,
        GcResult,
        Hit,
        JobEntry,
        JobsResult,
        Kind,
        LeaseResult,
        ListResult,
        MapEntry,
        MapResult,
        Monitor,
        OutlineResult,
        ReadResult,
        ReleaseResult,
        Rest,
        RunDiff,
        RunResult,
        SearchResult,
        SkippedFile,
        StatsResult,
        Status,
        StoreManyResult,
        StoreResult,
        SymbolChange,
        SymbolEntry,
        SymbolHits,
    )
    from mcp_offload.paths.workspace import resolve_workspace
    from mcp_offload.service import (
        OffloadService,
        Session,
        open_service,
        outline_text,
        read_text,
        search_text,
        stored_line,
        stored_text,
    )
    from mcp_offload.settings import LeaseSettings, Settings

__version__ = "0.1.0"

__all__ = [
    "ArtifactEntry",
    "CardResult",
    "CauseEntry",
    "ConflictError",
    "DiffResult",
    "DigestResult",
    "EditResult",
    "ExportResult",
    "FailureEntry",
    "GcResult",
    "Handle",
    "HandleGoneError",
    "HandleNotFoundError",
    "Hit",
    "InvalidHandleError",
    "JobEntry",
    "JobsResult",
    "Kind",
    "LeaseResult",
    "LeaseSettings",
    "ListResult",
    "MapEntry",
    "MapResult",
    "Monitor",
    "NotFoundError",
    "OffloadError",
    "OffloadService",
    "OperationCancelledError",
    "OutlineResult",
    "ReadResult",
    "ReleaseResult",
    "Rest",
    "RunDiff",
    "RunResult",
    "SearchResult",
    "Session",
    "Settings",
    "SkippedFile",
    "SourceError",
    "StatsResult",
    "Status",
    "StoreError",
    "StoreManyResult",
    "StoreResult",
    "SymbolAmbiguousError",
    "SymbolChange",
    "SymbolEntry",
    "SymbolHits",
    "SymbolNotFoundError",
    "UsageError",
    "__version__",
    "format_handle",
    "open_service",
    "outline_text",
    "parse_handle",
    "read_text",
    "resolve_workspace",
    "search_text",
    "stored_line",
    "stored_text",
]

_HOMES: Final = {
    "Handle": "handle",
    "LeaseSettings": "settings",
    "OffloadService": "service",
    "Session": "service",
    "Settings": "settings",
    "format_handle": "handle",
    "open_service": "service",
    "outline_text": "service",
    "parse_handle": "handle",
    "read_text": "service",
    "resolve_workspace": "paths.workspace",
    "search_text": "service",
    "stored_line": "service",
    "stored_text": "service",
}
"""Where a name lives, as far as its ending does not tell: errors end in Error, the rest are models."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "errors" if name.endswith("Error") else "models")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
