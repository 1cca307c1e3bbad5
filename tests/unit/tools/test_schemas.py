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
    assert set(schema["required"]) <= schema["properties"].keys()
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "anyOf" not in text


def test_one_result_requires_all_its_fields_and_several_what_they_share() -> None:
    edit: dict[str, Any] = output_schema("edit_handle")
    assert list(edit["properties"]) == edit["required"]
    assert edit["properties"]["path"] == {"type": ["string", "null"]}
    read = output_schema("read_handle")
    assert read["required"] == []
    assert read["properties"]["reads"]["items"]["required"]
    assert read["properties"]["status"]["enum"]
    search = output_schema("search_handles")
    assert search["required"] == ["searched"]
    assert search["properties"]["names"]["items"] == {"type": "array", "items": {"type": "string"}}


def test_only_structured_lists_have_them() -> None:
    assert all(tool.output_schema is None for tool in listed_tools("all"))
    assert all(tool.output_schema for tool in listed_tools("all", structured=True))
