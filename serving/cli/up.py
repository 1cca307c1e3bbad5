"""``up``: start an engine from its profile, and the gate before it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from serving.cli.command import Command, Context, Exit
from serving.cli.gate import add_gate_options, address_of, check_exposure, keys_of, settings_of
from serving.cli.gate_compaction import compaction_settings, open_compactor, store_settings
from serving.cli.gate_server import require_gate
from serving.errors import EngineError, ServingUsageError
from serving.profile.command import engine_argv, engine_variables
from serving.profile.load import load_profile

if TYPE_CHECKING:
    from serving.process.node import EngineCommand
    from serving.profile.model import Profile

_NO_DEFAULT: Final = {"listen": None, "mode": None, "look_ahead_tokens": None, "floor": None}
"""Options of the gate that the profile answers where the line does not."""

_PATIENCE: Final = (
    ("start", 3600.0, "kill an engine that is not ready after this"),
    ("silent", 900.0, "kill one that prints nothing for this while it starts"),
    ("hang", 60.0, "kill one that answers no health check for this once it served"),
    ("stall", 300.0, "kill one that has requests and makes no step for this"),
)
"""Options by which an engine that hangs is noticed; what follows is as `--restart` says."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", metavar="PROFILE", help="shipped profile, or a file ending in .toml")
    parser.add_argument("--model", metavar="DIR", help="the checkpoint, in place of the profile's")
    parser.add_argument("--port", type=int, metavar="N", help="the engine's port, in place of the profile's")
    parser.add_argument(
        "--replica", type=int, metavar="N", help="which of the profile's servers to start, from 0"
    )
    parser.add_argument("--no-gate", action="store_true", help="start the engine alone")
    parser.add_argument(
        "--restart",
        type=int,
        default=0,
        metavar="N",
        help="start a failed engine again, N times in a row (0)",
    )
    for name, seconds, what in _PATIENCE:
        parser.add_argument(
            f"--{name}-seconds", type=float, default=seconds, metavar="S", help=f"{what} ({seconds:g})"
        )
    parser.add_argument(
        "--drain-seconds", type=int, default=30, metavar="S", help="what answers get to end in at a stop (30)"
    )
    parser.add_argument(
        "--iteration-details",
        action="store_true",
        help="have the engine log every step, so that `check` sees chunks; a line per step",
    )
    parser.add_argument("--any-version", action="store_true", help="take another vLLM than the profile's")
    parser.add_argument("--vllm", default="vllm", metavar="PATH", help="the vllm command (vllm)")
    parser.add_argument("--store", metavar="DIR", help="where the log is stored; also MCP_OFFLOAD_STORE")
    parser.add_argument(
        "--engine-option", action="append", default=[], metavar="WORD", help="passed to vllm serve as it is"
    )
    add_gate_options(parser, reserve="expected")
    parser.set_defaults(**_NO_DEFAULT)


def _run(args: argparse.Namespace, context: Context) -> int:
    import asyncio

    from mcp_offload import StoreError, open_service
    from serving.cli.up_serve import Plan, serve
    from serving.process.sink import LogSink

    profile, replica = _profile(args)
    if args.restart < 0 or args.drain_seconds < 0:
        raise ServingUsageError("--restart and --drain-seconds must not be negative")
    if min(getattr(args, f"{name}_seconds") for name, _, _ in _PATIENCE) <= 0:
        raise ServingUsageError("the seconds after which an engine is killed must be positive; inf is never")
    _complete(args, profile, replica)
    if not args.no_gate:
        require_gate()
    command = _command(profile, replica, args, context)
    note = context.console.note
    try:
        with open_service(store_settings(args, context)) as service:
            sink = LogSink(service, f"vLLM {profile.name}", note)
            place = f" --store {shlex.quote(args.store)}" if args.store else ""
            note(f"the engine's log is stored while it runs: mcp-offload{place} read {sink.handles[0]}")
            try:
                gate = None if args.no_gate else _gate_settings(args, context)
                with open_compactor(args, context, service) as compactor:
                    plan = Plan(profile, command, gate, args, context, sink, compactor)
                    return asyncio.run(serve(plan))
            finally:
                sink.close()
    except StoreError as error:
        raise EngineError(f"The log cannot be stored: {error} Name a place with --store.") from error
    return Exit.DONE


