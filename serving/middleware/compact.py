"""Compaction as ASGI middleware: histories are brought under the lease before they go on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mcp_offload import OffloadError
from serving.compaction.choice import Stage
from serving.compaction.compactor import Compactor, View
from serving.compaction.dialects import GENERATING, Body, Dialect
from serving.compaction.overrun import overrun_body
from serving.compaction.retrieval import Tools, run_tool
from serving.compaction.served import ServedCall, dumped, valid_arguments
from serving.compaction.settings import CompactionMode
from serving.compaction.slots import COMPACTED
from serving.compaction.turns import Call, continued
from serving.errors import CompactionError
from serving.middleware.asgi import (
    App,
    BodyTooLargeError,
    Client,
    ClientGoneError,
    Receive,
    Scope,
    Send,
    headers_of,
    read_body,
    send_whole,
    with_body,
)
from serving.middleware.continuing import Continuing
from serving.middleware.demand import Counter, CountError
from serving.middleware.identity import identify
from serving.middleware.lease import TENANT
from serving.middleware.request import decoded

WORKSPACE_HEADER: Final = "x-mcp-offload-workspace"
"""Names the workspace of a client whose key has no tenant: the absolute path of its git root, or a name."""

_log = logging.getLogger(__name__)


class CompactionMiddleware:
    """Wraps an application that speaks vLLM's HTTP interface and keeps prompts under a lease.

    Args:
        app: the lease gate, or what forwards to an engine.
        compactor: makes the views.
        counter: counts prompts as the engine does.
        body_limit_bytes: larger requests are refused with status 413.

    Attributes:
        counts: what was done, by name; see :meth:`status`.
    """

    def __init__(
        self,
        app: App,
        compactor: Compactor,
        counter: Counter,
        *,
        body_limit_bytes: int = 32 * 2**20,
    ) -> None:
        self.settings = compactor.settings
        self.counts: Tally[str] = Tally()
        self._largest_tokens = 0
        self._app = app
        self._compactor = compactor
        self._counter = counter
        self._body_limit_bytes = body_limit_bytes
        self._reports: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's scope."""
        dialect = _dialect(scope)
        if dialect is None or self.settings.mode is CompactionMode.OFF:
            await self._app(scope, receive, send)
            return
        try:
            raw = await read_body(receive, self._body_limit_bytes)
        except ClientGoneError:
            return
        except BodyTooLargeError:
            limit = self._body_limit_bytes
            message = f"the request is larger than the {limit:,} bytes that this gate accepts"
            error = overrun_body(dialect, message, kind="request_too_large", status=413)
            await send_whole(send, 413, error)
            return
        client = Client(receive)
        try:
            await self._serve(scope, client, send, dialect, raw)
        finally:
            client.close()

    def status(self) -> dict[str, Any]:
        """What compaction did since the gate started, as JSON takes it.

        ``requests`` were looked at; of these ``changed`` had texts replaced, ``steps`` had more replaced
        than before, ``refused`` stayed over the lease, and ``uncounted`` could not be counted. ``replaced``
        texts were stored, and ``saved_tokens`` (o200k) spared in all prompts together. ``retrievals`` are
        calls that the gate answered. In mode shadow all of this is what would have been.
        """
        names = (
            "requests", "changed", "steps", "refused", "uncounted", "replaced", "saved_tokens", "retrievals",
        )  # fmt: skip
        return {
            "mode": self.settings.mode.value,
            "lease_tokens": self.settings.lease_tokens,
            "largest_prompt_tokens": self._largest_tokens,
            **{name: self.counts[name] for name in names},
        }

    async def reported(self) -> None:
        """Wait until the context lease knows what it was told of."""
        await asyncio.gather(*self._reports)

    async def _serve(self, scope: Scope, client: Client, send: Send, dialect: Dialect, raw: bytes) -> None:
        body = decoded(raw)
        if body is None or body.get("previous_response_id") or body.get("conversation"):
            await self._app(with_body(scope, raw), client.body(raw), send)
            return
        tools = Tools(dialect, body, self.settings.retrieval)
        request = _Request(self, scope, dialect, body, tools)
        try:
            tokens = await request.fit()
        except CompactionError as error:
            _log.warning("a history passes as it is: %s", error)
            self.counts["uncounted"] += 1
            await self._app(with_body(scope, raw), client.body(raw), send)
            return
        if self.settings.mode is CompactionMode.SHADOW:
            await self._app(with_body(scope, raw), client.body(raw), send)
        elif tokens is not None and tokens > self.settings.lease_tokens:
            await send_whole(send, 400, request.overrun(tokens))
        elif not request.adds_tools:
            sent = raw if request.body is body else _dumped(request.body)
            await self._app(with_body(scope, sent), client.body(sent), send)
        else:
            turn = Continuing(self._app, scope, client, dialect, tools.names, rounds=self.settings.rounds)
            await turn.serve(request.body, request, send)

    def workspace_of(self, scope: Scope) -> str:
        """Where the texts of a request are stored; tenants never share."""
        tenant = str(scope.get("state", {}).get(TENANT, ""))
        if tenant:
            return f"tenant:{tenant}"
        return headers_of(scope).get(WORKSPACE_HEADER) or self._compactor.workspace

    @property
    def compactor(self) -> Compactor:
        """Makes the views."""
        return self._compactor

    async def count(self, scope: Scope, dialect: Dialect, body: Body) -> int | None:
        """Tokens of one prompt of the request; None where the engine does not tell."""
        path = scope["path"].rstrip("/")
        single = {name: value for name, value in body.items() if name not in {"n", "best_of"}}
        try:
            demand = await self._counter.count(path, dialect, single, scope)
        except CountError as error:
            _log.debug("not counted: %s", error)
            return None
        return demand.prompt_tokens

    def report(self, scope: Scope, dialect: Dialect, body: Body, tokens: int) -> None:
        """Tell the context lease of the session how large its context is, without waiting for it."""
        self._largest_tokens = max(self._largest_tokens, tokens)
        if self.settings.mode is not CompactionMode.ON:
            return
        identity = identify(dialect, headers_of(scope), body)
        name = identity.session_id.removeprefix("/")
        service = self._compactor.service(self.workspace_of(scope))

        async def told() -> None:
            try:
                await asyncio.to_thread(service.report_context, name, tokens, source="gateway")
            except OffloadError as error:
                _log.warning("the size of a context was not reported: %s", error)

        task = asyncio.ensure_future(told())
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)


