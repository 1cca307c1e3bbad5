"""Writes the gate's records to a file, one JSON object a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol


class _Record(Protocol):
    def as_dict(self) -> dict[str, Any]: ...


class RecordFile:
    """A file that grows by a line a request; each line is written whole.

    Args:
        path: made where it is missing, readable by its owner alone.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def record(self, record: _Record) -> None:
        """Append one record."""
        line = json.dumps(record.as_dict(), separators=(",", ":")) + "\n"
        os.write(self._descriptor, line.encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