def _profile(args: argparse.Namespace) -> tuple[Profile, int]:
    """The profile with what the line changes, and which of its servers is started."""
    profile = load_profile(args.profile)
    if args.model:
        local = os.path.isdir(args.model)
        profile = replace(profile, model=os.path.abspath(args.model) if local else args.model)
    if args.port is not None:
        if not 1 <= args.port <= 65535:
            raise ServingUsageError(f"--port {args.port} is no TCP port")
        profile = replace(profile, port=args.port)
    if args.replica is None and profile.replicas > 1:
        raise ServingUsageError(
            f"profile {profile.name!r} has {profile.replicas} servers; start each by its own `up`, with"
            f" --replica 0 to {profile.replicas - 1}"
        )
    replica = args.replica or 0
    if not 0 <= replica < profile.replicas:
        raise ServingUsageError(f"--replica must be 0 to {profile.replicas - 1}")
    return profile, replica


def _complete(args: argparse.Namespace, profile: Profile, replica: int) -> None:
    """Fill from the profile what the line leaves open."""
    told = {
        "listen": f"{profile.gate_host}:{profile.gate_port + replica}",
        "mode": profile.gate_mode,
        "look_ahead_tokens": profile.speculation.tokens if profile.speculation else 0,
        "floor": profile.min_tokens_per_second,
    }
    for name, value in told.items():
        if getattr(args, name) is None:
            setattr(args, name, value)


def _command(profile: Profile, replica: int, args: argparse.Namespace, context: Context) -> EngineCommand:
    """How the engine is started, once all that can be known to fail was looked at."""
    from serving.process.node import EngineCommand
    from serving.process.preflight import find_program, require_free_port, require_model, require_version

    # An environment that was not activated has its programs beside the interpreter.
    beside = os.path.dirname(sys.executable)
    environment = {**context.environ, **engine_variables(profile)}
    environment["PATH"] = os.pathsep.join((environment.get("PATH", os.defpath), beside))
    program = find_program(args.vllm, environment)
    environment["PATH"] = os.pathsep.join((os.path.dirname(program), environment["PATH"]))
    if profile.replicas > 1:
        own = profile.tensor_parallel * profile.data_parallel
        first = replica * own
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(gpu) for gpu in range(first, first + own))
    require_model(profile)
    port = profile.port + replica
    require_free_port(profile.host, port, "the engine", "--port")
    if not args.any_version:
        require_version(profile, program, environment)
    argv = [program, *engine_argv(profile, replica)[1:], *args.engine_option]
    if args.iteration_details:
        argv.append("--enable-logging-iteration-details")
    host = "127.0.0.1" if profile.host in {"0.0.0.0", "::"} else profile.host  # noqa: S104  (compared only)
    return EngineCommand(argv, environment, f"http://{host}:{port}")


def _gate_settings(args: argparse.Namespace, context: Context) -> tuple[str, int]:
    host, port = address_of(args.listen)
    check_exposure(host, bool(keys_of(args, context)), args.tls_cert)
    settings_of(args)
    compaction_settings(args)
    return host, port


COMMAND: Final = Command(
    name="up",
    help="start an engine from a profile, and the gate before it",
    description="""Start vLLM as a profile says, and the gate before it, as one tree of processes.

The gate starts in the profile's mode, shadow, in which everything passes. What it recommends after some
traffic stands in /gate/status, and is told at SIGUSR1 and at the end. The engine's log is stored under a
handle while it runs. SIGINT or SIGTERM lets running answers end, then ends the engine; a second one kills
it. However this command ends, nothing that it started lives on (Linux).""",
    examples=(
        "mcp-offload-serving up qwen3.6-27b-2xh100",
        "mcp-offload-serving up cpu-smoke --model ./SmolLM2-135M-Instruct",
        "mcp-offload-serving up llama-3.1-70b-fp8-8xh100 --restart 5 --mode on --reserve expected",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
