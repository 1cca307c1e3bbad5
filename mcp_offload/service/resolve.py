"""From the text of a handle to the version and bytes it names, and how that stands against now."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_offload.cards.names import may_have_card
from mcp_offload.errors import (
    ArtifactTooLargeError,
    HandleNotFoundError,
    InvalidArgumentError,
    PathNotAllowedError,
    QuotaExceededError,
    SourceUnreadableError,
    StoreFullError,
    SymbolAmbiguousError,
    SymbolNotFoundError,
)
from mcp_offload.handle import (
    Handle,
    PathRef,
    QuerySelector,
    Selector,
    SymbolSelector,
    format_selector,
    parse_handle,
)
from mcp_offload.models import Artifact, Kind, Monitor, Outline, Status, Symbol, Version
from mcp_offload.service.context import Context, Session, artifact_of, handle_of, version_of
from mcp_offload.service.ingest import Named, store_file
from mcp_offload.service.lookup import Relocated, Snapshot, find, near, relocate
from mcp_offload.service.outlines import outline_of, symbol_handle

SNAPSHOT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """What a handle names, before its selector is applied.

    Attributes:
        base: the version the handle means: the one it states, else the newest one the client was
            shown, else the newest.
        newest: the newest content known, after a look at the source file.
        stated: True where the handle states its version.
        note: one line about the source file where it could not be compared, else None.
    """

    artifact: Artifact
    base: Version
    newest: Version
    stated: bool
    selector: Selector | None
    note: str | None = None

    @property
    def current(self) -> bool:
        """True where ``base`` is the newest content."""
        return self.base.version == self.newest.version


@dataclass(frozen=True, slots=True)
class ResolvedSymbol:
    """A symbol found: the version to read it from, and its status against the newest content."""

    version: Version
    symbol: Symbol
    outline: Outline
    status: Status
    now: tuple[str, ...]


def resolve(
    ctx: Context, text: str, session: Session, monitor: Monitor, *, follow_path: bool = True
) -> Target:
    """Find the artifact and versions that a handle or path means.

    A path is stored first where it is not yet; a source file that changed since is stored as a new
    version, so that both stay readable. A member of an archive is stored as well and becomes the target;
    without a version it is that of the newest content. ``follow_path``: a path means the newest content,
    whatever the client was shown; an edit says False, since it is made on what was shown.

    Raises:
        InvalidHandleError, HandleNotFoundError, HandleGoneError, SourceError, StoreError.
    """
    handle = parse_handle(text)
    ref = handle.artifact
    by_path = isinstance(ref, PathRef)
    latest: Version | None = None
    if isinstance(ref, PathRef):
        artifact, latest, handle = _by_path(ctx, text, handle, monitor)
        note = None
    else:
        artifact = artifact_of(ctx, ref)
        if artifact.growing:
            artifact = _settled(ctx, artifact)
        if artifact.kind is not ref.kind:
            raise HandleNotFoundError(
                f"{ref.kind.value}{ref.number} is not stored; {handle_of(artifact)} is {artifact.name}."
            )
        artifact, note = refreshed(ctx, artifact, monitor)
    wanted = handle.artifact.version
    newest = latest or version_of(ctx, artifact, None)
    shown = session.shown.get(artifact.number)
    base = newest
    if wanted is not None:
        base = version_of(ctx, artifact, wanted)
    elif shown is not None and shown != newest.version and not (follow_path and by_path):
        base = version_of(ctx, artifact, shown)
    ctx.store.touch(artifact.workspace, [artifact.number])
    target = Target(artifact, base, newest, wanted is not None, handle.selector, note)
    return _derived(ctx, target, monitor, latest=follow_path) or target


def _settled(ctx: Context, artifact: Artifact) -> Artifact:
    """The output of a run that has ended as an artifact like any other; of one that has not, as it is."""
    from mcp_offload.service.settle import settle_one

    settle_one(ctx, artifact.number)
    return ctx.store.artifact(artifact.workspace, artifact.number)


def _derived(ctx: Context, target: Target, monitor: Monitor, *, latest: bool) -> Target | None:
    """What a target's selector makes an artifact of its own: a member of an archive, the rows of a query.

    None for anything else. ``latest``: without a stated version it is that of the newest content.
    """
    version = target.newest if latest and not target.stated else target.base
    note = target.note
    if isinstance(target.selector, QuerySelector):
        from mcp_offload.service.query import stored_query

        rows, content, said = stored_query(ctx, target.artifact, version, target.selector, monitor)
        found, note = (rows, content), "; ".join(filter(None, (note, said))) or None
    elif not isinstance(target.selector, SymbolSelector) or not may_have_card(
        target.artifact.name, binary=version.binary
    ):
        return None
    else:
        # The readers of build artifacts take a while to load.
        from mcp_offload.service.cards import stored_member

        member = stored_member(ctx, target.artifact, version, target.selector, monitor)
        if member is None:
            return None
        found = member
    newer = None if version is target.base else f"from {handle_of(target.artifact, version.version)}, newer"
    return Target(found[0], found[1], found[1], stated=False, selector=None, note=note or newer)


def resolve_symbol(
    ctx: Context, target: Target, selector: SymbolSelector, monitor: Monitor
) -> ResolvedSymbol:
    """Find the symbol a target's selector names, and where it is now.

    A handle that states its version gets exactly that version's bytes. One that does not gets the
    newest content where the symbol is still itself there (same, moved, changed), else the bytes of
    the version it meant.

    Raises:
        SymbolNotFoundError: with the closest names.
        SymbolAmbiguousError: with a handle for each candidate.
    """
    artifact = target.artifact
    outline = outline_of(ctx, artifact, target.base, monitor)
    found = find(outline, selector)
    if not found and not target.current:
        return _only_in_newest(ctx, target, selector, monitor, outline)
    symbol = one_symbol(artifact, target.base, outline, selector, found)
    if target.current:
        return ResolvedSymbol(target.base, symbol, outline, Status.SAME, ())
    later = outline_of(ctx, artifact, target.newest, monitor)
    relocated = relocate(symbol, _snapshot(ctx, target.base, outline), _snapshot(ctx, target.newest, later))
    now = tuple(symbol_handle(artifact, target.newest, s) for s in relocated.symbols)
    follow = not target.stated and relocated.status in (Status.SAME, Status.MOVED, Status.CHANGED)
    if follow:
        return ResolvedSymbol(target.newest, relocated.symbols[0], later, relocated.status, now)
    return ResolvedSymbol(target.base, symbol, outline, relocated.status, now)


def symbol_status(
    ctx: Context, target: Target, symbol: Symbol, outline: Outline, monitor: Monitor
) -> Relocated:
    """How a symbol of the target's base version stands in the newest content."""
    later = outline_of(ctx, target.artifact, target.newest, monitor)
    return relocate(symbol, _snapshot(ctx, target.base, outline), _snapshot(ctx, target.newest, later))


