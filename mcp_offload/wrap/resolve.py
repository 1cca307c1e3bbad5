"""Handles in the arguments of a call, replaced by what they name before the server sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from mcp_offload.errors import ArtifactTooLargeError, NotTextError
from mcp_offload.models import Monitor
from mcp_offload.wire.messages import JsonObject

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

PREFIX: Final = "handle:"
MOST_BYTES: Final = 16 << 20


def carries_handles(value: object) -> bool:
    """Whether a string in ``value`` begins with ``handle:``."""
    match value:
        case str():
            return value.startswith(PREFIX)
        case dict():
            return any(carries_handles(item) for item in cast("JsonObject", value).values())
        case list():
            return any(carries_handles(item) for item in cast("list[object]", value))
        case _:
            return False


def resolved(service: OffloadService, arguments: Mapping[str, object], monitor: Monitor) -> JsonObject:
    """The arguments with the text that each ``handle:H`` names in its place.

    Raises:
        ArtifactTooLargeError, NotTextError: it cannot be an argument.
        OffloadError: the handle names nothing.
    """
    return {key: _resolved(service, value, monitor) for key, value in arguments.items()}


def _resolved(service: OffloadService, value: object, monitor: Monitor) -> object:
    if isinstance(value, str) and value.startswith(PREFIX):
        return _text(service, value.removeprefix(PREFIX).strip(), monitor)
    if isinstance(value, dict):
        return resolved(service, cast("JsonObject", value), monitor)
    if isinstance(value, list):
        return [_resolved(service, item, monitor) for item in cast("list[object]", value)]
    return value


def _text(service: OffloadService, handle: str, monitor: Monitor) -> str:
    with service.content(handle, monitor=monitor) as content:
        if content.binary:
            raise NotTextError(f"{handle} is binary; an argument can only be text.")
        if content.size_bytes > MOST_BYTES:
            raise ArtifactTooLargeError(
                f"{handle} has {content.size_bytes} bytes; an argument may have {MOST_BYTES}. Name a part."
            )
        return content.read().decode("utf-8", "replace")
