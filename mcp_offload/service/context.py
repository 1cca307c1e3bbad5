"""What every operation of the service works with, and what one client's session remembers."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_offload.errors import HandleGoneError, HandleNotFoundError
from mcp_offload.handle import ArtifactRef, Handle, Selector, format_handle
from mcp_offload.models import Artifact, Kind, Outline, Version
from mcp_offload.parsing import ParserWorker
from mcp_offload.paths import Roots
from mcp_offload.settings import Settings
from mcp_offload.store import Store
from mcp_offload.tokens import TokenCounter

if TYPE_CHECKING:
    from mcp_offload.digest import Digest


@dataclass(frozen=True, slots=True)
class Context:
    """The parts an operation joins. Each is thread-safe; ``outlines`` and ``digests`` are small caches."""

    settings: Settings
    store: Store
    parser: ParserWorker
    counter: TokenCounter
    roots: Roots
    outlines: dict[str, Outline] = field(default_factory=dict[str, Outline])
    digests: dict[str, Digest] = field(default_factory=dict[str, "Digest"])


@dataclass(slots=True)
class Session:
    """What one client has been shown: the newest version of each artifact by number.

    A handle without a version means that one. Shared by the threads that serve one client; each
    update is a single dictionary store.
    """

    shown: dict[int, int] = field(default_factory=dict[int, int])

    def begin(self) -> None:
        """Call before an operation: a session that is kept elsewhere is read anew."""

    def keep(self) -> None:
        """Call after an operation: a session that is kept elsewhere is written."""

    def show(self, number: int, version: int) -> None:
        """Remember that the client has now seen ``version`` of artifact ``number``."""
        self.shown[number] = version


def artifact_of(ctx: Context, ref: ArtifactRef) -> Artifact:
    """The artifact that a handle names.

    Raises:
        HandleGoneError, HandleNotFoundError: it is not there; the message names the handle.
    """
    with _naming(ref.kind, ref.number):
        return ctx.store.artifact(ctx.settings.workspace, ref.number)


def version_of(ctx: Context, artifact: Artifact, number: int | None) -> Version:
    """A version of an artifact, None = the newest.

    Raises:
        HandleGoneError, HandleNotFoundError: it is not there; the message names the artifact's handle.
    """
    with _naming(artifact.kind, artifact.number):
        return ctx.store.version(artifact.workspace, artifact.number, number)


@contextmanager
def _naming(kind: Kind, number: int) -> Generator[None]:
    """Put the handle in place of what the store, which issues numbers only, calls an artifact."""
    try:
        yield
    except HandleGoneError as exc:
        raise HandleGoneError(_named(exc, kind, number), reason=exc.reason) from None
    except HandleNotFoundError as exc:
        raise HandleNotFoundError(_named(exc, kind, number)) from None


def _named(error: Exception, kind: Kind, number: int) -> str:
    return re.sub(rf"\b[Aa]rtifact {number}\b", f"{kind.value}{number}", str(error), count=1)


def has_digest(artifact: Artifact, version: Version) -> bool:
    """True for text that is a log or a test run."""
    return artifact.kind in (Kind.LOG, Kind.TEST) and not version.binary


def handle_of(artifact: Artifact, version: int | None = None, selector: Selector | None = None) -> str:
    """The printed handle of an artifact, one of its versions, or a part of either.

    The version is left out where it is the first and only one, since the number alone then says it.
    """
    printed = None if version == 1 and artifact.latest == 1 else version
    return format_handle(Handle(ArtifactRef(artifact.kind, artifact.number, printed), selector))
