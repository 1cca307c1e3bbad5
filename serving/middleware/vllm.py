"""The lease gate inside vLLM's own server: ``vllm serve --middleware serving.middleware.vllm.Leases``.

vLLM makes the middleware itself and gives it nothing but the application, hence the settings come from a
file that the environment names. One API server process is needed (``--api-server-count 1``): each would
keep a ledger of its own.
"""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from serving.admission import Policy, Reserve
from serving.errors import ServingUsageError
from serving.middleware.asgi import App, Receive, Scope, Send, send_whole
from serving.middleware.lease import LeaseMiddleware
from serving.middleware.settings import GateSettings, Mode, OnStale
from serving.middleware.status import metrics_page, status

SETTINGS_VARIABLE: Final = "MCP_OFFLOAD_GATE_SETTINGS"
"""Names a TOML file with the fields of :class:`GateSettings`, and those of ``Policy`` under ``[policy]``."""

STATUS_PATH: Final = "/gate/status"
METRICS_PATH: Final = "/gate/metrics"
METRICS_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"


class Leases(LeaseMiddleware):
    """What vLLM's ``--middleware`` flag names; adds the gate's own pages, beside vLLM's ``/metrics``."""

    def __init__(self, app: App) -> None:
        path = os.environ.get(SETTINGS_VARIABLE)
        super().__init__(app, read_settings(Path(path)) if path else None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's scope."""
        path = scope["path"] if scope["type"] == "http" else ""
        if path == STATUS_PATH:
            await send_whole(send, 200, json.dumps(status(self)).encode())
        elif path == METRICS_PATH:
            await send_whole(send, 200, metrics_page(self), content_type=METRICS_TYPE)
        else:
            await super().__call__(scope, receive, send)


def read_settings(path: Path) -> GateSettings:
    """Settings from a TOML file.

    Raises:
        ServingUsageError: it cannot be read, or has an unknown or malformed field.
    """
    try:
        told = tomllib.loads(path.read_text("utf-8"))
        policy = told.pop("policy", {})
        if "reserve" in policy:
            policy["reserve"] = Reserve(policy["reserve"])
        for name, kind in (("mode", Mode), ("on_stale", OnStale)):
            if name in told:
                told[name] = kind(told[name])
        _check(told, GateSettings)
        _check(policy, Policy)
        return replace(GateSettings(), policy=Policy(**policy), **told)
    except (OSError, ValueError) as error:
        raise ServingUsageError(f"{path}: {error}") from error


def _check(told: dict[str, Any], kind: type[GateSettings] | type[Policy]) -> None:
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(told) - known)
    if unknown:
        raise ValueError(f"unknown field {unknown[0]}; known are {', '.join(sorted(known))}")