def _by_path(
    ctx: Context, text: str, handle: Handle, monitor: Monitor
) -> tuple[Artifact, Version | None, Handle]:
    """The artifact of a path, its newest version where it was looked up, and the handle that was meant."""
    ref = handle.artifact
    assert isinstance(ref, PathRef)
    confined = ctx.roots.confine(ref.path)
    if not ctx.roots.is_file(confined):
        # '#' and '@2' are legal in file names; the file that exists is what was meant.
        whole = ctx.roots.confine(text.strip())
        if ctx.roots.is_file(whole):
            return *store_file(ctx, whole, Named(), monitor)[:2], Handle(PathRef(text.strip()))
        known = ctx.store.artifact_by_path(ctx.settings.workspace, confined.absolute)
        if known is not None:
            return known, None, handle
        if ctx.roots.is_directory(confined):
            raise InvalidArgumentError(f"{ref.path} is a directory; outline it, or name a file in it.")
    return *store_file(ctx, confined, Named(), monitor)[:2], handle


def refreshed(ctx: Context, artifact: Artifact, monitor: Monitor) -> tuple[Artifact, str | None]:
    """The artifact after a look at its source file; a change there has become a new version."""
    if artifact.source_path is None:
        return artifact, None
    try:
        confined = ctx.roots.confine(artifact.source_path)
    except PathNotAllowedError:
        return artifact, "source is outside the roots; not compared with the disk"
    try:
        refreshed = store_file(ctx, confined, Named(artifact.name), monitor)[0]
    except (SourceUnreadableError, PathNotAllowedError):
        return artifact, "source file is gone from the disk"
    except (QuotaExceededError, StoreFullError, ArtifactTooLargeError):
        # What is stored stays readable although the store has no room for more.
        return artifact, "source file has changed, but there is no room to store it"
    if refreshed.number != artifact.number:
        return artifact, None
    return refreshed, None


