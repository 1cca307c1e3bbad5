r"""The ephemeral store of artifacts: content-addressed blobs under a catalog, shared by processes.

::

    with Store.open(StoreConfig(store_dir=..., state_dir=...)) as store:
        with store.stage([b"hello\n"]) as staged:
            put = NewVersion(staged=staged, kind=Kind.LOG, name="greeting", encoding="utf-8", lines=1)
            [(artifact, version, new)] = store.commit("workspace", [put])
        with store.open_view(version) as reader:
            span = reader.line_span(1, 1)
            text = reader.read(span.start_byte, span.end_byte)
"""

from __future__ import annotations

from mcp_offload.store.config import (
    CheckReport,
    NewVersion,
    ReleaseReport,
    StoreConfig,
    StoreStats,
    SymbolCandidate,
)
from mcp_offload.store.failpoints import Failpoints
from mcp_offload.store.growing import Growing, settled_key_of
from mcp_offload.store.ledger import Ledger
from mcp_offload.store.ledger_rows import ContentRow, LeaseRow, NewContent, Use, UseRow
from mcp_offload.store.reader import BlobReader
from mcp_offload.store.staged import Staged
from mcp_offload.store.store import Store
from mcp_offload.store.tab import Posting

__all__ = [
    "BlobReader",
    "CheckReport",
    "ContentRow",
    "Failpoints",
    "Growing",
    "LeaseRow",
    "Ledger",
    "NewContent",
    "NewVersion",
    "Posting",
    "ReleaseReport",
    "Staged",
    "Store",
    "StoreConfig",
    "StoreStats",
    "SymbolCandidate",
    "Use",
    "UseRow",
    "settled_key_of",
]
