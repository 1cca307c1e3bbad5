"""From our errors to what a client is told: one table, one sentence of meaning for each.

The text of a tool error is the exception's own message (what happened and the next step), followed by
the handles it carries. Programs that ask for JSON also get the code of this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp_offload import errors


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """What one class of errors is called on the wire, what it means and what helps."""

    code: str
    meaning: str
    next_step: str


ERROR_KINDS: Final[Mapping[type[errors.OffloadError], ErrorKind]] = {
    errors.InvalidHandleError: ErrorKind(
        "invalid_handle", "The text is neither a handle nor a path.", "Correct the handle's spelling."
    ),
    errors.InvalidPatternError: ErrorKind(
        "invalid_pattern", "The search pattern does not compile.", "Correct it, or search literally."
    ),
    errors.InvalidArgumentError: ErrorKind(
        "invalid_argument", "An argument is missing, unknown or out of range.", "Correct the arguments."
    ),
    errors.SettingsError: ErrorKind(
        "settings", "The server was started with a wrong setting.", "Correct the server's options."
    ),
    errors.HandleNotFoundError: ErrorKind(
        "handle_not_found", "No such handle was ever issued in this workspace.", "Use a handle from a reply."
    ),
    errors.HandleGoneError: ErrorKind(
        "handle_gone", "The bytes were evicted, expired, released or wiped.", "Store the source again."
    ),
    errors.SymbolNotFoundError: ErrorKind(
        "symbol_not_found", "The artifact has no symbol of that name.", "Outline it, or use a handle named."
    ),
    errors.SpanOutOfRangeError: ErrorKind(
        "span_out_of_range", "The lines or bytes lie beyond the end.", "Ask for a range inside."
    ),
    errors.NothingStoredError: ErrorKind(
        "nothing_stored", "Nothing is stored in this workspace.", "Store something first."
    ),
    errors.LeaseNotFoundError: ErrorKind(
        "lease_not_found", "Nothing was delivered to that session.", "Name the session."
    ),
    errors.SymbolAmbiguousError: ErrorKind(
        "symbol_ambiguous", "Several symbols fit the name.", "Use one of the handles named."
    ),
    errors.ConflictError: ErrorKind(
        "conflict", "The file on disk is not the version the edit was based on.", "Read it again, then edit."
    ),
    errors.NotTextError: ErrorKind("not_text", "The content is binary.", "Export it to a path."),
    errors.MemberUnreadableError: ErrorKind(
        "member_unreadable", "The member cannot be unpacked.", "Export the archive and unpack it."
    ),
    errors.NotEditableError: ErrorKind(
        "not_editable", "The edit would change bytes outside it.", "Edit a whole symbol or whole lines."
    ),
    errors.PathNotAllowedError: ErrorKind(
        "path_not_allowed", "The path is outside the allowed roots.", "Use a path inside one of them."
    ),
    errors.SourceUnreadableError: ErrorKind(
        "source_unreadable", "The path is missing or not a readable file.", "Correct the path."
    ),
    errors.QuotaExceededError: ErrorKind(
        "quota_exceeded", "It does not fit the store's quota.", "Release what is not needed."
    ),
    errors.StoreFullError: ErrorKind("store_full", "The store's disk is full.", "Free space on the disk."),
    errors.ArtifactTooLargeError: ErrorKind(
        "artifact_too_large", "It is larger than one artifact may be.", "Store a part of it."
    ),
    errors.CorruptBlobError: ErrorKind(
        "corrupt_blob", "Stored bytes no longer match their hash.", "Store the source again."
    ),
    errors.StoreVersionError: ErrorKind(
        "store_version", "The store was written by a newer release.", "Upgrade, or use another store."
    ),
    errors.StoreUnsafeError: ErrorKind(
        "store_unsafe", "The store's directory is not private to its owner.", "Correct its owner and mode."
    ),
    errors.StoreBusyError: ErrorKind(
        "store_busy", "Another process held the store's lock too long.", "Repeat the call."
    ),
    errors.RegistrationError: ErrorKind(
        "registration", "A client's configuration was left as it is.", "Correct it, or edit it by hand."
    ),
    errors.OperationCancelledError: ErrorKind(
        "operation_cancelled",
        "The client asked to stop.",
        "Repeat the call if that was not meant.",
    ),
}

UNKNOWN_KIND: Final = ErrorKind("internal", "The server failed.", "Repeat the call once, then report it.")
#: What the model is told of an exception nobody foresaw; the traceback goes to standard error.
INTERNAL_TEXT: Final = (
    "The server failed on this call; nothing was acknowledged. Repeat it once, then do without."
)


def kind_of_error(error: BaseException) -> ErrorKind:
    """The entry of the nearest class in the table, :data:`UNKNOWN_KIND` where there is none."""
    for ancestor in type(error).__mro__:
        if issubclass(ancestor, errors.OffloadError) and ancestor in ERROR_KINDS:
            return ERROR_KINDS[ancestor]
    return UNKNOWN_KIND


def error_handles(error: errors.OffloadError) -> tuple[str, ...]:
    """The handles an error offers: near misses, candidates, the version that is there now."""
    match error:
        case errors.SymbolNotFoundError():
            return error.near
        case errors.SymbolAmbiguousError():
            return error.candidates
        case errors.ConflictError():
            return (error.actual,) if error.actual is not None else ()
        case _:
            return ()


def error_text(error: errors.OffloadError) -> str:
    """What the model reads: the message, then a line for each handle not yet named in it."""
    text = str(error) or kind_of_error(error).meaning
    missing = [handle for handle in error_handles(error) if handle not in text]
    return "\n".join([text, *missing])


def error_json(error: BaseException) -> dict[str, object]:
    """What a program gets: ``{"error": {type, message, handles}}``."""
    foreseen = isinstance(error, errors.OffloadError)
    return {
        "error": {
            "type": kind_of_error(error).code,
            "message": str(error) if foreseen else INTERNAL_TEXT,
            "handles": list(error_handles(error)) if foreseen else [],
        }
    }
