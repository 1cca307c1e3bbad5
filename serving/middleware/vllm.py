"""The lease gate inside vLLM's own server: ``vllm serve --middleware serving.middleware.vllm.Leases``.

vLLM makes the middleware itself and gives it nothing but the application, hence the settings come from a
file that the environment names. One API server process is needed (``--api-server-count 1``): each would
keep a ledger of its own.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from serving.admission import Policy, Reserve
from serving.errors import ServingUsageError
from serving.middleware.asgi import App
from serving.middleware.lease import LeaseMiddleware
from serving.middleware.settings import GateSettings, Mode, OnStale

SETTINGS_VARIABLE: Final = "MCP_OFFLOAD_GATE_SETTINGS"
"""Names a TOML file with the fields of :class:`GateSettings`, and those of ``Policy`` under ``[policy]``."""


class Leases(LeaseMiddleware):
    """What vLLM's ``--middleware`` flag names."""

    def __init__(self, app: App) -> None:
        path = os.environ.get(SETTINGS_VARIABLE)
        super().__init__(app, read_settings(Path(path)) if path else None)


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
