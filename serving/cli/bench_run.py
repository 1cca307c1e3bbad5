"""What ``bench`` does with a node: prepares, measures until done or ended, and reports."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from serving.cli.command import Context, Exit
from serving.errors import MissingExtraError, ServingUsageError
from serving.profile.load import load_profile
from serving.profile.model import Profile, Speculation

if TYPE_CHECKING:
    from serving.bench.results import Results
    from serving.bench.runner import Place
    from serving.bench.suite import Plan, Scale

_SHIPPED_TRACE: Final = "agents.jsonl"
_SCALED: Final = (
    "output_tokens", "concurrency", "repeats", "prompts", "prompt_tokens", "answer_tokens", "block_tokens",
    "agents", "turns",
)  # fmt: skip
_REPLAYED: Final = {"replay", "gate"}


def measure(args: argparse.Namespace, context: Context) -> int:
    """Run a benchmark; the exit status."""
    from serving.bench.results import Results
    from serving.bench.runner import Place
    from serving.bench.suite import Plan, cells
    from serving.cli.gate_server import require_gate

    require_gate()
    profile, scale = _profile(args), _scale(args)
    out = args.out or Path(f"bench-{args.benchmark}")
    plan = Plan(args.benchmark, profile, scale, args.smoke, _options(args))
    trace, text = None, ""
    if args.benchmark in _REPLAYED:
        plan, text = _replayed(args, plan)
        trace = out / "trace.jsonl"
    cells(plan)  # what cannot be run at all is told before anything starts
    program, python, versions = _vllm(args, context, profile)
    results = Results(out, _header(plan, versions, text))
    if trace is not None:
        trace.write_text(text, encoding="utf-8")
    note = context.console.note
    if len(results):
        note(f"{len(results)} measurements are in {results.path} already")
    place = Place(
        folder=out.absolute(),
        vllm=program,
        python=python,
        environ=context.environ,
        trace=trace.absolute() if trace else None,
        note=note,
        progress=context.console.progress,
    )
    try:
        status = _ran(plan, place, results)
    finally:
        results.close()
    if status == Exit.INTERRUPTED:
        note(f"ended; what was measured is in {results.path}, and the same command goes on from there")
        return status
    return max(write_report(out, context, charts=not args.no_charts), status)


def _ran(plan: Plan, place: Place, results: Results) -> int:
    """Measure; the exit status. SIGINT and SIGTERM end it, with every process that it started."""
    from serving.bench.runner import Runner

    async def run() -> int:
        runner = Runner(plan, place, results)
        running = asyncio.ensure_future(runner.run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, running.cancel)
        try:
            await running
        except asyncio.CancelledError:
            return Exit.INTERRUPTED
        return Exit.FAILED if runner.failures else Exit.DONE

    return asyncio.run(run())


def write_report(folder: Path, context: Context, *, charts: bool) -> int:
    """Write table and charts beside results, and print the table."""
    from serving.bench.pictures import charts_of, page_of, summary_of
    from serving.bench.results import load
    from serving.report import draw

    loaded = load(folder)
    page = loaded.path.with_name("table.md")
    page.write_text(page_of(loaded), encoding="utf-8")
    written = [page]
    try:
        for name, chart in charts_of(loaded).items() if charts else ():
            for kind in ("svg", "png"):
                path = loaded.path.with_name(f"{name}.{kind}")
                path.write_bytes(draw(chart, kind))
                written.append(path)
    except MissingExtraError as error:
        context.console.note(f"no charts: {error} Then: mcp-offload-serving bench report {folder}")
    for path in (loaded.path, *written):
        context.console.note(f"wrote {path}")
    if context.console.as_json:
        files = [str(path) for path in (loaded.path, *written)]
        context.console.json({"smoke": loaded.smoke, "cells": summary_of(loaded), "files": files})
    else:
        context.console.text(page.read_text("utf-8"))
    return Exit.DONE


def _profile(args: argparse.Namespace) -> Profile:
    """The profile with what the line changes; one server of it, as benchmarks are of an engine."""
    profile = replace(load_profile(args.profile), replicas=1)
    changed: dict[str, Any] = {}
    if args.model:
        changed["model"] = os.path.abspath(args.model) if os.path.isdir(args.model) else args.model
    if args.port is not None:
        if args.port > 65535:
            raise ServingUsageError(f"--port {args.port} is no TCP port")
        changed["port"] = args.port
    if args.max_model_len:
        changed["max_model_len"] = args.max_model_len
    if args.draft:
        draft = os.path.abspath(args.draft) if os.path.isdir(args.draft) else args.draft
        changed["speculation"] = Speculation("draft_model", args.draft_tokens or 3, model=draft)
    elif args.draft_tokens:
        if profile.speculation is None:
            raise ServingUsageError("--draft-tokens is of speculation, which the profile has none of.")
        changed["speculation"] = replace(profile.speculation, tokens=args.draft_tokens)
    return replace(profile, **changed)


def _scale(args: argparse.Namespace) -> Scale:
    from serving.bench.suite import SMOKE, Scale

    stated: dict[str, Any] = {name: getattr(args, name, None) for name in _SCALED}
    stated["depths_tokens"] = getattr(args, "depths", None)
    base = SMOKE if args.smoke else Scale()
    return replace(base, **{name: value for name, value in stated.items() if value is not None})


def _options(args: argparse.Namespace) -> tuple[str, ...]:
    from serving.bench.suite import SMOKE_OPTIONS

    own = SMOKE_OPTIONS.get(args.benchmark, ()) if args.smoke else ()
    return (*own, *args.engine_option)


def _replayed(args: argparse.Namespace, plan: Plan) -> tuple[Plan, str]:
    """The plan with its trace, and that as it is replayed."""
    from importlib.resources import files

    from serving.bench import trace

    shipped = files("serving.bench") / "data" / _SHIPPED_TRACE
    try:
        told = args.trace.read_text("utf-8") if args.trace else shipped.read_text("utf-8")
        whole = trace.parse(told.splitlines())
    except (OSError, ValueError) as error:
        raise ServingUsageError(f"{args.trace} cannot be replayed: {error}.") from error
    scale = plan.scale
    asked = trace.shaped(whole, agents=scale.agents, turns=scale.turns, block_tokens=scale.block_tokens)
    summed = trace.summary(asked)
    plan = replace(plan, trace_requests=summed.requests, trace_tokens=summed.longest_tokens)
    return plan, trace.dump(asked)


def _vllm(
    args: argparse.Namespace, context: Context, profile: Profile
) -> tuple[str, list[str], dict[str, str]]:
    """The program, its interpreter, and versions of what takes part."""
    from serving.process.preflight import (
        find_program,
        interpreter_of,
        require_model,
        require_version,
        versions_of,
    )

    environment = {**context.environ}
    beside = os.path.dirname(sys.executable)
    environment["PATH"] = os.pathsep.join((environment.get("PATH", os.defpath), beside))
    program = find_program(args.vllm, environment)
    require_model(profile)
    if not args.any_version:
        require_version(profile, program, environment)
    names = [profile.engine, "torch", "transformers"]
    found = dict(zip(names, versions_of(program, names, environment), strict=True))
    return program, interpreter_of(program), found


def _header(plan: Plan, versions: Mapping[str, str], trace: str) -> dict[str, Any]:
    from serving import __version__
    from serving.bench.machine import machine

    profile = {name: value for name, value in asdict(plan.profile).items() if name not in {"notes", "port"}}
    return {
        "benchmark": plan.benchmark,
        "smoke": plan.smoke,
        "settings": {
            "profile": profile,
            "scale": asdict(plan.scale),
            "smoke": plan.smoke,
            "engine_options": list(plan.options),
            "trace": hashlib.sha256(trace.encode()).hexdigest() if trace else None,
            "versions": dict(versions),
        },
        "machine": machine(),
        "versions": {"mcp-offload": __version__, **versions},
        "command": shlex.join(["mcp-offload-serving", *sys.argv[1:]]),
    }
