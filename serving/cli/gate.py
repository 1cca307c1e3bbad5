"""``gate``: stand before an engine and lease its KV cache."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from serving.cli.command import Command, Context, Exit
from serving.cli.gate_compaction import add_compaction_options, add_store_option, open_compactor
from serving.cli.gate_server import make_gate, require_gate, server_config
from serving.errors import ServingUsageError

if TYPE_CHECKING:
    import socket

    import uvicorn

    from serving.gateway.keys import Keys
    from serving.gateway.recording import Recorder
    from serving.middleware import GateSettings

KEYS_VARIABLE: Final = "MCP_OFFLOAD_GATE_KEYS"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engine", required=True, metavar="URL", help="the engine, as http://127.0.0.1:8000")
    parser.add_argument(
        "--engine-key-file", type=Path, metavar="FILE", help="the engine's own key, if it asks for one"
    )
    add_store_option(parser)
    add_gate_options(parser, reserve="strict")


def add_gate_options(parser: argparse.ArgumentParser, *, reserve: str) -> None:
    """What every command that starts a gate takes; ``reserve`` is the default of ``--reserve``."""
    parser.add_argument(
        "--listen",
        default="127.0.0.1:8080",
        metavar="HOST:PORT",
        help="where clients connect (127.0.0.1:8080)",
    )
    parser.add_argument(
        "--mode",
        choices=("off", "shadow", "on"),
        default="shadow",
        help="pass all, decide and count, or enforce (shadow)",
    )
    _add_leases(parser, reserve)
    _add_safety(parser)
    add_compaction_options(parser)


def _add_leases(parser: argparse.ArgumentParser, reserve: str) -> None:
    parser.add_argument(
        "--reserve",
        choices=("strict", "expected"),
        default=reserve,
        help=f"lease all that a request may write, or what requests like it wrote ({reserve})",
    )
    parser.add_argument(
        "--max-output-tokens", type=int, default=8192, metavar="N", help="what one request may write (8192)"
    )
    parser.add_argument(
        "--look-ahead-tokens",
        type=int,
        default=0,
        metavar="N",
        help="draft tokens a step, under speculation (0)",
    )
    parser.add_argument(
        "--watermark", type=float, default=0.0, metavar="PART", help="part of the pool never leased (0)"
    )
    parser.add_argument(
        "--floor", type=float, metavar="TOK_PER_S", help="tokens a second each stream keeps (no floor)"
    )
    parser.add_argument(
        "--queue-seconds", type=float, default=120.0, metavar="S", help="longest wait before status 429 (120)"
    )


def _add_safety(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-session-cap", action="store_true", help="never make new agents wait for live ones"
    )
    parser.add_argument(
        "--on-stale",
        choices=("open", "closed"),
        default="open",
        help="pass or refuse while metrics cannot be read (open)",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="append a JSON line for each request")
    parser.add_argument(
        "--record-runs", type=Path, metavar="FILE", help="append a JSON line for each agent's run, as it ends"
    )
    parser.add_argument("--keys", type=Path, metavar="FILE", help="the key file; also MCP_OFFLOAD_GATE_KEYS")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate chain, with --tls-key")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="private key of the certificate")


def _run(args: argparse.Namespace, context: Context) -> int:
    host, port = address_of(args.listen)
    require_gate()
    keys = keys_of(args, context)
    check_exposure(host, bool(keys), args.tls_cert)
    settings, engine_key = settings_of(args), _secret(args.engine_key_file)
    with open_compactor(args, context) as compactor:
        gate = make_gate(
            args.engine,
            settings,
            keys=keys,
            engine_key=engine_key,
            record=args.record,
            record_runs=args.record_runs,
            compactor=compactor,
        )
        config = server_config(gate.front, host, port, cert=args.tls_cert, key=args.tls_key)
        return _serve(config, args, context, gate.recorder)


def _serve(
    config: uvicorn.Config, args: argparse.Namespace, context: Context, recorder: Recorder | None
) -> int:
    import uvicorn

    class Server(uvicorn.Server):
        """Tells where it listens once it does, and ends what is recorded with its last answer."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                bound = self.servers[0].sockets[0].getsockname()
                _announce(f"{'https' if args.tls_cert else 'http'}://{bound[0]}:{bound[1]}", args, context)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            # Here, since a signal that ended the server is raised again once it has, and ends the process.
            if recorder is not None:
                recorder.close()

    server = Server(config)
    try:
        server.run()
    except SystemExit:
        context.console.note(f"cannot listen at {args.listen}: is the port in use?")
        return Exit.FAILED
    finally:
        if recorder is not None:
            recorder.close()
    return Exit.DONE if server.started else Exit.FAILED


