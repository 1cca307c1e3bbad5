"""The service: what the tools, the command line and the library do, in one place."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_offload.cards.names import may_have_card
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.lease import ContextSource
from mcp_offload.models import (
    DiffResult,
    EditResult,
    ExportResult,
    GcResult,
    Kind,
    LeaseResult,
    ListResult,
    MapResult,
    Monitor,
    OutlineResult,
    ReadResult,
    ReleaseResult,
    RunResult,
    SearchResult,
    SilentMonitor,
    StatsResult,
    StoreManyResult,
    StoreResult,
    SymbolHits,
)
from mcp_offload.parsing import ParserWorker
from mcp_offload.paths import Roots
from mcp_offload.service import completion as completing
from mcp_offload.service import edit as editing
from mcp_offload.service import manage
from mcp_offload.service.accounting import entered
from mcp_offload.service.compare import compare
from mcp_offload.service.completion import Completions
from mcp_offload.service.content import Content, open_content
from mcp_offload.service.context import Context, Session
from mcp_offload.service.counter import WorkerCounter
from mcp_offload.service.export import export, stream
from mcp_offload.service.finding import find_symbols, search
from mcp_offload.service.ingest import Named, store_content, store_source
from mcp_offload.service.leases import Leases, report_context
from mcp_offload.service.limits import Limits
from mcp_offload.service.pattern import compile_pattern
from mcp_offload.service.read import read
from mcp_offload.service.resolve import artifact_kind
from mcp_offload.service.survey import outline
from mcp_offload.settings import Settings
from mcp_offload.store import NewContent, Store, StoreConfig
from mcp_offload.tokens import LARGE_BYTES

if TYPE_CHECKING:
    from mcp_offload.service.jobs import Jobs

# A larger log takes seconds to digest, and whoever stores it wants to hear that it is stored.
DIGESTED_BYTES = 128 << 20
UNLIMITED = 1 << 60
_DIGESTED = ("l", "t")
_SILENT = SilentMonitor()


class OffloadService:
    """Stores, outlines, reads, searches, edits, compares and exports by handle.

    Thread-safe. Every method raises subclasses of :class:`mcp_offload.errors.OffloadError` and
    nothing else on purpose. ``max_tokens`` None means the setting's default, 0 no limit. A
    ``session`` remembers which versions one client was shown; leave it out for a fresh one.
    """

    def __init__(self, settings: Settings, store: Store, parser: ParserWorker) -> None:
        roots = Roots(settings.roots, settings.base_dir)
        self._ctx = Context(settings, store, parser, WorkerCounter(parser), roots)
        self._jobs: Jobs | None = None
        self._lock = threading.Lock()

    def in_workspace(self, workspace: str, workspace_bytes: int | None = None) -> OffloadService:
        """The same store, seen from another workspace that may hold ``workspace_bytes``."""
        settings = replace(self.settings, workspace=workspace, workspace_bytes=workspace_bytes)
        return OffloadService(settings, self._ctx.store, self._ctx.parser)

    @property
    def settings(self) -> Settings:
        """The settings the service was opened with."""
        return self._ctx.settings

    def count_tokens(self, text: str) -> int:
        """The o200k tokens of a text."""
        return self._ctx.counter.count(text)

    def store(
        self,
        source: str | None = None,
        *,
        content: str | bytes | Iterable[bytes] | None = None,
        name: str | None = None,
        kind: str | None = None,
        language: str | None = None,
        at_once_bytes: int | None = None,
        monitor: Monitor = _SILENT,
    ) -> StoreResult | StoreManyResult:
        """Store a file, directory or glob by path, or content (bytes may come in chunks).

        What is larger than ``at_once_bytes`` is neither counted nor digested before this returns, so that
        the caller hears of it at once; the outline has both. None: counted up to 4 MB, digested up to
        128 MiB.

        Raises:
            InvalidArgumentError: both or neither of ``source`` and ``content``.
            SourceError, StoreError: it cannot be read, or cannot be stored; nothing was acknowledged.
        """
        named = Named(name or None, artifact_kind(kind or ""), language or None)
        if (source is None) == (content is None):
            raise InvalidArgumentError("Give either a path or content, not both and not neither.")
        if source is not None:
            result = store_source(self._ctx, source, named, monitor, _least(at_once_bytes, LARGE_BYTES))
        else:
            count_bytes = _least(at_once_bytes, LARGE_BYTES)
            result = store_content(self._ctx, _chunks(content), named, monitor, count_bytes)
        if isinstance(result, StoreManyResult) or result.bytes > _least(at_once_bytes, DIGESTED_BYTES):
            return result
        if result.kind not in _DIGESTED or result.binary:
            return self._with_card(result, monitor)
        # The recognisers take a tenth of a second to load.
        from mcp_offload.service.digests import with_digest

        return with_digest(self._ctx, result, monitor)

    def _with_card(self, result: StoreResult, monitor: Monitor) -> StoreResult:
        if not may_have_card(result.name, binary=result.binary):
            return result
        # The readers of build artifacts take a while to load.
        from mcp_offload.service.cards import with_card

        return with_card(self._ctx, result, monitor)

    def outline(
        self,
        handle: str,
        *,
        max_tokens: int | None = None,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> OutlineResult | MapResult:
        """The symbols of an artifact or part of one, or the files of a directory."""
        return outline(self._ctx, handle, self._limits(max_tokens), session or Session(), monitor)

    def read(
        self,
        handles: Sequence[str],
        *,
        max_tokens: int | None = None,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> list[ReadResult]:
        """The text that each handle names, with a handle for whatever did not fit."""
        return read(self._ctx, handles, self._limits(max_tokens), session or Session(), monitor)

    def search(
        self,
        pattern: str,
        handles: Sequence[str] = (),
        *,
        literal: bool = False,
        ignore_case: bool = False,
        limit: int | None = None,
        max_tokens: int | None = None,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> SearchResult:
        """Lines that match an RE2 pattern or hold a literal, in the handles given or everywhere.

        Raises:
            InvalidPatternError: the pattern does not compile.
            NothingStoredError: nothing is stored, so there is nothing to search.
        """
        query = compile_pattern(pattern, literal=literal, ignore_case=ignore_case)
        limits = self._limits(max_tokens)
        return search(self._ctx, query, handles, limits, session or Session(), monitor, limit=limit)

    def find_symbols(
        self,
        name: str,
        handles: Sequence[str] = (),
        *,
        max_tokens: int | None = None,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> SymbolHits:
        """Symbols whose qualified name contains ``name``, best match first."""
        limits = self._limits(max_tokens)
        return find_symbols(self._ctx, name, handles, limits, session or Session(), monitor)

    def edit(
        self,
        handle: str,
        text: str,
        *,
        op: str = "replace",
        write: bool = True,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> EditResult:
        """Replace what a handle names, or insert before or after it; the source file follows.

        Raises:
            ConflictError: the file is not what the handle's version says; nothing was written.
        """
        if op not in ("replace", "before", "after"):
            raise InvalidArgumentError("op is replace, before or after.")
        request = editing.Edit(handle, text, op, write)
        return editing.edit(self._ctx, request, session or Session(), monitor)

    def diff(
        self,
        before: str,
        after: str | None = None,
        *,
        max_tokens: int | None = None,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> DiffResult:
        """The difference of two handles, or of one against the newest content (file on disk)."""
        return compare(self._ctx, before, after, self._limits(max_tokens), session or Session(), monitor)

    def export(
        self,
        handle: str,
        path: str,
        *,
        overwrite: bool = False,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> ExportResult:
        """Write the bytes a handle names to a path under a root."""
        return export(self._ctx, handle, path, session or Session(), monitor, overwrite=overwrite)

    def stream(self, handle: str, *, monitor: Monitor = _SILENT) -> Iterator[bytes]:
        """The bytes a handle names, in pieces, exactly as :meth:`export` writes them."""
        return stream(self._ctx, handle, Session(), monitor)

    def content(
        self,
        handle: str,
        *,
        raw: bool = False,
        session: Session | None = None,
        monitor: Monitor = _SILENT,
    ) -> AbstractContextManager[Content]:
        """The exact bytes a handle names, to be read while open.

        Text comes as UTF-8; ``raw``: a whole artifact comes as its stored bytes.
        """
        return open_content(self._ctx, handle, session or Session(), monitor, raw=raw)

    def complete_handle(
        self, typed: str, kinds: Sequence[Kind] = (), *, monitor: Monitor = _SILENT
    ) -> Completions:
        """What a half-typed handle may become; ``kinds`` empty = any."""
        return completing.complete_handle(self._ctx, typed, kinds, monitor)

    def complete_version(self, artifact: str, typed: str) -> Completions:
        """Version numbers of an artifact, newest first."""
        return completing.complete_versions(self._ctx, artifact, typed)

    def complete_selector(self, artifact: str, typed: str, *, monitor: Monitor = _SILENT) -> Completions:
        """What may stand after ``#`` in a handle of ``artifact``."""
        return completing.complete_selectors(self._ctx, artifact, typed, monitor)

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        shell: bool = False,
        name: str | None = None,
        timeout_seconds: float | None = None,
        wait_seconds: float | None = None,
        monitor: Monitor = _SILENT,
    ) -> RunResult:
        """Run a command, store what it prints, and wait for its end, or so long; it then runs on.

        ``cwd`` lies under a root; ``shell``: ``argv`` is one line for the system's shell. Whatever stops
        the wait ends the run.

        Raises:
            InvalidArgumentError, SourceError, StoreError: it was not started.
        """
        from mcp_offload.service.jobs import Request

        request = Request(argv=argv, cwd=cwd, shell=shell, name=name, timeout_seconds=timeout_seconds)
        return self.runs.run(request, wait_seconds, monitor)

    @property
    def runs(self) -> Jobs:
        """Commands that run: start, wait, cancel, list."""
        from mcp_offload.service.jobs import Jobs

        with self._lock:
            self._jobs = self._jobs or Jobs(self._ctx)
            return self._jobs

    @property
    def leases(self) -> Leases:
        """What each session may still be sent, and was sent."""
        return Leases(self._ctx.store.ledger, self._ctx.settings)

    def entered(self, handle: str, tool: str) -> NewContent | None:
        """What a printed handle brings into the session that called ``tool``, for the ledger."""
        return entered(self._ctx, handle, tool)

    def report_context(self, session: str, tokens: int, *, source: ContextSource = "client") -> LeaseResult:
        """Take note of how large a named session's whole context is now, in the model's own tokens.

        For who sees true prompts: a serving gateway, or a client. The lease then grants no more than
        what is left beside it.

        Raises:
            InvalidArgumentError: the name is malformed, or the size negative.
        """
        return report_context(self.leases, session, tokens, source)

    def close(self) -> None:
        """Kill the commands that still run, and store what they printed."""
        if self._jobs is not None:
            self._jobs.close()

    def list_artifacts(
        self, *, name: str | None = None, kind: str | None = None, limit: int = 50, offset: int = 0
    ) -> ListResult:
        """Artifacts of the workspace, most recently used first."""
        wanted = artifact_kind(kind or "")
        return manage.list_artifacts(self._ctx, name=name, kind=wanted, limit=limit, offset=offset)

    def release(self, handles: Sequence[str]) -> ReleaseResult:
        """Drop stored bytes; files on disk are not touched."""
        return manage.release(self._ctx, handles)

    def pin(self, handles: Sequence[str], *, pinned: bool = True) -> ReleaseResult:
        """Keep artifacts from eviction and expiry, or stop keeping them."""
        return manage.pin(self._ctx, handles, pinned=pinned)

    def purge(self, *, everything: bool = False) -> ReleaseResult:
        """Release all artifacts of the workspace, or of every workspace."""
        return manage.purge(self._ctx, everything=everything)

    def gc(self) -> GcResult:
        """Remove what expired, what exceeds the quota and what unfinished writes left."""
        return manage.gc(self._ctx)

    def stats(self) -> StatsResult:
        """What the store holds and promises."""
        return manage.stats(self._ctx)

    def _limits(self, max_tokens: int | None) -> Limits:
        settings = self._ctx.settings
        if max_tokens is not None and max_tokens < 0:
            raise InvalidArgumentError("max_tokens is a positive number, or 0 for no limit.")
        if max_tokens == 0:
            return Limits(UNLIMITED, UNLIMITED)
        return Limits(settings.max_tokens if max_tokens is None else max_tokens, settings.max_reply_bytes)


@contextmanager
def open_service(settings: Settings, parser: ParserWorker | None = None) -> Generator[OffloadService]:
    """Open the store and start nothing yet: the parser process starts with the first outline.

    ``parser``: one that may run already; it stays the caller's to close.

    Raises:
        StoreError: the store cannot be opened safely.
    """
    own = nullcontext(parser) if parser is not None else ParserWorker()
    with (
        Store.open(StoreConfig.from_settings(settings)) as store,
        own as worker,
        closing(OffloadService(settings, store, worker)) as service,
    ):
        yield service


def _least(limit_bytes: int | None, most_bytes: int) -> int:
    return most_bytes if limit_bytes is None else min(limit_bytes, most_bytes)


def _chunks(content: str | bytes | Iterable[bytes] | None) -> Iterable[bytes]:
    if isinstance(content, str):
        return [content.encode("utf-8", "surrogatepass")]
    if isinstance(content, bytes):
        return [content]
    return content or []
