"""The arguments of each tool, as the schema that is listed and the check that is made.

The listed schema is the model's own, made flat: no ``$ref``, ``anyOf``, ``format``, ``title`` or
``default``, since clients drop or choke on them. The check forgives what clients and models commonly
get wrong without changing the meaning (a string for a list of one, numbers and flags as strings, null
for absent, ``handle`` for ``handles``) and refuses everything else by name.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from mcp_offload.errors import InvalidArgumentError

MIN_TOKENS: Final = 50
MAX_TOKENS: Final = 100_000
_DROPPED_KEYWORDS: Final = frozenset(
    {"title", "default", "format", "anyOf", "minimum", "maximum", "minItems"}
)


def _as_list(value: object) -> object:
    """Accept one string for a list of one, and a list that was sent as JSON text."""
    if not isinstance(value, str):
        return value
    if value.startswith("["):
        try:
            parsed: object = json.loads(value)
        except ValueError:
            return [value]
        return cast("object", parsed) if isinstance(parsed, list) else [value]
    return [value]


Handles = Annotated[list[str], BeforeValidator(_as_list)]
Tokens = Annotated[int | None, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="reply budget")]


def _text(description: str) -> Any:
    return Field(default=None, description=description)


class ToolArguments(BaseModel):
    """Base of every tool's arguments.

    Attributes:
        slips: other names that a model uses for an argument, each accepted in its place.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    slips: ClassVar[Mapping[str, str]] = {}


class StoreArguments(ToolArguments):
    """Arguments of ``store_artifact``."""

    slips: ClassVar[Mapping[str, str]] = {"path": "source"}

    source: Annotated[str | None, _text("path or glob")] = None
    content: Annotated[str | None, _text("only text that no file holds")] = None
    name: str | None = None
    kind: Literal["file", "log", "test", "build"] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> StoreArguments:
        if (self.source is None) == (self.content is None):
            raise InvalidArgumentError("Give source (a path, directory or glob) or content, one of the two.")
        return self


class OutlineArguments(ToolArguments):
    """Arguments of ``outline_handle``."""

    slips: ClassVar[Mapping[str, str]] = {"handles": "handle", "path": "handle"}

    handle: str
    max_tokens: Tokens = None


class ReadArguments(ToolArguments):
    """Arguments of ``read_handle``."""

    slips: ClassVar[Mapping[str, str]] = {"handle": "handles", "path": "handles"}

    handles: Annotated[Handles, Field(min_length=1)]
    max_tokens: Tokens = None


class SearchArguments(ToolArguments):
    """Arguments of ``search_handles``."""

    slips: ClassVar[Mapping[str, str]] = {"handle": "handles", "path": "handles", "query": "pattern"}

    pattern: str
    handles: Annotated[Handles, Field(description="default: all stored")] = []
    literal: bool = False
    ignore_case: bool = False
    symbols: Annotated[bool, Field(description="pattern is a symbol's name")] = False
    max_tokens: Tokens = None


class EditArguments(ToolArguments):
    """Arguments of ``edit_handle``."""

    handle: str
    text: str
    op: Annotated[
        Literal["replace", "before", "after"], Field(description="default replace; others insert")
    ] = "replace"
    write: Annotated[bool, Field(description="false leaves the file alone")] = True


class DiffArguments(ToolArguments):
    """Arguments of ``diff_handles``."""

    before: str
    after: Annotated[str | None, _text("default: the file on disk")] = None
    max_tokens: Tokens = None


class ExportArguments(ToolArguments):
    """Arguments of ``export_handle``."""

    handle: str
    path: str
    overwrite: bool = False


class ListArguments(ToolArguments):
    """Arguments of ``list_artifacts``."""

    name: Annotated[str | None, _text("part of the name")] = None
    kind: Literal["file", "log", "test", "build"] | None = None
    offset: Annotated[int, Field(ge=0)] = 0


class ReleaseArguments(ToolArguments):
    """Arguments of ``release_handles``."""

    slips: ClassVar[Mapping[str, str]] = {"handle": "handles"}

    handles: Annotated[Handles, Field(min_length=1)]
    action: Annotated[
        Literal["release", "pin", "unpin"], Field(description="default release; pin keeps from expiring")
    ] = "release"


class LeaseArguments(ToolArguments):
    """Arguments of ``context_lease``; what else can be reported is for programs, in ``_meta``."""

    event: Literal["compacted", "cleared"] | None = None
    context_tokens: Annotated[int | None, Field(ge=0)] = None
    gone: Handles = []


