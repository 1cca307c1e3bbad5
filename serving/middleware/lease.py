"""The lease gate as ASGI middleware: every generating request is leased before it goes on."""

from __future__ import annotations

import asyncio
import json
import math
import time
import uuid
from collections import Counter as Tally
from collections import OrderedDict
from collections.abc import Callable

from serving.admission import Admitted, Ask, Reason, Refused, Reserve, StepTime
from serving.compaction.dialects import GENERATING, UNLEASED, Body, Dialect, limit_output, output_limit
from serving.middleware.asgi import (
    Answer,
    App,
    BodyTooLargeError,
    Client,
    ClientGoneError,
    Message,
    Receive,
    Scope,
    Send,
    headers_of,
    read_body,
    with_body,
)
from serving.middleware.demand import Counter, CountError, Demand
from serving.middleware.engine import Engine
from serving.middleware.gate import DeniedError, Gate
from serving.middleware.identity import identify
from serving.middleware.records import Recorder
from serving.middleware.request import Request, cannot_lease, decoded, record_of
from serving.middleware.settings import GateSettings, Mode, OnStale
from serving.middleware.watch import Watch

TENANT: str = "mcp_offload.tenant"
"""The key of a scope's ``state`` under which an outer application names the tenant."""

_RANK_HEADER = b"x-data-parallel-rank"


