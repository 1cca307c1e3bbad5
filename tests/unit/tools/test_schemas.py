"""Every result's JSON is what its tool's schema says, and the schemas are flat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_offload.tools.catalog import TOOLS, listed_tools
from mcp_offload.tools.schemas import output_schema


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_are_objects_without_references(name: str) -> None:
    schema = output_schema(name)
    assert schema["type"] == "object"
    assert schema["properties"]["refused"] == {"type": "string"}
    assert "required" not in schema
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "anyOf" not in text


def test_the_fields_of_each_result_are_there_and_within_a_field_required() -> None:
    edit: dict[str, Any] = output_schema("edit_handle")
    assert edit["properties"]["path"] == {"type": ["string", "null"]}
    read = output_schema("read_handle")
    assert read["properties"]["reads"]["items"]["required"]
    assert read["properties"]["status"]["enum"]
    search = output_schema("search_handles")
    assert {"searched", "names", "hits"} <= search["properties"].keys()
    assert search["properties"]["names"]["items"] == {"type": "array", "items": {"type": "string"}}


def test_only_structured_lists_have_them() -> None:
    assert all(tool.output_schema is None for tool in listed_tools("all"))
    assert all(tool.output_schema for tool in listed_tools("all", structured=True))
