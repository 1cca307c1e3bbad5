"""Large artifacts as streamed HTTP bodies beside MCP, so that their bytes never pass through a model."""

from __future__ import annotations