class LeaseMiddleware:
    """Wraps an application that speaks vLLM's HTTP interface and leases KV cache before it admits.

    Args:
        app: vLLM's own application, or one that forwards to an engine.
        settings: how the gate behaves.
        recorder: is told of every request; None for nobody.
        prior: the decode step's time before anything was measured.
        clock: seconds that never go back.
        wall_clock: seconds since 1970.
    """

    def __init__(
        self,
        app: App,
        settings: GateSettings | None = None,
        *,
        recorder: Recorder | None = None,
        prior: StepTime | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings or GateSettings()
        self.engine = Engine(app, self.settings, clock, prior)
        self.outcomes: Tally[str] = Tally()
        self._app = app
        self.counter = Counter(app)
        self._recorder = recorder
        self._clock = clock
        self._wall_clock = wall_clock
        self._contexts: OrderedDict[str, int] = OrderedDict()
        self._monitor: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's scope."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._watching_lifespan(send))
            return
        if scope["type"] != "http" or self.settings.mode is Mode.OFF:
            await self._app(scope, receive, send)
            return
        self.start()
        path = scope["path"].rstrip("/")
        dialect = GENERATING.get(path) if scope["method"] == "POST" else None
        if dialect is not None:
            await self._generate(scope, receive, send, path, dialect)
        elif path in UNLEASED and self._strict:
            message = f"{path} takes KV cache that this gate cannot lease; use /v1/chat/completions instead"
            answer = Answer(send, Dialect.CHAT, stream=False, seen=_nothing)
            await answer.error(403, "not_leasable", message)
        else:
            await self._app(scope, receive, send)

    def start(self) -> None:
        """Begin to read the engine's metrics, where that has not begun."""
        if self._monitor is None or self._monitor.done():
            self._monitor = asyncio.ensure_future(self.engine.run())

    async def close(self) -> None:
        """Stop reading; requests that wait are cancelled."""
        if self._monitor is not None:
            self._monitor.cancel()
            await asyncio.gather(self._monitor, return_exceptions=True)
        self.engine.close()

    @property
    def _strict(self) -> bool:
        settings = self.settings
        return settings.mode is Mode.ON and settings.policy.reserve is Reserve.STRICT

    def _watching_lifespan(self, send: Send) -> Send:
        async def watched(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete" and self.settings.mode is not Mode.OFF:
                self.start()
            if message["type"] == "lifespan.shutdown.complete":
                await self.close()
            await send(message)

        return watched

    async def _generate(
        self, scope: Scope, receive: Receive, send: Send, path: str, dialect: Dialect
    ) -> None:
        try:
            raw = await read_body(receive, self.settings.body_limit_bytes)
        except ClientGoneError:
            return
        except BodyTooLargeError:
            limit = self.settings.body_limit_bytes
            message = f"the request is larger than the {limit:,} bytes that this gate accepts"
            answer = Answer(send, dialect, stream=False, seen=_nothing)
            await answer.error(413, "request_too_large", message)
            return
        client = Client(receive)
        try:
            body = decoded(raw)
            if body is None:  # the engine says best what is wrong with it
                await self._app(with_body(scope, raw), client.body(raw), send)
                return
            await self._serve(self._request(scope, send, (path, dialect), body, raw, client))
        except ClientGoneError:
            return  # nobody is left to be answered
        finally:
            client.close()

    def _request(
        self, scope: Scope, send: Send, route: tuple[str, Dialect], body: Body, raw: bytes, client: Client
    ) -> Request:
        path, dialect = route
        stream = body.get("stream") is True
        watch = Watch(stream=stream)
        tenant = str(scope.get("state", {}).get(TENANT, ""))
        identity = identify(dialect, headers_of(scope), body, tenant)
        request_id = uuid.uuid4().hex
        now = self._clock()

        def seen(chunk: bytes, last: bool) -> None:
            events = watch.events
            watch.complete = watch.complete or last
            watch.feed(chunk, self._clock())
            if request.gate is not None and watch.events != events:
                request.gate.wrote(request_id, watch.output_tokens)

        answer = Answer(send, dialect, stream=stream, seen=seen)
        request = Request(
            request_id,
            now,
            self._wall_clock(),
            path,
            dialect,
            scope,
            body,
            raw,
            identity,
            answer,
            watch,
            client,
        )
        return request

    async def _serve(self, request: Request) -> None:
        try:
            if await self._admit(request):
                await self._forward(request)
        except (asyncio.CancelledError, ClientGoneError):
            request.outcome = "left"
            raise
        except Exception:
            request.outcome = "failed"
            raise
        finally:
            self._end(request)

    async def _admit(self, request: Request) -> bool:
        """Whether the request may go on; where not, it has been answered."""
        if not await self.engine.ready():
            return await self._without_metrics(request)
        unknown = cannot_lease(request.body) if self._strict else None
        if unknown is not None:
            await self._refuse(request, 400, "not_leasable", unknown)
            return False
        try:
            demand = await self.counter.count(request.path, request.dialect, request.body, request.scope)
        except CountError as error:
            if error.refused or not self._strict:
                request.outcome = "bypassed"
                return True
            kind = "engine_unavailable" if error.away else "cannot_count"
            await self._refuse(request, 503, kind, f"{error}; strict leases need exact counts")
            return False
        request.demand = demand
        rank, gate = self.engine.gate_for(request.identity.session_id)
        ask = self._ask(request, demand, gate)
        try:
            request.admitted = await self._wait(request, gate, ask)
        except DeniedError as denied:
            await self._deny(request, denied.refused, gate)
            return False
        request.gate = gate
        if len(self.engine.gates) > 1:
            request.scope["headers"] = [*request.scope["headers"], (_RANK_HEADER, rank.encode())]
        return True

    def _ask(self, request: Request, demand: Demand, gate: Gate) -> Ask:
        """What the request asks of the ledger; sets its limit where strict leases need one."""
        settings, identity = self.settings, request.identity
        asked = demand.output_limit_tokens
        limit = settings.max_output_tokens if asked is None else asked
        if settings.policy.reserve is Reserve.STRICT:
            limit = min(limit, settings.max_output_tokens)
        room = gate.ledger.output_limit_tokens(demand.prompt_tokens)
        limit = max(1, min(limit, room) if room else limit)
        if self._strict and output_limit(request.dialect, request.body) != limit:
            request.body = limit_output(request.dialect, request.body, limit)
            request.raw = json.dumps(request.body, separators=(",", ":")).encode()
        return Ask(
            request_id=request.request_id,
            session_id=identity.session_id,
            prompt_tokens=demand.prompt_tokens,
            max_output_tokens=limit,
            tenant=identity.tenant,
            agent_class=identity.agent_class,
            priority=identity.priority,
            weight=settings.tenant_weights.get(identity.tenant, 1.0),
            deadline_seconds=request.arrived_seconds + settings.queue_seconds,
        )

    async def _wait(self, request: Request, gate: Gate, ask: Ask) -> Admitted | None:
        waiting = asyncio.ensure_future(gate.acquire(ask))
        gone = request.client.gone
        try:
            while True:
                done, _ = await asyncio.wait(
                    {waiting, gone},
                    timeout=self.settings.keep_alive_seconds,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if waiting in done:
                    return waiting.result()
                if gone in done:
                    raise ClientGoneError
                await request.answer.keep_alive()
        finally:
            if not waiting.done():
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)

    async def _forward(self, request: Request) -> None:
        scope = with_body(request.scope, request.raw)
        comments = asyncio.ensure_future(self._keep_alive(request)) if request.body.get("stream") else None
        try:
            await self._app(scope, request.client.body(request.raw), request.answer.upstream)
        finally:
            if comments is not None:
                comments.cancel()
        if request.client.gone.done() and not request.watch.complete:
            request.outcome = "left"
        elif (request.answer.status or 502) >= 400:
            request.outcome = "failed"

    async def _keep_alive(self, request: Request) -> None:
        while request.watch.first_seconds is None:
            await asyncio.sleep(self.settings.keep_alive_seconds)
            await request.answer.keep_alive()

    async def _without_metrics(self, request: Request) -> bool:
        if self.settings.mode is Mode.ON and self.settings.on_stale is OnStale.CLOSED:
            message = f"{self.engine.error or 'the metrics are stale'}; the gate admits nothing without them"
            await self._refuse(request, 503, "engine_unavailable", message, retry_after=5.0)
            return False
        request.outcome = "bypassed"
        return True

    async def _deny(self, request: Request, refused: Refused, gate: Gate) -> None:
        request.reason = refused.reason.value
        if refused.reason is Reason.TOO_LARGE:
            pool, demand = gate.ledger.pool, request.demand
            tokens = demand.prompt_tokens if demand else 0
            message = (
                f"the prompt of {tokens:,} tokens can never fit: the KV cache leases "
                f"{pool.leasable_tokens:,} tokens in all, output included; shorten the prompt"
            )
            await self._refuse(request, 400, "context_too_large", message)
            return
        seconds = refused.retry_after_seconds or 1.0
        waited = f" after {refused.waited_seconds:.0f} s" if refused.reason is Reason.DEADLINE else ""
        message = f"no KV cache is free for this request{waited}; try again in {math.ceil(seconds)} s"
        await self._refuse(request, 429, "rate_limit_error", message, retry_after=seconds)

    async def _refuse(
        self, request: Request, status: int, kind: str, message: str, retry_after: float | None = None
    ) -> None:
        request.outcome = "refused"
        request.reason = request.reason or kind
        headers = [(b"retry-after", str(math.ceil(retry_after)).encode())] if retry_after else []
        await request.answer.error(status, kind, message, headers)

    def _end(self, request: Request) -> None:
        watch = request.watch
        watch.finish()
        output = watch.output_tokens
        if request.gate is not None:
            complete = request.outcome == "answered"
            request.gate.release(request.request_id, output_tokens=output, complete=complete)
        new_tokens = self._new_tokens(request, output)
        self.outcomes[request.outcome] += 1
        if self._recorder is not None:
            self._recorder.record(record_of(request, new_tokens))

    def _new_tokens(self, request: Request, output_tokens: int) -> int | None:
        """Tokens of the prompt that the session's last prompt and answer did not hold."""
        if request.demand is None or request.outcome not in {"answered", "left"}:
            return None
        session, prompt = request.identity.session_id, request.demand.prompt_tokens
        before = self._contexts.pop(session, 0)
        if request.admitted is not None and not request.admitted.resumed:
            before = 0  # its prefix was not promised to be cached
        self._contexts[session] = prompt + output_tokens
        if len(self._contexts) > 65536:
            self._contexts.popitem(last=False)
        new_tokens = max(0, prompt - before)
        self.engine.ended(prompt, request.watch.usage.cached_tokens, new_tokens)
        return new_tokens


def _nothing(chunk: bytes, last: bool) -> None:
    """An answer of our own has nothing to be watched."""
