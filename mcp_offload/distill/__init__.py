"""What structured data holds: pure functions from parsed JSON to a few lines, and from a query to rows."""

from __future__ import annotations

from mcp_offload.distill.pipeline import QueryError, Step, parse_pipeline, run_steps
from mcp_offload.distill.shape import Shape, shape_of
from mcp_offload.distill.tables import Table, tables_in

__all__ = ["QueryError", "Shape", "Step", "Table", "parse_pipeline", "run_steps", "shape_of", "tables_in"]
