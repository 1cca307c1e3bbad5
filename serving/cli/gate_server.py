"""The gate as a server, for the commands that start one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.errors import MissingExtraError

if TYPE_CHECKING:
    import uvicorn

    from serving.compaction.compactor import Compactor
    from serving.gateway.front import Front
    from serving.gateway.history import History
    from serving.gateway.keys import Keys
    from serving.gateway.recording import Recorder
    from serving.middleware import GateSettings, LeaseMiddleware
    from serving.middleware.compact import CompactionMiddleware
    from serving.telemetry import EngineSample


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
    recorder: Recorder | None

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
    record_runs: Path | None = None,
    more_status: Callable[[], Mapping[str, Any]] = dict,
    compactor: Compactor | None = None,
) -> GateParts:
    """A gate before one engine.

    Args:
        engine_url: scheme, host and port.
        settings: how it leases.
        keys: who may come in.
        engine_key: the engine's own key.
        record: a JSON line for each request goes there.
        record_runs: a JSON line for each agent's run goes there.
        more_status: told at ``/gate/status`` besides the gate's own state.
        compactor: keeps prompts under the context lease; None where none has one.
    """
    require_gate()
    from serving.gateway.forward import Forward
    from serving.gateway.history import History
    from serving.middleware import LeaseMiddleware
    from serving.middleware.status import status

    recorder = _recording(record, record_runs, lambda: lease.engine.sample.engines.values())
    # The history looks at the lease, which tells the history of its requests: one of them is told later.
    history = History(lambda: status(lease), recorder)
    lease = LeaseMiddleware(Forward(engine_url, engine_key=engine_key), settings, recorder=history)
    front = _front(lease, _compacting(lease, compactor), history, keys, more_status)
    return GateParts(front, lease, recorder)


def _front(
    lease: LeaseMiddleware,
    compaction: CompactionMiddleware | None,
    history: History,
    keys: Keys,
    more_status: Callable[[], Mapping[str, Any]],
) -> Front:
    from serving.gateway.front import Front
    from serving.middleware import TENANT
    from serving.middleware.status import metrics_page, status

    return Front(
        compaction or lease,
        keys=keys,
        status=lambda: {**status(lease), **_compaction_status(compaction), **more_status()},
        metrics=lambda: metrics_page(lease) + _compaction_metrics(compaction),
        tenant_key=TENANT,
        history=history,
    )


def _recording(
    record: Path | None, record_runs: Path | None, engines: Callable[[], Collection[EngineSample]]
) -> Recorder | None:
    from serving.gateway.recording import Both, RecordFile, RunFile

    recorders: list[Recorder] = [RecordFile(record)] if record else []
    if record_runs:
        recorders.append(RunFile(record_runs, lambda: _pool(engines())))
    return Both(*recorders) if len(recorders) > 1 else next(iter(recorders), None)


def _pool(engines: Collection[EngineSample]) -> Mapping[str, Any]:
    """The engine's pool as traces tell it; of data-parallel ranks the sum."""
    if not engines:
        return {}
    return {
        "kv_blocks": round(sum(engine.kv_usage * engine.blocks for engine in engines)),
        "running": int(sum(engine.running for engine in engines)),
        "engine_blocks": sum(engine.blocks for engine in engines),
        "block_tokens": max(engine.block_tokens for engine in engines),
        "cache_dtype": next(engine.cache_dtype for engine in engines),
    }


def _compacting(lease: LeaseMiddleware, compactor: Compactor | None) -> CompactionMiddleware | None:
    if compactor is None:
        return None
    from serving.middleware.compact import CompactionMiddleware

    return CompactionMiddleware(
        lease, compactor, lease.counter, body_limit_bytes=lease.settings.body_limit_bytes
    )


def _compaction_status(compaction: CompactionMiddleware | None) -> dict[str, Any]:
    return {"compaction": compaction.status() if compaction else None}


def _compaction_metrics(compaction: CompactionMiddleware | None) -> bytes:
    from serving.middleware.compaction_metrics import compaction_metrics

    return compaction_metrics(compaction.status()) if compaction else b""


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
