"""Keep files, logs and build artifacts out of an agent's context; work with them through handles."""

from __future__ import annotations

__version__ = "0.1.0"
