"""The handlers of resources/*, for one client."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextResourceContents,
)

from mcp_offload.errors import (
    InvalidArgumentError,
    NotFoundError,
    OffloadError,
    SymbolAmbiguousError,
    UsageError,
)
from mcp_offload.models import Monitor
from mcp_offload.resources.catalog import (
    HANDLES,
    HANDLES_TEXT,
    INDEX,
    PAGES,
    STATS,
    listed_resources,
    listed_templates,
)
from mcp_offload.service import render
from mcp_offload.wire.caller import Caller, LeaseMeta
from mcp_offload.wire.desk import REFUSAL, LeaseDesk, called
from mcp_offload.wire.errors import INTERNAL_TEXT, error_text, kind_of_error
from mcp_offload.wire.media import TEXT, media_type
from mcp_offload.wire.resource_uri import HERE, ResourceRef, parse_uri, workspace_slug
from mcp_offload.wire.scrub import scrub_text
from mcp_offload.wire.work import Workshop

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService, Session

#: A resource is one message; more than this is read in parts, or over HTTP beside MCP.
MAX_BYTES: Final = 4 << 20
#: A version's bytes never change, so a client may keep them.
FIXED_TTL_MS: Final = 3_600_000

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


class ResourceHandlers:
    """Lists and reads resources; what is read counts as shown to the client."""

    def __init__(
        self,
        open_service: Callable[[], OffloadService],
        session_of: Callable[[_Context], Session],
        workspace: str,
        workshop: Workshop,
        desk: LeaseDesk,
    ) -> None:
        self._open_service = open_service
        self._session_of = session_of
        self._slug = workspace_slug(workspace)
        self._workshop = workshop
        self._desk = desk

    async def list_resources(
        self, ctx: _Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """The fixed pages.

        Raises:
            MCPError: a cursor was given; none was ever handed out.
        """
        _refuse_cursor(params)
        return ListResourcesResult(resources=listed_resources())

    async def list_templates(
        self, ctx: _Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """The one template.

        Raises:
            MCPError: a cursor was given; none was ever handed out.
        """
        _refuse_cursor(params)
        return ListResourceTemplatesResult(resource_templates=listed_templates())

    async def read_resource(self, ctx: _Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read one resource.

        Raises:
            MCPError: -32602 where there is no such resource, as in both eras' newest text; -32603 where
                it cannot be read. Its data names the URI and our code of the error.
        """
        session = self._session_of(ctx)
        caller, told = called(self._desk, ctx)

        def work(monitor: Monitor) -> ReadResourceResult:
            session.begin()
            try:
                return self._counted(params.uri, self._read(params.uri, session, monitor), caller, told)
            except MCPError as exc:
                self._desk.count_error(caller, told, ctx.method, exc.error.message)
                raise
            finally:
                session.keep()

        return await self._workshop.run(ctx, work)

    def _counted(
        self, uri: str, result: ReadResourceResult, caller: Caller, told: LeaseMeta
    ) -> ReadResourceResult:
        """The result where its text may be delivered; binary content counts nothing."""
        text = "\n".join(one.text for one in result.contents if isinstance(one, TextResourceContents))
        try:
            allowed = self._desk.count(caller, told, "resource", "resources/read", text)
        except OffloadError as exc:
            raise _refusal(uri, exc) from None
        return result if allowed else _text_result(uri, REFUSAL, TEXT, ttl_ms=0)

    def _read(self, uri: str, session: Session, monitor: Monitor) -> ReadResourceResult:
        try:
            ref = parse_uri(uri)
            if ref.workspace not in (HERE, self._slug):
                raise InvalidArgumentError(f"This server's workspace is {self._slug}, or {HERE}.")
            if ref.page is not None:
                return _text_result(uri, self._page(ref.page), TEXT, ttl_ms=0)
            return self._artifact(uri, ref, session, monitor)
        except OffloadError as exc:
            raise _refusal(uri, exc) from None
        except Exception as exc:  # noqa: BLE001 - a defect must cost one request, and its text not leak
            _log.exception("a resource could not be read")
            data = {"uri": scrub_text(uri), "type": kind_of_error(exc).code}
            raise MCPError(INTERNAL_ERROR, INTERNAL_TEXT, data) from None

    def _page(self, name: str) -> str:
        if name == INDEX:
            return render.list_text(self._open_service().list_artifacts())
        if name == HANDLES:
            return HANDLES_TEXT
        if name == STATS:
            return render.stats_text(self._open_service().stats())
        raise InvalidArgumentError(f"There is no page {name}; the pages are {', '.join(PAGES)}.")

    def _artifact(self, uri: str, ref: ResourceRef, session: Session, monitor: Monitor) -> ReadResourceResult:
        with self._open_service().content(ref.handle, session=session, monitor=monitor) as content:
            if content.size_bytes > MAX_BYTES:
                raise InvalidArgumentError(
                    f"{content.handle} has {content.size_bytes} bytes; a resource has at most {MAX_BYTES}. "
                    "Name a part, such as sel=L1-2000 or a symbol, or export it to a path."
                )
            session.show(*content.shown)
            data = content.read()
            kind = media_type(content.name, content.language, binary=content.binary)
        ttl_ms = FIXED_TTL_MS if ref.fixed else 0
        if content.binary:
            blob = BlobResourceContents(uri=uri, mime_type=kind, blob=base64.b64encode(data).decode())
            return ReadResourceResult(contents=[blob], ttl_ms=ttl_ms, cache_scope="private")
        return _text_result(uri, data.decode("utf-8", "surrogateescape"), kind, ttl_ms=ttl_ms)


def _refuse_cursor(params: PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "Unknown cursor: everything is on the first page")


def _text_result(uri: str, text: str, kind: str, *, ttl_ms: int) -> ReadResourceResult:
    contents = TextResourceContents(uri=uri, mime_type=kind, text=scrub_text(text))
    return ReadResourceResult(contents=[contents], ttl_ms=ttl_ms, cache_scope="private")


def _refusal(uri: str, error: OffloadError) -> MCPError:
    """Source: MCP 2026-07-28, resources: a resource that is not there is -32602 (SEP-2164)."""
    theirs = isinstance(error, UsageError | NotFoundError | SymbolAmbiguousError)
    data = {"uri": scrub_text(uri), "type": kind_of_error(error).code}
    return MCPError(INVALID_PARAMS if theirs else INTERNAL_ERROR, scrub_text(error_text(error)), data)
