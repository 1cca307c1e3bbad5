"""What structured data holds: pure functions from parsed JSON to a few lines, and from a query to rows."""

from __future__ import annotations

from mcp_offload.distill.delimited import Delimited
from mcp_offload.distill.pipeline import USAGE, Pipeline, QueryError, Step, is_pipeline, parse_pipeline
from mcp_offload.distill.shape import Shape, shape_of
from mcp_offload.distill.steps import field_names, run_steps
from mcp_offload.distill.tables import Table, tables_in

__all__ = [
    "USAGE",
    "Delimited",
    "Pipeline",
    "QueryError",
    "Shape",
    "Step",
    "Table",
    "field_names",
    "is_pipeline",
    "parse_pipeline",
    "run_steps",
    "shape_of",
    "tables_in",
]
