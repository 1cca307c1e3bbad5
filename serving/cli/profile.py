"""``profile``: lists the profiles that are shipped, and shows one with units, reasons and its command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Final

from serving.cli.command import Command, Context, Exit
from serving.errors import ServingUsageError
from serving.profile.command import engine_argv, engine_flags, engine_variables, rendered, why
from serving.profile.fields import FIELDS
from serving.profile.load import load_profile, shipped_profiles
from serving.profile.model import Profile


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show"), help="what to do")
    parser.add_argument(
        "name", metavar="PROFILE", nargs="?", help="shipped profile, or a file ending in .toml"
    )


def _run(args: argparse.Namespace, context: Context) -> int:
    if args.action == "list":
        if args.name:
            raise ServingUsageError("`profile list` takes no name; `profile show NAME` shows one.")
        _list(context)
        return Exit.DONE
    if not args.name:
        raise ServingUsageError(f"Name a profile to show: {', '.join(shipped_profiles())}, or a .toml file.")
    profile = load_profile(args.name)
    if context.console.as_json:
        context.console.json(
            {
                "profile": asdict(profile),
                "reasons": {name: why(profile, name) for name in FIELDS},
                "variables": engine_variables(profile),
                "argv": [engine_argv(profile, replica) for replica in range(profile.replicas)],
            }
        )
    else:
        context.console.text("\n".join(_shown(profile)))
    return Exit.DONE


def _list(context: Context) -> None:
    profiles = [load_profile(name) for name in shipped_profiles()]
    if context.console.as_json:
        context.console.json({"profiles": [{"name": p.name, "summary": p.summary} for p in profiles]})
        return
    width = max(len(profile.name) for profile in profiles)
    context.console.text("\n".join(f"{profile.name:<{width}}  {profile.summary}" for profile in profiles))


def _shown(profile: Profile) -> Iterator[str]:
    yield f"{profile.name}: {profile.summary}"
    yield ""
    width = max(len(name) for name in FIELDS)
    for field in fields(profile):
        value: object = getattr(profile, field.name)
        if field.name in ("name", "summary", "notes") or value in (None, (), ""):
            continue
        known = FIELDS[field.name]
        unit = f" {known.unit}" if known.unit else ""
        yield f"{field.name:<{width}}  {_plain(value)}{unit}"
        source = f" [{known.source}]" if known.source and field.name not in profile.notes else ""
        yield f"{'':<{width}}    {why(profile, field.name)}{source}"
    yield ""
    yield from (f"{name}={value}" for name, value in engine_variables(profile).items())
    for replica in range(profile.replicas):
        yield rendered(profile, replica)
    yield ""
    options = engine_flags(profile)
    widest = max(len(option.words[0]) for option in options)
    yield from (f"{option.words[0]:<{widest}}  {option.why}" for option in options)


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(entry) for entry in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


PROFILE: Final = Command(
    name="profile",
    help="list the shipped profiles, or show one with its command",
    description="""List the shipped profiles, or show one: fields with unit and reason, and vLLM's command.

A profile is a TOML file; `plan --write-profile` makes one for your own load.""",
    examples=(
        "mcp-offload-serving profile list",
        "mcp-offload-serving profile show qwen3.6-27b-2xh100",
        "mcp-offload-serving profile show ./my-node.toml",
        "mcp-offload-serving --json profile show cpu-smoke",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
