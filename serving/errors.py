"""Everything that can go wrong while serving, as one tree.

``str(exc)`` says what happened and what to do next.

::

    ServingError
    |- ServingUsageError      the request itself is wrong; repeating it cannot help
    |  |- ProfileError        a profile that cannot be read, or whose fields contradict each other
    |  |- ModelConfigError    a model's configuration that is missing or not understood
    |- DoesNotFitError        the load cannot be carried by the hardware (carries what would)
    |- EngineError            the engine did not start, ended, or cannot be reached
    |- CompactionError        choices of compaction cannot be kept or read
    |- MissingExtraError      an optional package is not installed
"""

from __future__ import annotations

from collections.abc import Sequence


class ServingError(Exception):
    """Base of every error this package raises on purpose."""


class ServingUsageError(ServingError):
    """The request itself is wrong; repeating it cannot help."""


class ProfileError(ServingUsageError):
    """A profile cannot be read, has an unknown or malformed field, or contradicts itself."""


class ModelConfigError(ServingUsageError):
    """A model's configuration is missing, malformed or describes layers that are not understood."""


class DoesNotFitError(ServingError):
    """The hardware cannot carry the load.

    Attributes:
        alternatives: what would carry it, one sentence each, smallest change first.
    """

    def __init__(self, message: str, *, alternatives: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.alternatives = tuple(alternatives)


class EngineError(ServingError):
    """The engine did not start, ended, or cannot be reached."""


class CompactionError(ServingError):
    """What compaction has chosen cannot be kept or read; the message names the file's fault."""


class MissingExtraError(ServingError):
    """An optional package is not installed; the message names the extra that brings it."""