def one_symbol(
    artifact: Artifact, version: Version, outline: Outline, selector: SymbolSelector, found: list[Symbol]
) -> Symbol:
    """The one symbol of ``found``; otherwise the error that says what there is instead.

    Raises:
        SymbolNotFoundError, SymbolAmbiguousError.
    """
    if len(found) == 1:
        return found[0]
    name = format_selector(selector)
    if found:
        candidates = tuple(symbol_handle(artifact, version, s) for s in found)
        listed = ", ".join(f"{c} L{s.start_line}" for c, s in list(zip(candidates, found, strict=True))[:8])
        raise SymbolAmbiguousError(
            f"{name} fits {len(found)} symbols of {artifact.name}: {listed}. Name one of them.",
            candidates=candidates,
        )
    close = near(outline, selector)
    handles = tuple(symbol_handle(artifact, version, s) for s in close)
    handle = handle_of(artifact, version.version)
    if not outline.parsed:
        hint = f" ({outline.reason}); outline {handle} for its chunks, or use lines: {handle}#L1-40"
    elif handles:
        hint = f". Closest: {', '.join(handles)}"
    else:
        hint = f". Outline {handle} to see its symbols"
    raise SymbolNotFoundError(f"{artifact.name} has no symbol {name}{hint}.", near=handles)


def _only_in_newest(
    ctx: Context, target: Target, selector: SymbolSelector, monitor: Monitor, outline: Outline
) -> ResolvedSymbol:
    """A symbol that the base version lacks: read from the newest content unless a version was stated."""
    later = outline_of(ctx, target.artifact, target.newest, monitor)
    found = find(later, selector)
    if not found:
        one_symbol(target.artifact, target.base, outline, selector, [])
    symbol = one_symbol(target.artifact, target.newest, later, selector, found)
    if target.stated:
        handle = symbol_handle(target.artifact, target.newest, symbol)
        raise SymbolNotFoundError(
            f"Version {target.base.version} of {target.artifact.name} has no {format_selector(selector)}; "
            f"it came later: {handle}.",
            near=(handle,),
        )
    return ResolvedSymbol(target.newest, symbol, later, Status.SAME, ())


def _snapshot(ctx: Context, version: Version, outline: Outline) -> Snapshot:
    with ctx.store.open_view(version) as reader:
        view = reader.read(0, reader.size_bytes) if reader.size_bytes <= SNAPSHOT_BYTES else b""
    return Snapshot(outline, view)


def artifact_kind(text: str) -> Kind | None:
    """The kind for a letter or word a client gives (``l``, ``log``), None for none.

    Raises:
        InvalidArgumentError: another word.
    """
    if not text:
        return None
    words = {"file": Kind.FILE, "log": Kind.LOG, "test": Kind.TEST, "build": Kind.BUILD}
    if text in words:
        return words[text]
    try:
        return Kind(text)
    except ValueError:
        raise InvalidArgumentError(f"kind is one of {', '.join(words)}, not {text[:20]}.") from None
