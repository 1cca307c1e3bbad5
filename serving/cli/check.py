"""``check``: ask a running node whether it runs what its profile says."""

from __future__ import annotations

import argparse
import os
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from serving.cli.command import Command, Context, Exit
from serving.cli.plan import hub_cache_of
from serving.errors import ServingUsageError
from serving.profile.load import load_profile

if TYPE_CHECKING:
    from serving.process.check import Finding

_DEFAULT_URL: Final = "http://127.0.0.1:8080"
_MARKS: Final = {"passed": "passed ", "failed": "FAILED ", "not measurable": "unknown"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url",
        metavar="URL",
        nargs="?",
        default=_DEFAULT_URL,
        help=f"gate or engine ({_DEFAULT_URL})",
    )
    parser.add_argument(
        "--profile",
        required=True,
        metavar="PROFILE",
        help="what it should run: shipped, or a .toml file",
    )
    parser.add_argument("--model", metavar="DIR", help="the checkpoint, where `up` was given another")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="the gate's key, if it asks for one")


def _run(args: argparse.Namespace, context: Context) -> int:
    from serving.process.ask import HttpClient, checkpoint_has_kv_scales, expected_pool
    from serving.process.check import Check

    if not args.url.startswith(("http://", "https://")):
        raise ServingUsageError(f"{args.url!r} is no address; give one as {_DEFAULT_URL}")
    profile = load_profile(args.profile)
    if args.model:
        local = os.path.isdir(args.model)
        profile = replace(profile, model=os.path.abspath(args.model) if local else args.model)
    hub_cache = hub_cache_of(context)
    check = Check(
        HttpClient(args.url, _key(args.key_file)),
        profile,
        expected_pool(profile, hub_cache),
        has_kv_scales=checkpoint_has_kv_scales(profile, hub_cache),
        salt=secrets.randbelow(2**40),
    )
    findings: list[Finding] = []
    for finding in check.run():
        findings.append(finding)
        if not context.console.as_json:
            context.console.text(f"{_MARKS[finding.verdict]}  {finding.name:<16}  {finding.evidence}")
            context.console.flush()
    failed = any(finding.verdict == "failed" for finding in findings)
    if context.console.as_json:
        told = [asdict(finding) for finding in findings]
        context.console.json(
            {"url": args.url, "profile": profile.name, "passed": not failed, "findings": told}
        )
    return Exit.FAILED if failed else Exit.DONE


def _key(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text("utf-8").strip()
    except OSError as error:
        raise ServingUsageError(f"{path} cannot be read: {error.strerror}") from error


COMMAND: Final = Command(
    name="check",
    help="ask a running node whether it runs what its profile says",
    description="""Ask a running node whether it runs what its profile says, each point with its evidence.

Sends a handful of prompts of its own, the longest two and a half steps long. A point is passed, failed, or
not measurable; the exit status is 1 where one failed.""",
    examples=(
        "mcp-offload-serving check --profile qwen3.6-27b-2xh100",
        "mcp-offload-serving --json check http://127.0.0.1:8000 --profile ./my-node.toml",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
