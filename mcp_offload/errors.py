"""Everything that can go wrong, as one tree.

``str(exc)`` says what happened and what to do next; it is written for a model's context and is safe
to show to one: it never quotes stored content and never carries a traceback.

::

    OffloadError
    |- UsageError                    the request itself is wrong; repeating it cannot help
    |  |- InvalidHandleError         not a handle and not a path
    |  |- InvalidPatternError        a search pattern that does not compile
    |  |- InvalidArgumentError       a value out of its range
    |  |- SettingsError              an unknown or malformed setting
    |- NotFoundError
    |  |- HandleNotFoundError        never issued in this workspace
    |  |- HandleGoneError            issued once; evicted, expired, released or wiped since
    |  |- SymbolNotFoundError        the artifact has no such symbol (carries near misses)
    |  |- SpanOutOfRangeError        lines or bytes beyond the end
    |  |- NothingStoredError         a search over an empty workspace
    |  |- LeaseNotFoundError         nothing was counted for that session
    |- SymbolAmbiguousError          several symbols fit (carries the candidates)
    |- ConflictError                 the file on disk is not what the handle's version says
    |- NotTextError                  binary content is never printed; export it instead
    |- MemberUnreadableError         a member of an archive is encrypted, damaged, too large, ...
    |- NotEditableError              the edit could not be made without changing other bytes
    |- SourceError
    |  |- PathNotAllowedError        outside the allowed roots, or through a link
    |  |- SourceUnreadableError      missing, not a regular file, or not readable
    |- StoreError
    |  |- QuotaExceededError         does not fit the quota even after eviction
    |  |- StoreFullError             the disk (or its inodes) is full
    |  |- ArtifactTooLargeError      larger than one artifact may be
    |  |- CorruptBlobError           stored bytes no longer match their hash
    |  |- StoreVersionError          the store was written by a newer release
    |  |- StoreUnsafeError           wrong owner, mode or a symlink where the store should be
    |  |- StoreBusyError             another process held the store's lock for too long
    |- RegistrationError             a client's configuration cannot be read or written
    |- OperationCancelledError       the client asked to stop
"""

from __future__ import annotations

from collections.abc import Sequence


class OffloadError(Exception):
    """Base of every error this package raises on purpose."""


class UsageError(OffloadError):
    """The request itself is wrong; repeating it cannot help."""


class InvalidHandleError(UsageError):
    """The text is neither a handle nor a path with a selector."""


class InvalidPatternError(UsageError):
    """The search pattern does not compile."""


class InvalidArgumentError(UsageError):
    """A value is outside its stated range, or two values contradict each other."""


class SettingsError(UsageError):
    """A setting is unknown or malformed."""


class NotFoundError(OffloadError):
    """What was asked for is not there."""


class HandleNotFoundError(NotFoundError):
    """The handle was never issued in this workspace."""


class HandleGoneError(NotFoundError):
    """The handle was issued once, and its bytes have since been evicted, expired, released or wiped.

    Attributes:
        reason: one of ``evicted``, ``expired``, ``released``, ``wiped``.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class SymbolNotFoundError(NotFoundError):
    """The artifact has no symbol of that name.

    Attributes:
        near: handles of the closest names, best first.
    """

    def __init__(self, message: str, *, near: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.near = tuple(near)


class SpanOutOfRangeError(NotFoundError):
    """The lines or bytes asked for lie beyond the end of the artifact."""


class NothingStoredError(NotFoundError):
    """Nothing is stored in this workspace, so a search cannot answer."""


class LeaseNotFoundError(NotFoundError):
    """Nothing was delivered to the session, or it cannot be told which one is meant."""


class SymbolAmbiguousError(OffloadError):
    """Several symbols fit the name.

    Attributes:
        candidates: handles that each name exactly one of them.
    """

    def __init__(self, message: str, *, candidates: Sequence[str]) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


class ConflictError(OffloadError):
    """The file on disk is not what the handle's version says; nothing was written.

    Attributes:
        expected: the handle of the version the edit was based on.
        actual: the handle of the version that is on disk now, or None where the file is gone.
    """

    def __init__(self, message: str, *, expected: str, actual: str | None) -> None:
        super().__init__(message)
        self.expected = expected
        self.actual = actual


class NotTextError(OffloadError):
    """Binary content is never printed."""


class MemberUnreadableError(OffloadError):
    """A member of an archive is encrypted, damaged, too large, or packed in a way that is not read here."""


class NotEditableError(OffloadError):
    """The edit could not be made without changing bytes outside it."""


class SourceError(OffloadError):
    """A path named by a client cannot be used."""


class PathNotAllowedError(SourceError):
    """The path is outside the allowed roots, or leads there through a link."""


class SourceUnreadableError(SourceError):
    """The path is missing, is not a regular file, or cannot be read."""


class StoreError(OffloadError):
    """The store cannot do what was asked."""


class QuotaExceededError(StoreError):
    """The content does not fit the quota even after evicting all that may be evicted."""


class StoreFullError(StoreError):
    """The disk or its inodes are full; nothing acknowledged was lost."""


class ArtifactTooLargeError(StoreError):
    """The content is larger than one artifact may be."""


class CorruptBlobError(StoreError):
    """Stored bytes no longer match the hash they were acknowledged with."""


class StoreVersionError(StoreError):
    """The store was written by a newer release; it was left untouched."""


class StoreUnsafeError(StoreError):
    """The store's directory has the wrong owner or mode, or is a symbolic link."""


class StoreBusyError(StoreError):
    """Another process held the store's lock for longer than the time allowed."""


class RegistrationError(OffloadError):
    """A client's configuration cannot be read or written; it was left as it is."""


class OperationCancelledError(OffloadError):
    """The client asked to stop; nothing was acknowledged."""
