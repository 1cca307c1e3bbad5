"""From our errors to HTTP answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import JSONResponse

from mcp_offload import errors
from mcp_offload.wire.errors import error_json
from mcp_offload.wire.scrub import scrub_message

# Source: RFC 9110, section 15; 507 of RFC 4918.
_STATUSES: Final[Mapping[type[errors.OffloadError], int]] = {
    errors.UsageError: 400,
    errors.SymbolAmbiguousError: 400,
    errors.HandleGoneError: 410,
    errors.NotFoundError: 404,
    errors.ArtifactTooLargeError: 413,
    errors.QuotaExceededError: 507,
    errors.StoreFullError: 507,
    errors.StoreBusyError: 503,
    errors.OperationCancelledError: 503,
}


def status_of(error: errors.OffloadError) -> int:
    """The HTTP status that says what went wrong."""
    for ancestor in type(error).__mro__:
        if issubclass(ancestor, errors.OffloadError) and ancestor in _STATUSES:
            return _STATUSES[ancestor]
    return 500


def refusal(error: errors.OffloadError) -> JSONResponse:
    """The answer: a status, and the JSON that a tool error has too."""
    return JSONResponse(scrub_message(error_json(error)), status_of(error))
