"""What the official conformance suite wants to be answered: names and texts are the suite's own.

Source: @modelcontextprotocol/conformance 0.2.0-alpha.12, the descriptions of its server scenarios.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
)


def _png() -> str:
    """One red pixel. Source: PNG specification, sections 5 and 11."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")).decode()


def _wav() -> str:
    """Eight silent samples: 8 kHz, mono, 8 bits."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = struct.pack("<4sI", b"data", 8) + b"\x80" * 8
    return base64.b64encode(
        struct.pack("<4sI4s", b"RIFF", 4 + len(form + data), b"WAVE") + form + data
    ).decode()


def text(said: str) -> TextContent:
    return TextContent(type="text", text=said)


IMAGE = ImageContent(type="image", data=_png(), mime_type="image/png")
AUDIO = AudioContent(type="audio", data=_wav(), mime_type="audio/wav")


def embedded(uri: str, said: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=said)
    )


# --- tools that only answer -----------------------------------------------------------------------

ANSWERS = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
    "test_headers": [text("Headers and arguments agree.")],
    "json_schema_2020_12_tool": [text("Any arguments will do.")],
}
ERROR = "This tool intentionally returns an error for testing"

JSON_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""The keywords of SEP-1613 and SEP-2106 that a server must pass on as they are."""

SCHEMAS: dict[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": JSON_SCHEMA,
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    },
    "test_headers": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
}
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def tool(name: str) -> Tool:
    schema = SCHEMAS.get(name, NO_ARGUMENTS)
    return Tool(name=name, description="A fixture of the conformance suite.", input_schema=schema)


# --- what is asked of the client ------------------------------------------------------------------


def _form(required: list[str] | None = None, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or list(properties)}


PERSON = _form(
    username={"type": "string", "description": "User's response"},
    email={"type": "string", "description": "User's email address"},
)
DEFAULTS = _form(
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
_OPTIONS = ["option1", "option2", "option3"]


def _titled(word: str) -> list[dict[str, str]]:
    return [{"const": f"value{n}", "title": f"{nth} {word}"} for n, nth in enumerate(("First", "Second"), 1)]


ENUMS = _form(
    untitledSingle={"type": "string", "enum": _OPTIONS},
    titledSingle={"type": "string", "oneOf": _titled("Option")},
    legacyEnum={
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti={"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    titledMulti={"type": "array", "items": {"anyOf": _titled("Choice")}},
)
ELICITATIONS = {
    "test_elicitation_sep1034_defaults": ("Review and update the form fields with defaults", DEFAULTS),
    "test_elicitation_sep1330_enums": ("Please select options", ENUMS),
}


def form(message: str, **properties: str) -> dict[str, Any]:
    """An elicitation as an input request; ``properties`` are types by name."""
    schema = _form(**{name: {"type": kind} for name, kind in properties.items()})
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling(said: str, tokens: int = 100) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": said}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", name="string")
CONFIRM = form("Please confirm", ok="boolean")

ROUNDS: dict[str, list[dict[str, dict[str, Any]]]] = {
    "test_input_required_result_elicitation": [{"user_name": NAME}],
    "test_input_required_result_sampling": [{"capital_question": sampling("What is the capital of France?")}],
    "test_input_required_result_list_roots": [{"client_roots": ROOTS}],
    "test_input_required_result_request_state": [{"confirm": CONFIRM}],
    "test_input_required_result_tampered_state": [{"confirm": CONFIRM}],
    "test_input_required_result_multiple_inputs": [
        {"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}
    ],
    "test_input_required_result_multi_round": [
        {"step1": form("Step 1: What is your name?", name="string")},
        {"step2": form("Step 2: What is your favorite color?", color="string")},
    ],
    "test_input_required_result_capabilities": [
        {"user_name": NAME, "greeting": sampling("Generate a greeting")}
    ],
    "test_input_required_result_prompt": [
        {"user_context": form("What context should the prompt use?", context="string")}
    ],
}
"""What each of these asks for, round by round."""

# --- prompts and resources ------------------------------------------------------------------------


def _said(*contents: Any) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=content) for content in contents])


def prompt(name: str, given: dict[str, str]) -> GetPromptResult:
    match name:
        case "test_simple_prompt":
            return _said(text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            both = f"arg1='{given.get('arg1', '')}', arg2='{given.get('arg2', '')}'"
            return _said(text(f"Prompt with arguments: {both}"))
        case "test_prompt_with_embedded_resource":
            resource = embedded(given.get("resourceUri", ""), "Embedded resource content for testing.")
            return _said(resource, text("Please process the embedded resource above."))
        case _:
            return _said(IMAGE, text("Please analyze the image above."))


PROMPTS = [
    Prompt(
        name=name,
        description="A fixture of the conformance suite.",
        arguments=[PromptArgument(name=one, description="text", required=True) for one in arguments],
    )
    for name, arguments in {
        "test_simple_prompt": (),
        "test_prompt_with_arguments": ("arg1", "arg2"),
        "test_prompt_with_embedded_resource": ("resourceUri",),
        "test_prompt_with_image": (),
        "test_input_required_result_prompt": (),
    }.items()
]
STATIC_TEXT, STATIC_BINARY, WATCHED = "test://static-text", "test://static-binary", "test://watched-resource"
RESOURCES = [
    Resource(uri=STATIC_TEXT, name="static text", mime_type="text/plain"),
    Resource(uri=STATIC_BINARY, name="static binary", mime_type="image/png"),
    Resource(uri=WATCHED, name="watched", mime_type="text/plain"),
]
TEMPLATE = ResourceTemplate(
    uri_template="test://template/{id}/data", name="template", mime_type="application/json"
)


def resource(uri: str) -> TextResourceContents | BlobResourceContents | None:
    """A resource of the suite, or None where it is none."""
    if uri == STATIC_BINARY:
        return BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE.data)
    if uri == STATIC_TEXT:
        said = "This is the content of the static text resource."
        return TextResourceContents(uri=uri, mime_type="text/plain", text=said)
    if uri == WATCHED:
        return TextResourceContents(uri=uri, mime_type="text/plain", text="watched")
    name = uri.removeprefix("test://template/").removesuffix("/data")
    if uri == f"test://template/{name}/data":
        said = f'{{"id":"{name}","templateTest":true,"data":"Data for ID: {name}"}}'
        return TextResourceContents(uri=uri, mime_type="application/json", text=said)
    return None
