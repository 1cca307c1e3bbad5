"""One server for each principal: its own workspace, quota, sessions and connections."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from mcp_offload.server.build import Assembly, assemble
from mcp_offload.service import Session
from mcp_offload.settings import HttpSettings, Settings
from mcp_offload.wire.admission import ANONYMOUS

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

MOST_SESSIONS: Final = 1_000
MOST_TENANTS: Final = 1_000
SESSION_HEADER: Final = "mcp-session-id"


@dataclass(frozen=True, slots=True)
class Tenant:
    """What one principal gets."""

    assembly: Assembly
    manager: StreamableHTTPSessionManager
    service: WorkspaceService


class SessionBook:
    """What each connection was shown, by its id; requests without one share what the principal was shown."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def of(self, ctx: ServerRequestContext[Any, Any]) -> Session:
        """The session of a request. Called in the event loop only."""
        request: object = ctx.request
        key = request.headers.get(SESSION_HEADER, "") if isinstance(request, Request) else ""
        session = self._sessions.setdefault(key, Session())
        self._sessions.move_to_end(key)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session


class WorkspaceService:
    """The service of one principal's workspace, made from the open one on first use. Thread-safe."""

    def __init__(self, base: Callable[[], OffloadService], settings: Settings) -> None:
        self._base = base
        self._settings = settings
        self._lock = threading.Lock()
        self._made: OffloadService | None = None

    def get(self) -> OffloadService:
        """Return it.

        Raises:
            OffloadError: the store cannot be opened.
        """
        with self._lock:
            if self._made is None:
                settings = self._settings
                self._made = self._base().in_workspace(settings.workspace, settings.workspace_bytes)
            return self._made

    def close(self) -> None:
        """End what the principal still has running; the store stays open."""
        with self._lock:
            if self._made is not None:
                self._made.close()


class TooManyTenantsError(Exception):
    """As many principals as there may be have a request running at this moment."""


@dataclass(slots=True)
class _Running:
    """A tenant that is being served; ``requests`` are running for it now."""

    tenant: Tenant
    ended: anyio.Event = field(default_factory=anyio.Event)
    requests: int = 0


class Tenants:
    """Makes a tenant when its principal first comes, and keeps the latest ``most`` of them running.

    One that makes room for another loses its connections and what it has running, and keeps what it stored.
    """

    def __init__(self, make: Callable[[str], Tenant], most: int = MOST_TENANTS) -> None:
        self._make = make
        self._most = most
        self._running: OrderedDict[str, _Running] = OrderedDict()
        self._making = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serve tenants until the block ends, which ends them all."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def of(self, principal: str) -> AsyncGenerator[Tenant]:
        """A principal's tenant, which stays while the block runs.

        Raises:
            TooManyTenantsError: no other can make room.
        """
        found = await self._started(principal)
        found.requests += 1
        try:
            yield found.tenant
        finally:
            found.requests -= 1

    async def _started(self, principal: str) -> _Running:
        async with self._making:
            found = self._running.get(principal)
            if found is None:
                assert self._tasks is not None
                if len(self._running) >= self._most:
                    self._make_room()
                found = _Running(self._make(principal))
                await self._tasks.start(_serve, found)
                self._running[principal] = found
            self._running.move_to_end(principal)
            return found

    def _make_room(self) -> None:
        for principal, one in self._running.items():
            if one.requests == 0:
                one.ended.set()
                del self._running[principal]
                return
        raise TooManyTenantsError


async def _serve(running: _Running, *, task_status: TaskStatus[None]) -> None:
    """Keep a tenant's connections until it ends or is cancelled."""
    tenant = running.tenant
    try:
        async with tenant.manager.run():
            task_status.started()
            try:
                await running.ended.wait()
            finally:
                tenant.assembly.workshop.stop()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(tenant.service.close)


def workspace_of(principal: str, workspace: str) -> str:
    """The key of a principal's own workspace; nobody's is the one that stdio uses."""
    return workspace if principal == ANONYMOUS else f"principal:{principal}:{workspace}"


def make_tenant(
    principal: str, base: Callable[[], OffloadService], settings: Settings, http: HttpSettings
) -> Tenant:
    """Everything for one principal; nothing is opened yet."""
    named = principal != ANONYMOUS
    own = replace(
        settings,
        workspace=workspace_of(principal, settings.workspace),
        workspace_bytes=http.principal_bytes if named else settings.workspace_bytes,
    )
    service = WorkspaceService(base, own)
    assembly = assemble(service.get, own, SessionBook().of, principal)
    manager = StreamableHTTPSessionManager(assembly.server, max_sessions=MOST_SESSIONS)
    return Tenant(assembly, manager, service)
