"""Arguments: common slips are forgiven, everything else is refused briefly and by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.tools import arguments as args
from mcp_offload.tools.arguments import ToolArguments, listed_schema, read_arguments
from mcp_offload.tools.catalog import TOOLS


@pytest.mark.parametrize(
    ("given", "handles"),
    [
        ({"handles": ["f1", "f2"]}, ["f1", "f2"]),
        ({"handles": "f1#a b"}, ["f1#a b"]),
        ({"handles": '["f1", "f2"]'}, ["f1", "f2"]),
        ({"handles": "[draft].md"}, ["[draft].md"]),
        ({"handle": "f1"}, ["f1"]),
        ({"handle": ["f1"]}, ["f1"]),
        ({"path": "src/app.py"}, ["src/app.py"]),
    ],
)
def test_a_list_of_handles_may_be_one_string(given: dict[str, Any], handles: list[str]) -> None:
    assert read_arguments(args.ReadArguments, given).handles == handles


def test_one_handle_may_be_a_list_of_one() -> None:
    assert read_arguments(args.OutlineArguments, {"handles": ["f1"]}).handle == "f1"


def test_numbers_and_flags_may_be_strings() -> None:
    given = {"pattern": "x", "max_tokens": "300", "literal": "true", "ignore_case": "False"}
    read = read_arguments(args.SearchArguments, given)
    assert (read.max_tokens, read.literal, read.ignore_case, read.symbols) == (300, True, False, False)


def test_null_is_absent() -> None:
    read = read_arguments(args.SearchArguments, {"pattern": "x", "handles": None, "max_tokens": None})
    assert (read.handles, read.max_tokens) == ([], None)


def test_text_that_looks_like_json_stays_text() -> None:
    for text in ('{"a": 1}', "[1]", "null", "5"):
        assert read_arguments(args.EditArguments, {"handle": "f1", "text": text}).text == text
        assert read_arguments(args.StoreArguments, {"content": text}).content == text


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        (args.ReadArguments, {}, ["handles is missing"]),
        (args.ReadArguments, {"handles": []}, ["handles must not be empty"]),
        (args.ReadArguments, {"handles": [1]}, ["handles must be a list of strings"]),
        (args.ReadArguments, {"handles": {"a": "SECRET"}}, ["handles must be a list of strings"]),
        (args.ReadArguments, {"handles": ["f1"], "max_tokens": 3}, ["max_tokens must be at least 50"]),
        (
            args.ReadArguments,
            {"handles": ["f1"], "max_tokens": "many"},
            ["max_tokens must be a whole number"],
        ),
        (args.ReadArguments, {"handles": ["f1"], "max_tokens": 10**9}, ["max_tokens must be at most"]),
        (args.EditArguments, {"handle": "f1", "text": "x", "op": "SECRET"}, ["op must be 'replace'"]),
        (args.EditArguments, {"handle": "f1", "text": 5}, ["text must be a string"]),
        (
            args.EditArguments,
            {"handle": "f1", "text": "x", "write": "SECRET"},
            ["write must be true or false"],
        ),
        (args.OutlineArguments, {"handle": ["f1", "f2"]}, ["handle must be a string"]),
        (args.StoreArguments, {}, ["source", "content", "one of the two"]),
        (args.StoreArguments, {"source": "a", "content": "SECRET"}, ["one of the two"]),
        (
            args.DiffArguments,
            {"before": "f1", "zap": "SECRET", "bar": 1},
            ["Unknown: bar, zap.", "Allowed: before, after, max_tokens."],
        ),
        (args.ReadArguments, {"handles": ["f1"], "handle": "f2"}, ["Unknown: handle."]),
    ],
)
def test_wrong_arguments_are_named_and_never_quoted(
    model: type[ToolArguments], given: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read_arguments(model, given)
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
    assert "SECRET" not in message
    assert "pydantic" not in message
    assert len(message) < 200


def test_a_huge_unknown_name_is_cut() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read_arguments(args.ReadArguments, {"handles": ["f1"], "x" * 10_000: 1})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("model", [spec.arguments for spec in TOOLS.values()], ids=lambda m: m.__name__)
def test_listed_schemas_are_flat(model: type[ToolArguments]) -> None:
    schema = listed_schema(model)
    text = json.dumps(schema)
    banned = ["$ref", "$defs", "anyOf", "oneOf", "allOf", '"format"', '"title"', '"default"', '"null"']
    assert [word for word in banned if word in text] == []
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == list(model.model_fields)
    for prop in schema["properties"].values():
        assert prop["type"] in ("string", "integer", "boolean", "array")
        assert prop.keys() <= {"type", "description", "enum", "items"}
        assert prop.get("items", {"type": "string"}) == {"type": "string"}


@pytest.mark.parametrize("model", [spec.arguments for spec in TOOLS.values()], ids=lambda m: m.__name__)
def test_what_is_required_is_what_the_check_requires(model: type[ToolArguments]) -> None:
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    assert listed_schema(model).get("required", []) == required


@pytest.mark.parametrize("model", [spec.arguments for spec in TOOLS.values()], ids=lambda m: m.__name__)
def test_slips_stand_for_arguments_and_hide_none(model: type[ToolArguments]) -> None:
    assert set(model.slips.values()) <= set(model.model_fields)
    assert not set(model.slips) & set(model.model_fields)