class RunArguments(ToolArguments):
    """Arguments of ``run_command``."""

    slips: ClassVar[Mapping[str, str]] = {"argv": "command", "cmd": "command", "timeout": "timeout_seconds"}

    command: Annotated[Handles, Field(description="argv, no shell")] = []
    shell: Annotated[bool, Field(description="command is one line for sh")] = False
    cwd: str | None = None
    timeout_seconds: Annotated[float | None, Field(ge=1, description="end it then")] = None
    wait_seconds: Annotated[float, Field(ge=0, le=3600, description="default 30; it runs on after")] = 30
    job: Annotated[str | None, _text("instead: handle of a run to wait for")] = None
    cancel: Annotated[bool, Field(description="end that job")] = False

    @model_validator(mode="after")
    def _one_of_two(self) -> RunArguments:
        if bool(self.command) == (self.job is not None):
            raise InvalidArgumentError("Give command, or the job of one that runs.")
        if self.cancel and self.job is None:
            raise InvalidArgumentError("cancel ends a job; give its handle as job.")
        return self

    @property
    def argv(self) -> list[str]:
        """The program and its arguments; one string with spaces is what was typed, in words."""
        if self.shell:
            return [" ".join(self.command)]
        if len(self.command) == 1 and " " in self.command[0]:
            try:
                return shlex.split(self.command[0])
            except ValueError:
                raise InvalidArgumentError("A quotation in command is not closed.") from None
        return self.command


def listed_schema(model: type[ToolArguments]) -> dict[str, Any]:
    """The flat JSON schema of a tool's arguments, as it is sent."""
    schema = model.model_json_schema()
    listed: dict[str, Any] = {
        "type": "object",
        "properties": {name: _flat(prop) for name, prop in schema["properties"].items()},
    }
    if "required" in schema:
        listed["required"] = schema["required"]
    listed["additionalProperties"] = False
    return listed


def _flat(prop: Mapping[str, Any]) -> dict[str, Any]:
    """One property without what clients cannot use; ``X | None`` is listed as X."""
    flat = {key: value for key, value in prop.items() if key not in _DROPPED_KEYWORDS}
    for choice in prop.get("anyOf", ()):
        if choice.get("type") != "null":
            flat = {**_flat(choice), **flat}
    if isinstance(flat.get("items"), Mapping):
        flat["items"] = _flat(flat["items"])
    return flat


_Model = TypeVar("_Model", bound=ToolArguments)


def read_arguments(model: type[_Model], arguments: Mapping[str, object]) -> _Model:
    """Check the arguments of a call.

    Raises:
        InvalidArgumentError: naming each wrong argument and, for unknown ones, those allowed.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    for slip, meant in model.slips.items():
        if slip in given and meant not in given:
            given[meant] = _only(given.pop(slip)) if meant == "handle" else given.pop(slip)
    try:
        return model.model_validate(given)
    except ValidationError as exc:
        raise InvalidArgumentError(_explain(exc, model)) from None


def _only(value: object) -> object:
    """The one element of a list of one."""
    if isinstance(value, list) and len(cast("list[object]", value)) == 1:
        return cast("list[object]", value)[0]
    return cast("object", value)


def _explain(error: ValidationError, model: type[ToolArguments]) -> str:
    """One short sentence per wrong argument; values are never repeated."""
    found = [
        (str(detail["loc"][0]) if detail["loc"] else "", detail["type"], detail.get("ctx", {}))
        for detail in error.errors(include_url=False, include_input=False)
    ]
    sentences = [_sentence(name, kind, context, model) for name, kind, context in found if kind != _UNKNOWN]
    unknown = sorted({name[:40] for name, kind, _ in found if kind == _UNKNOWN})
    if unknown:
        sentences.append(f"Unknown: {', '.join(unknown)}. Allowed: {', '.join(model.model_fields)}.")
    return " ".join(dict.fromkeys(sentences))


_UNKNOWN: Final = "extra_forbidden"


def _sentence(name: str, kind: str, context: Mapping[str, object], model: type[ToolArguments]) -> str:
    match kind:
        case "missing":
            return f"{name} is missing."
        case "greater_than_equal":
            return f"{name} must be at least {context['ge']}."
        case "less_than_equal":
            return f"{name} must be at most {context['le']}."
        case "too_short":
            return f"{name} must not be empty."
        case "literal_error":
            return f"{name} must be {context['expected']}."
        case _:
            return f"{name} must be {_expected(model, name)}."


def _expected(model: type[ToolArguments], name: str) -> str:
    prop = listed_schema(model)["properties"].get(name, {})
    words = {
        "string": "a string",
        "integer": "a whole number",
        "boolean": "true or false",
        "array": "a list of strings",
    }
    return words.get(str(prop.get("type")), "of another type")