class _Request:
    """One request on its way under the lease.

    Attributes:
        body: as it is to be sent.
        adds_tools: whether tools of the gate are in it.
    """

    def __init__(
        self, owner: CompactionMiddleware, scope: Scope, dialect: Dialect, body: Body, tools: Tools
    ) -> None:
        self.body = body
        self.adds_tools = False
        self._owner = owner
        self._scope = scope
        self._dialect = dialect
        self._given = body
        self._tools = tools
        self._workspace = owner.workspace_of(scope)
        self._replaced = 0

    async def fit(self) -> int | None:
        """Replace what has to be replaced; the prompt's tokens, or None where the engine does not tell.

        Raises:
            CompactionError: choices cannot be kept or read.
        """
        owner, counts = self._owner, self._owner.counts
        compactor, settings = owner.compactor, owner.settings
        counts["requests"] += 1
        view = await asyncio.to_thread(
            compactor.view, self._workspace, self._dialect, self._given, self._tools.reader
        )
        tokens = await self._counted(view)
        if tokens is not None and tokens > settings.lease_tokens:
            counts["steps"] += 1
            view, tokens = await self._stepped(view, tokens)
        elif tokens is None:
            counts["uncounted"] += 1
        if tokens is not None and tokens > settings.lease_tokens:
            counts["refused"] += 1
        else:
            await asyncio.to_thread(compactor.keep, view)
            counts["replaced"] += len(view.new)
        self._replaced = view.replaced
        counts["changed"] += view.replaced > 0
        counts["saved_tokens"] += view.saved_tokens
        if tokens is not None and (tokens <= settings.lease_tokens or settings.mode is CompactionMode.SHADOW):
            owner.report(self._scope, self._dialect, self._given, tokens)
        return tokens

    async def _stepped(self, view: View, tokens: int) -> tuple[View, int]:
        settings = self._owner.settings
        for stage in Stage:
            further = await asyncio.to_thread(self._owner.compactor.step, view, stage)
            if further is view:
                continue
            counted = await self._counted(further)
            if counted is not None and counted < tokens:
                view, tokens = further, counted
            if tokens <= settings.lease_tokens * settings.target:
                break
        self._take(view)
        return view, tokens

    async def _counted(self, view: View) -> int | None:
        return await self._owner.count(self._scope, self._dialect, self._take(view))

    def _take(self, view: View) -> Body:
        """The request as it is to be sent, with the gate's tools where it has tools or texts are replaced."""
        wanted = bool(self._given.get("tools")) or view.replaced > 0 or view.given is not self._given
        self.adds_tools = bool(self._tools.names) and wanted
        self.body = self._tools.added(view.body) if self.adds_tools else view.body
        return self.body

    def overrun(self, tokens: int) -> bytes:
        """The error for a history that cannot be brought under the lease."""
        lease = self._owner.settings.lease_tokens
        message = (
            f"prompt is too long: {tokens} tokens > {lease} maximum. That is this gate's context lease; "
            f"{self._replaced} texts of the history are replaced by handles already, and the rest "
            "(instructions, tools, the user's text, the newest results) is never touched. Send less at once, "
            "or have the lease raised with --context-lease-tokens."
        )
        return overrun_body(self._dialect, message)

    async def answered(self, body: Body, answer: Body, calls: Sequence[Call]) -> list[ServedCall]:
        """The model's calls of the gate's tools with their results, none too large for the lease."""
        owner = self._owner
        most = owner.settings.result_tokens
        owner.counts["retrievals"] += len(calls)
        served = await asyncio.to_thread(self._run, calls, most)
        tokens = await owner.count(self._scope, self._dialect, continued(self._dialect, body, answer, served))
        lease = owner.settings.lease_tokens
        if tokens is not None and tokens > lease:
            text = f"The result would take the context to {tokens} of {lease} tokens; read less at once."
            served = [replace(call, result=text, is_error=True) for call in served]
        elif tokens is not None:
            owner.report(self._scope, self._dialect, self._given, tokens)
        return served

    def _run(self, calls: Sequence[Call], most_tokens: int) -> list[ServedCall]:
        service = self._owner.compactor.service(self._workspace)
        share = max(200, most_tokens // max(1, len(calls)))
        served: list[ServedCall] = []
        for call in calls:
            given: Any = call.arguments
            arguments = given if isinstance(given, str) else json.dumps(given)
            text, failed = run_tool(service, self._tools.names[call.name], arguments, share)
            served.append(ServedCall(call.call_id, call.name, valid_arguments(arguments), text, failed))
        return served

    async def beside(self, call_id: str, served: Sequence[ServedCall]) -> None:
        """Keep what was answered beside a call of the client's."""
        await asyncio.to_thread(
            self._owner.compactor.decisions.keep_served, self._workspace, call_id, dumped(served)
        )


def _dialect(scope: Scope) -> Dialect | None:
    """The dialect of a request whose history can be compacted."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    dialect = GENERATING.get(scope["path"].rstrip("/"))
    return dialect if dialect in COMPACTED else None


def _dumped(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
