"""From checked arguments to one call of the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypedDict

from mcp_offload.lease import Report
from mcp_offload.models import (
    DiffResult,
    EditResult,
    ExportResult,
    LeaseResult,
    ListResult,
    MapResult,
    Monitor,
    OutlineResult,
    ReadResult,
    ReleaseResult,
    RunResult,
    SearchResult,
    StoreManyResult,
    StoreResult,
    SymbolHits,
)
from mcp_offload.settings import KIB
from mcp_offload.tools import arguments as args

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService, Session
    from mcp_offload.service.leases import SessionLease

#: Size up to which a store's reply tells the tokens and the digest of what was stored: both together take
#: a tenth of a second at worst then. A larger one is acknowledged first; its outline tells them.
AT_ONCE_BYTES: Final = 256 * KIB

Result = (
    StoreResult
    | StoreManyResult
    | OutlineResult
    | MapResult
    | list[ReadResult]
    | SearchResult
    | SymbolHits
    | EditResult
    | DiffResult
    | ExportResult
    | ListResult
    | ReleaseResult
    | RunResult
    | LeaseResult
)


class _Running(TypedDict):
    session: Session
    monitor: Monitor


class _Reading(_Running):
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool call works with besides its arguments."""

    service: OffloadService
    session: Session
    monitor: Monitor
    max_tokens: int
    lease: SessionLease

    @property
    def running(self) -> _Running:
        """What every operation takes."""
        return {"session": self.session, "monitor": self.monitor}

    @property
    def reading(self) -> _Reading:
        """What every operation with a budget takes."""
        return {"max_tokens": self.max_tokens, "session": self.session, "monitor": self.monitor}


def perform(call: Call, given: args.ToolArguments) -> Result:
    """Run the service's operation for ``given``.

    Raises:
        OffloadError: as the operation.
    """
    match given:
        case args.StoreArguments():
            return _store(call, given)
        case args.OutlineArguments():
            return call.service.outline(given.handle, **call.reading)
        case args.ReadArguments():
            return call.service.read(given.handles, **call.reading)
        case args.SearchArguments():
            return _search(call, given)
        case args.EditArguments():
            return call.service.edit(given.handle, given.text, op=given.op, write=given.write, **call.running)
        case args.DiffArguments():
            return call.service.diff(given.before, given.after, **call.reading)
        case args.ExportArguments():
            return call.service.export(given.handle, given.path, overwrite=given.overwrite, **call.running)
        case args.RunArguments():
            return _run(call, given)
        case args.LeaseArguments():
            return _report(call, given)
        case _:
            return _manage(call, given)


def _store(call: Call, given: args.StoreArguments) -> StoreResult | StoreManyResult:
    return call.service.store(
        given.source,
        content=given.content,
        name=given.name,
        kind=given.kind,
        at_once_bytes=AT_ONCE_BYTES,
        monitor=call.monitor,
    )


def _run(call: Call, given: args.RunArguments) -> RunResult:
    """Run a command, or wait for one that runs. A cancellation of the call ends what the call started."""
    from mcp_offload.service.jobs import Request

    runs = call.service.runs
    if given.job is not None:
        if given.cancel:
            runs.cancel(given.job)
        runs.wait(given.job, given.wait_seconds, call.monitor)
        return runs.result(given.job, call.monitor)
    request = Request(
        argv=given.argv,
        cwd=given.cwd,
        shell=given.shell,
        timeout_seconds=given.timeout_seconds,
        only_allowed=True,
    )
    return runs.run(request, given.wait_seconds, call.monitor)


def _report(call: Call, given: args.LeaseArguments) -> LeaseResult:
    told = Report(
        event=given.event,
        context_tokens=given.context_tokens,
        source="model",
        gone=tuple(given.gone),
    )
    return call.lease.show() if told == Report(source="model") else call.lease.report(told)


def _search(call: Call, given: args.SearchArguments) -> SearchResult | SymbolHits:
    if given.symbols:
        return call.service.find_symbols(given.pattern, given.handles, **call.reading)
    return call.service.search(
        given.pattern,
        given.handles,
        literal=given.literal,
        ignore_case=given.ignore_case,
        **call.reading,
    )


def _manage(call: Call, given: args.ToolArguments) -> ListResult | ReleaseResult:
    match given:
        case args.ListArguments():
            return call.service.list_artifacts(name=given.name, kind=given.kind, offset=given.offset)
        case args.ReleaseArguments(action="release"):
            return call.service.release(given.handles)
        case args.ReleaseArguments():
            return call.service.pin(given.handles, pinned=given.action == "pin")
        case _:
            raise TypeError(f"no operation for {type(given).__name__}")
