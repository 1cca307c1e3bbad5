"""The schema of each tool's JSON, for programs: flat, with every field of the result it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import EnumMeta
from types import NoneType, UnionType
from typing import Any, Final, Union, cast, get_args, get_origin, get_type_hints

from mcp_offload import models
from mcp_offload.wire.reply import REFUSED

_SCALARS: Final[Mapping[object, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}

_RESULTS: Final[Mapping[str, tuple[type, ...]]] = {
    "store_artifact": (models.StoreResult, models.StoreManyResult),
    "outline_handle": (models.OutlineResult, models.MapResult),
    "read_handle": (models.ReadResult,),
    "search_handles": (models.SearchResult, models.SymbolHits),
    "edit_handle": (models.EditResult,),
    "diff_handles": (models.DiffResult,),
    "export_handle": (models.ExportResult,),
    "list_artifacts": (models.ListResult,),
    "release_handles": (models.ReleaseResult,),
    "run_command": (models.RunResult,),
    "context_lease": (models.LeaseResult,),
}


def output_schema(tool: str) -> dict[str, Any]:
    """The schema of what a tool answers: the fields of its result, of each where there are several.

    None is required, since under a hard lease a call may be refused: that answer has ``refused`` alone.
    Every other answer has all the fields of its result.
    """
    shapes = [_schema(result) for result in _RESULTS[tool]]
    if tool == "read_handle":
        shapes.append(_object({"reads": {"type": "array", "items": shapes[0]}}))
    properties: dict[str, Any] = {}
    for shape in shapes:
        for name, schema in shape["properties"].items():
            properties.setdefault(name, schema)
    return {"type": "object", "properties": {**properties, REFUSED: {"type": "string"}}}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema(hint: Any) -> dict[str, Any]:
    """The schema of a type hint; an empty one where anything fits."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return _object({one.name: _schema(hints[one.name]) for one in fields(hint)})
    if isinstance(hint, EnumMeta):
        return {"type": "string", "enum": [member.value for member in cast("list[Any]", list(hint))]}
    if origin in (tuple, list):
        return {"type": "array", "items": _schema(arguments[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        return _nullable(_schema(next(one for one in arguments if one is not NoneType)))
    return {}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else schema
