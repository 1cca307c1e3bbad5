"""What the rows of a query are called, and how they are known again."""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Artifact

NAME_CHARS: Final = 60
_ENDING: Final = ".jsonl"
_NAMED: Final = re.compile(r".\?[^?].*\.jsonl\Z", re.DOTALL)


def rows_name(artifact: Artifact, query: str) -> str:
    """``orders.json?$.rows[*].jsonl``: the artifact and the query, on one line."""
    return f"{artifact.name}?{' '.join(query.split())[:NAME_CHARS]}{_ENDING}"


def are_rows(artifact: Artifact) -> bool:
    """Whether an artifact holds the rows of a query over another one, by its name."""
    return artifact.source_path is None and _NAMED.search(artifact.name) is not None
