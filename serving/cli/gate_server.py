"""The gate as a server, for the commands that start one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.errors import MissingExtraError

if TYPE_CHECKING:
    import uvicorn

    from serving.gateway.front import Front
    from serving.gateway.keys import Keys
    from serving.gateway.recording import RecordFile
    from serving.middleware import GateSettings, LeaseMiddleware


@dataclass(frozen=True)
class GateParts:
    """A gate that was put together.

    Attributes:
        front: the outermost application.
        lease: the middleware within.
        recorder: to be closed in the end; None where nothing is recorded.
    """

    front: Front
    lease: LeaseMiddleware
    recorder: RecordFile | None

    def status(self) -> dict[str, Any]:
        """The gate now."""
        from serving.middleware.status import status

        return status(self.lease)


def require_gate() -> None:
    """Fail early where what the gate needs is not installed.

    Raises:
        MissingExtraError: it is not.
    """
    for needed in ("uvicorn", "httptools", "aiohttp", "prometheus_client"):
        if find_spec(needed) is None:
            raise MissingExtraError(f"{needed} is not installed; run: pip install 'mcp-offload[gate]'")


def make_gate(
    engine_url: str,
    settings: GateSettings,
    *,
    keys: Keys,
    engine_key: str | None = None,
    record: Path | None = None,
    more_status: Callable[[], Mapping[str, Any]] = dict,
) -> GateParts:
    """A gate before one engine.

    Args:
        engine_url: scheme, host and port.
        settings: how it leases.
        keys: who may come in.
        engine_key: the engine's own key.
        record: a JSON line for each request goes there.
        more_status: told at ``/gate/status`` besides the gate's own state.
    """
    require_gate()
    from serving.gateway.forward import Forward
    from serving.gateway.front import Front
    from serving.gateway.recording import RecordFile
    from serving.middleware import TENANT, LeaseMiddleware
    from serving.middleware.status import metrics_page, status

    recorder = RecordFile(record) if record else None
    lease = LeaseMiddleware(Forward(engine_url, engine_key=engine_key), settings, recorder=recorder)
    front = Front(
        lease,
        keys=keys,
        status=lambda: {**status(lease), **more_status()},
        metrics=lambda: metrics_page(lease),
        tenant_key=TENANT,
    )
    return GateParts(front, lease, recorder)


def server_config(
    front: Front, host: str, port: int, *, cert: Path | None, key: Path | None, drain_seconds: int = 10
) -> uvicorn.Config:
    """How the gate is served; ``drain_seconds`` is what running answers get to end in."""
    import uvicorn

    return uvicorn.Config(
        front, host=host, port=port, http="httptools", lifespan="on", access_log=False, log_level="warning",
        ssl_certfile=cert, ssl_keyfile=key, timeout_graceful_shutdown=drain_seconds,
        server_header=False, date_header=False,
    )  # fmt: skip
