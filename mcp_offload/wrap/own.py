"""The tools that are added to a wrapped server's own: they read what was stored.

Importing this module loads the standard library alone.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Final, cast

from mcp_offload.errors import OffloadError
from mcp_offload.settings import Settings
from mcp_offload.wire.messages import JsonObject
from mcp_offload.wire.monitor import CallMonitor
from mcp_offload.wrap.answers import tool_error
from mcp_offload.wrap.replace import ToolCall

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService, Session
    from mcp_offload.tools.runner import ToolRunner

RECORDED: Final = "tools.json"


def recorded_tools() -> dict[str, JsonObject]:
    """The definitions by name; see :mod:`mcp_offload.wrap.recording`."""
    text = files("mcp_offload.wrap").joinpath(RECORDED).read_text(encoding="utf-8")
    return cast("dict[str, JsonObject]", json.loads(text))


class OwnTools:
    """Runs them. Thread-safe; the SDK and the tools are loaded with the first call."""

    def __init__(self, open_service: Callable[[], OffloadService], settings: Settings) -> None:
        self._open_service = open_service
        self._settings = settings
        self._lock = threading.Lock()
        self._loaded: tuple[ToolRunner, Session] | None = None

    def call(self, call: ToolCall, session: str, client: str, monitor: CallMonitor) -> JsonObject:
        """The result of a call, failed or not; ``session`` is whose lease it is counted against."""
        from mcp_offload.tools.runner import Job
        from mcp_offload.wire.caller import Caller, read_lease_meta
        from mcp_offload.wire.reply import wants_json

        runner, shown = self._load()
        try:
            told = read_lease_meta(call.meta)
        except OffloadError as exc:
            return tool_error(str(exc), enveloped=False)
        caller = Caller(told.session or session, told.agent, (client,) if client else ())
        job = Job(call.tool, call.arguments, shown, monitor, wants_json(call.meta), caller, told)
        result = runner.answer(job)
        return cast("JsonObject", result.model_dump(by_alias=True, exclude_none=True, mode="json"))

    def _load(self) -> tuple[ToolRunner, Session]:
        with self._lock:
            if self._loaded is None:
                from mcp_offload.service import Session
                from mcp_offload.tools.runner import ToolRunner
                from mcp_offload.wire.desk import LeaseDesk
                from mcp_offload.wire.work import Workshop

                session, settings = Session(), self._settings
                desk = LeaseDesk(self._open_service, settings, list[str])
                runner = ToolRunner(self._open_service, lambda _: session, settings, Workshop(), desk)
                self._loaded = runner, session
            return self._loaded
