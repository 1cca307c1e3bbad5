"""The values that travel between the layers: frozen, typed, without behaviour of their own.

Spans are half-open byte ranges. Lines are 1-based and inclusive and count LF only. Byte offsets and
line numbers refer to an artifact's *view*: its bytes as stored, except for UTF-16, legacy encodings and
compressed text, whose view is a UTF-8 transcription kept beside the stored bytes.

Names load when they are first used: a command that a client waits for needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_offload.models.cards import CardChange, CardResult
    from mcp_offload.models.core import (
        KIND_NAMES,
        MEMBER,
        PARTS,
        Artifact,
        FileStamp,
        Kind,
        Monitor,
        Outline,
        Part,
        SilentMonitor,
        Span,
        Status,
        Symbol,
        Version,
    )
    from mcp_offload.models.leases import ArtifactUse, DeliveryStats, LeaseResult, SessionUse, ToolUse
    from mcp_offload.models.results import (
        ArtifactEntry,
        CauseEntry,
        DiffResult,
        DigestResult,
        EditResult,
        ExportResult,
        FailureEntry,
        GcResult,
        Hit,
        ListResult,
        MapEntry,
        MapResult,
        OutlineResult,
        ReadResult,
        ReleaseResult,
        Rest,
        RunDiff,
        RunTest,
        SearchResult,
        SkippedFile,
        StoreManyResult,
        StoreResult,
        SymbolChange,
        SymbolEntry,
        SymbolHits,
    )
    from mcp_offload.models.runs import JobEntry, JobsResult, RunResult
    from mcp_offload.models.stats import StatsResult

__all__ = [
    "KIND_NAMES",
    "MEMBER",
    "PARTS",
    "Artifact",
    "ArtifactEntry",
    "ArtifactUse",
    "CardChange",
    "CardResult",
    "CauseEntry",
    "DeliveryStats",
    "DiffResult",
    "DigestResult",
    "EditResult",
    "ExportResult",
    "FailureEntry",
    "FileStamp",
    "GcResult",
    "Hit",
    "JobEntry",
    "JobsResult",
    "Kind",
    "LeaseResult",
    "ListResult",
    "MapEntry",
    "MapResult",
    "Monitor",
    "Outline",
    "OutlineResult",
    "Part",
    "ReadResult",
    "ReleaseResult",
    "Rest",
    "RunDiff",
    "RunResult",
    "RunTest",
    "SearchResult",
    "SessionUse",
    "SilentMonitor",
    "SkippedFile",
    "Span",
    "StatsResult",
    "Status",
    "StoreManyResult",
    "StoreResult",
    "Symbol",
    "SymbolChange",
    "SymbolEntry",
    "SymbolHits",
    "ToolUse",
    "Version",
]

_NAMES: Final = {
    "cards": "CardChange CardResult",
    "core": (
        "KIND_NAMES MEMBER PARTS Artifact FileStamp Kind Monitor Outline Part SilentMonitor Span Status "
        "Symbol Version"
    ),
    "leases": "ArtifactUse DeliveryStats LeaseResult SessionUse ToolUse",
    "runs": "JobEntry JobsResult RunResult",
    "stats": "StatsResult",
    "results": (
        "ArtifactEntry CauseEntry DiffResult DigestResult EditResult ExportResult FailureEntry GcResult "
        "Hit ListResult MapEntry MapResult OutlineResult ReadResult ReleaseResult Rest "
        "RunDiff RunTest SearchResult SkippedFile StoreManyResult StoreResult SymbolChange SymbolEntry "
        "SymbolHits"
    ),
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