def _announce(address: str, args: argparse.Namespace, context: Context) -> None:
    context.console.note(f"the gate listens at {address} before {args.engine} (mode {args.mode})")
    if context.console.as_json:
        context.console.json({"listening": address, "engine": args.engine, "mode": args.mode})
        context.console.flush()


def settings_of(args: argparse.Namespace) -> GateSettings:
    """The gate's settings as the command line says them."""
    from serving.admission import Policy, Reserve
    from serving.middleware import GateSettings, Mode, OnStale

    if not 0.0 <= args.watermark < 1.0:
        raise ServingUsageError("--watermark is a part of the pool: from 0 to less than 1")
    if args.max_output_tokens < 1 or args.queue_seconds < 0 or args.look_ahead_tokens < 0:
        raise ServingUsageError(
            "limits must not be negative, and a request must be allowed to write something"
        )
    policy = Policy(reserve=Reserve(args.reserve), look_ahead_tokens=args.look_ahead_tokens)
    return GateSettings(
        mode=Mode(args.mode),
        on_stale=OnStale(args.on_stale),
        policy=policy,
        cap_sessions=not args.no_session_cap,
        watermark=args.watermark,
        queue_seconds=args.queue_seconds,
        max_output_tokens=args.max_output_tokens,
        velocity_floor=args.floor,
    )


def address_of(text: str) -> tuple[str, int]:
    """Host and port of HOST:PORT."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ServingUsageError(f"--listen {text!r} is not HOST:PORT, as 127.0.0.1:8080")
    return host.strip("[]") or "127.0.0.1", int(port)


def check_exposure(host: str, has_keys: bool, certificate: Path | None) -> None:
    """Other machines come in with a key, over TLS."""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if loopback:
        return
    if not has_keys:
        raise ServingUsageError(
            f"{host} can be reached from other machines; make a key first: mcp-offload-serving keys add NAME"
        )
    if certificate is None:
        raise ServingUsageError(f"{host} can be reached from other machines; give --tls-cert and --tls-key")


def keys_of(args: argparse.Namespace, context: Context) -> Keys:
    """The keys that the line or the environment names; none where neither does."""
    from serving.gateway.keys import Keys

    path = _keys_path(args.keys, context.environ)
    return Keys.load(path) if path else Keys()


def _keys_path(given: Path | None, environ: Mapping[str, str]) -> Path | None:
    if given is not None:
        return given
    named = environ.get(KEYS_VARIABLE)
    return Path(named) if named else None


def _secret(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text("utf-8").strip()
    except OSError as error:
        raise ServingUsageError(f"{path} cannot be read: {error.strerror}") from error


COMMAND: Final = Command(
    name="gate",
    help="lease an engine's KV cache to requests before admitting them",
    description="""Stand before an engine, pass everything through, and lease its KV cache before admitting.

In mode shadow everything passes and the gate counts what it would have done, at /gate/status. In mode on
requests wait for their lease, and are refused with 429 and Retry-After where they waited too long.""",
    examples=(
        "mcp-offload-serving gate --engine http://127.0.0.1:8000",
        "mcp-offload-serving gate --engine http://127.0.0.1:8000 --mode on --max-output-tokens 4096",
        "mcp-offload-serving gate --engine http://127.0.0.1:8000 --compaction on",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
