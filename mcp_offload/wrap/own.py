"""The tools that are added to a wrapped server's own: they read what was stored.

Importing this module loads the standard library alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Final, cast

from mcp_offload.settings import Settings
from mcp_offload.wire.messages import JsonObject
from mcp_offload.wire.monitor import CallMonitor

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
        self._runner: ToolRunner | None = None
        self._session: Session | None = None

    def call(self, name: str, arguments: Mapping[str, object], monitor: CallMonitor) -> JsonObject:
        """The result of a call, failed or not."""
        runner, session = self._loaded()
        result = runner.answer(name, arguments, session, monitor)
        return cast("JsonObject", result.model_dump(by_alias=True, exclude_none=True, mode="json"))

    def _loaded(self) -> tuple[ToolRunner, Session]:
        if self._runner is None or self._session is None:
            from mcp_offload.service import Session
            from mcp_offload.tools.runner import ToolRunner
            from mcp_offload.wire.work import Workshop

            session = self._session = self._session or Session()
            self._runner = ToolRunner(self._open_service, lambda _: session, self._settings, Workshop())
        return self._runner, self._session
