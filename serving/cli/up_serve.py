"""What ``up`` runs: engine and gate side by side, until one of them or somebody ends it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from serving.cli.command import Context, Exit
from serving.cli.gate import keys_of, settings_of
from serving.cli.gate_server import GateParts, make_gate, server_config
from serving.errors import EngineError
from serving.process.node import Backoff, EngineCommand, Node
from serving.process.preflight import listening_socket
from serving.process.pulse import Patience
from serving.process.sink import LogSink

if TYPE_CHECKING:
    import socket

    import uvicorn

    from serving.compaction.compactor import Compactor
    from serving.profile.model import Profile

_OVER_DRAIN_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Plan:
    """All that is to be served.

    Attributes:
        profile: what was asked for.
        command: how the engine is started.
        gate: where the gate listens; None for no gate.
        args: the whole command line.
        context: of the command.
        sink: keeps the engine's log.
        compactor: keeps prompts under the context lease; None where none has one.
    """

    profile: Profile
    command: EngineCommand
    gate: tuple[str, int] | None
    args: argparse.Namespace
    context: Context
    sink: LogSink
    compactor: Compactor | None = None


async def serve(plan: Plan) -> int:
    """Run until somebody stops it; the exit status.

    Raises:
        EngineError: the engine failed for good, or the gate cannot listen.
    """
    note = plan.context.console.note
    node = Node(plan.command, plan.sink, note, Backoff(plan.args.restart), patience=_patience(plan.args))
    gate = _gate(plan, node)
    stop = asyncio.Event()
    _on_signals(stop, node, gate, note)
    bound = _bound(plan)
    engine = asyncio.ensure_future(node.run())
    try:
        await _first(engine, node.ready.wait(), stop.wait())
        if node.ready.is_set() and not stop.is_set():
            await _while_ready(plan, engine, stop, gate, bound)
        node.stop()
        await engine
    finally:
        if bound is not None:
            bound.close()
        if not engine.done():
            engine.cancel()
            await asyncio.gather(engine, return_exceptions=True)
        if gate is not None and gate.recorder is not None:
            gate.recorder.close()
    if gate is not None and (told := gate.status()["recommendation"]):
        note(f"recommended mode: {told}")
    return Exit.DONE


async def _while_ready(
    plan: Plan,
    engine: asyncio.Future[None],
    stop: asyncio.Event,
    gate: GateParts | None,
    bound: socket.socket | None,
) -> None:
    """Serve until a signal, the engine's last failure, or the gate's."""
    if gate is None or bound is None:
        _announce(plan, None)
        await _first(engine, stop.wait())
        return
    server = _server(plan, gate, lambda: _announce(plan, bound))
    serving = asyncio.ensure_future(server.serve(sockets=[bound]))
    await _first(engine, stop.wait(), serving)
    if stop.is_set():
        plan.context.console.note(
            f"stopping: running answers get {plan.args.drain_seconds} s, then the engine"
        )
    server.should_exit = True
    done, _ = await asyncio.wait({serving}, timeout=plan.args.drain_seconds + _OVER_DRAIN_SECONDS)
    if not done:
        serving.cancel()
    ended = (await asyncio.gather(serving, return_exceptions=True))[0]
    if isinstance(ended, Exception):
        raise EngineError(f"The gate failed: {ended}.") from ended


def _gate(plan: Plan, node: Node) -> GateParts | None:
    if plan.gate is None:
        return None
    return make_gate(
        plan.command.url,
        settings_of(plan.args),
        keys=keys_of(plan.args, plan.context),
        record=plan.args.record,
        record_runs=plan.args.record_runs,
        more_status=lambda: {"process": _process(plan, node)},
        compactor=plan.compactor,
    )


def _patience(args: argparse.Namespace) -> Patience:
    return Patience(args.start_seconds, args.silent_seconds, args.hang_seconds, args.stall_seconds)


def _process(plan: Plan, node: Node) -> dict[str, Any]:
    """What only the parent of the engine knows; ``check`` reads it."""
    log = node.log
    return {
        "profile": plan.profile.name,
        "model": plan.profile.model,
        "engine_pid": node.engine_pid,
        "ready": node.ready.is_set(),
        "restarts": node.restarts,
        "failures": dict(node.failures),
        "log": plan.sink.handles[-1],
        "kv_tokens": log.kv_tokens,
        "iteration_details": "--enable-logging-iteration-details" in plan.command.argv,
        "steps": log.steps,
        "prefill_steps": log.prefill_steps,
        "mixed_steps": log.mixed_steps,
        "largest_prefill_tokens": log.largest_prefill_tokens,
        "scales": log.scales,
    }


def _bound(plan: Plan) -> socket.socket | None:
    """The gate's port, taken before minutes are spent on the engine; nobody can connect yet."""
    if plan.gate is None:
        return None
    host, port = plan.gate
    try:
        return listening_socket(host, port)
    except OSError as error:
        raise EngineError(
            f"The gate cannot listen at {host}:{port}: {error.strerror}; end what listens there, or give"
            " another address with --listen."
        ) from error


def _announce(plan: Plan, bound: socket.socket | None) -> None:
    told: dict[str, Any] = {"engine": plan.command.url, "log": plan.sink.handles[-1], "mode": None}
    if bound is not None:
        host, port = bound.getsockname()[:2]
        address = f"{'https' if plan.args.tls_cert else 'http'}://{host}:{port}"
        told |= {"listening": address, "mode": plan.args.mode}
        plan.context.console.note(f"the gate listens at {address} (mode {plan.args.mode})")
    if plan.context.console.as_json:
        plan.context.console.json(told)
        plan.context.console.flush()


def _server(plan: Plan, gate: GateParts, listens: Callable[[], None]) -> uvicorn.Server:
    import uvicorn

    class Server(uvicorn.Server):
        """Leaves signals to us, as they mean the engine as well, and tells when it listens."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                listens()

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    assert plan.gate is not None
    host, port = plan.gate
    cert: Path | None = plan.args.tls_cert
    config = server_config(
        gate.front, host, port, cert=cert, key=plan.args.tls_key, drain_seconds=plan.args.drain_seconds
    )
    return Server(config)


def _on_signals(stop: asyncio.Event, node: Node, gate: GateParts | None, note: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if stop.is_set():
            node.kill()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked)

    def tell() -> None:
        told = gate.status()["recommendation"] if gate is not None else None
        note(f"recommended mode: {told}" if told else "no recommendation: the gate is not in mode shadow")

    loop.add_signal_handler(signal.SIGUSR1, tell)


async def _first(*waited: asyncio.Future[None] | Coroutine[Any, Any, Any]) -> None:
    """Wait for the first of several; coroutines that are then still waiting are cancelled."""
    own = {asyncio.ensure_future(entry) for entry in waited if not isinstance(entry, asyncio.Future)}
    given = {entry for entry in waited if isinstance(entry, asyncio.Future)}
    await asyncio.wait(own | given, return_when=asyncio.FIRST_COMPLETED)
    for task in own:
        task.cancel()
    await asyncio.gather(*own, return_exceptions=True)
