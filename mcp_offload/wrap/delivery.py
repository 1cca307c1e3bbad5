"""Decides what of a server's results is delivered, and counts it against the session's lease."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from mcp_offload.errors import StoreError
from mcp_offload.lease import Delivery, DeliveryKind, Grant
from mcp_offload.models import Monitor
from mcp_offload.settings import Settings, WrapSettings
from mcp_offload.wire.messages import JsonObject
from mcp_offload.wrap.answers import result_line
from mcp_offload.wrap.replace import LEAST_TOKENS, NOTICE_TOKENS, Replaced, Replacer, ToolCall, model_tokens

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService
    from mcp_offload.service.leases import SessionLease
    from mcp_offload.store import NewContent

#: No result costs so much.
UNLIMITED: Final = 1 << 60
#: Keys of a call's ``_meta`` by which a client names the conversation.
#: Source: Codex 0.171; see :mod:`mcp_offload.wire.caller`.
_THREAD_KEYS: Final = ("threadId", "sessionId")
_NAMED: Final = "session:"

_log = logging.getLogger(__name__)


class Deliverer:
    """What one client gets of one server's results. Thread-safe.

    Attributes:
        client: what the client calls itself, once it has.
    """

    def __init__(
        self,
        open_service: Callable[[], OffloadService],
        settings: Settings,
        wrap: WrapSettings,
        replacer: Replacer,
    ) -> None:
        self._open_service = open_service
        self._settings = settings
        self._wrap = wrap
        self._replacer = replacer
        modes = {settings.lease.mode, *(one.mode for one in settings.leases.values())}
        self._counts = modes != {"off"}
        self._is_strict = "hard" in modes
        self.client = ""

    def passes_unseen(self, call: ToolCall, size_bytes: int) -> bool:
        """Whether a message may be sent before anybody looks into it: a token is at least one byte."""
        threshold = self._wrap.threshold(call.tool)
        small = threshold is None or (size_bytes <= threshold and not self._wrap.keep_all)
        return small and not self._is_strict

    def note_passed(self, call: ToolCall, line: bytes, result: JsonObject) -> None:
        """Count a result that was sent unseen."""
        if not self._counts:
            return
        service = self._open_service()
        lease = self._lease(service, call)
        if lease.terms.mode != "off":
            self._count(service, lease, call, line, result, None)

    def answer(self, call: ToolCall, line: bytes, result: JsonObject, monitor: Monitor) -> JsonObject | None:
        """What to send instead of a result, or None where it is sent as it came.

        Raises:
            OffloadError: the store cannot be opened.
        """
        service = self._open_service()
        lease = self._lease(service, call)
        threshold = self._wrap.threshold(call.tool)
        grant = lease.grant(UNLIMITED if threshold is None else threshold)
        replaced = self._replaced(service, call, line, result, monitor, grant)
        if self._count(service, lease, call, line, result, replaced):
            return None if replaced is None else replaced.result
        # Not to be delivered, and not to be lost either.
        if replaced is None:
            self._replacer.replaced(service, call, line, result, monitor, most_tokens=0)
        return self._refused(lease, call, result)

    def _replaced(
        self,
        service: OffloadService,
        call: ToolCall,
        line: bytes,
        result: JsonObject,
        monitor: Monitor,
        grant: Grant,
    ) -> Replaced | None:
        threshold = self._wrap.threshold(call.tool)
        if threshold is None:
            return None
        room = NOTICE_TOKENS if grant.stage == "full" else grant.max_tokens // 2
        return self._replacer.replaced(
            service,
            call,
            line,
            result,
            monitor,
            most_tokens=min(threshold, grant.max_tokens),
            notice_tokens=min(NOTICE_TOKENS, max(LEAST_TOKENS - 1, room)),
        )

    def _lease(self, service: OffloadService, call: ToolCall) -> SessionLease:
        return service.leases.of(self.session(call), names=(self.client,) if self.client else ())

    def session(self, call: ToolCall) -> str:
        """Whose call it is: the process's session, or the conversation that the client names."""
        identity = self._settings.identity
        if identity.startswith(_NAMED):
            return identity
        hints = (call.meta.get(key) for key in _THREAD_KEYS)
        hint = next((one for one in hints if isinstance(one, str) and 0 < len(one) <= 200), None)
        return identity if hint is None or not hint.isprintable() else f"{_NAMED}{hint}"

    def _count(
        self,
        service: OffloadService,
        lease: SessionLease,
        call: ToolCall,
        line: bytes,
        result: JsonObject,
        replaced: Replaced | None,
    ) -> bool:
        """Count what is sent; False where a hard lease forbids it."""
        if lease.terms.mode == "off":
            return True
        contents: Sequence[NewContent]
        if replaced is None:
            tokens = model_tokens(service, line, result)
            contents = [_passed(call, line, tokens)]
        else:
            tokens = model_tokens(service, result_line(0, replaced.result), replaced.result)
            found = (service.entered(one.handle, call.tool) for one in replaced.stored)
            contents = [one for one in found if one is not None]
        kind: DeliveryKind = "error" if result.get("isError") is True else "result"
        return _deliver(lease, Delivery(kind, tokens, call.tool), contents)

    def _refused(self, lease: SessionLease, call: ToolCall, result: JsonObject) -> JsonObject:
        """A short line that is no error: a second one in a row would end some runs."""
        from mcp_offload.wire.desk import DONE_REFUSAL

        tokens = self._open_service().count_tokens(DONE_REFUSAL)
        _deliver(lease, Delivery("refusal", tokens, call.tool), ())
        rest = {key: value for key, value in result.items() if key not in ("structuredContent", "isError")}
        return {**rest, "content": [{"type": "text", "text": DONE_REFUSAL}]}

    def note_standing(self, kind: DeliveryKind, name: str, text: str) -> None:
        """Count a list or instructions, which a client holds once."""
        if self._counts and text:
            service = self._open_service()
            lease = self._lease(service, ToolCall("", {}))
            if lease.terms.mode != "off":
                _deliver(lease, Delivery(kind, service.count_tokens(text), name), ())


def _passed(call: ToolCall, line: bytes, tokens: int) -> NewContent:
    """A result that passed: it costs what it would have cost without us, so nothing was kept out.

    It is no artifact, which is what number 0 says; its hash tells a repetition.
    """
    from mcp_offload.store import NewContent

    digest = hashlib.blake2s(line, digest_size=32).hexdigest()
    version = int(digest[:15], 16)
    return NewContent(0, version, call.tool, "", call.tool, digest, tokens, once=False)


def _deliver(lease: SessionLease, delivery: Delivery, contents: Sequence[NewContent]) -> bool:
    """Count; where the ledger cannot be written, only a hard lease holds the reply back."""
    try:
        return lease.deliver(delivery, contents=contents)
    except StoreError as exc:
        _log.warning("what was delivered could not be counted: %s", exc)
        return lease.terms.mode != "hard"
