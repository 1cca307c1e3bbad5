"""``keys``: who may use the gate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from serving.cli.command import Command, Context, Exit
from serving.cli.gate import KEYS_VARIABLE
from serving.errors import ServingUsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("add", "list", "remove"), help="what to do")
    parser.add_argument("name", nargs="?", help="the key's name, for add and remove")
    parser.add_argument("--tenant", help="whose share of the node it counts against (the name)")
    parser.add_argument("--keys", type=Path, metavar="FILE", help=f"the key file; also {KEYS_VARIABLE}")


def _run(args: argparse.Namespace, context: Context) -> int:
    from serving.gateway import keys

    path = args.keys or Path(context.environ.get(KEYS_VARIABLE) or _default(context))
    if args.action == "list":
        kept = keys.Keys.load(path).keys
        if context.console.as_json:
            context.console.json({"keys": [{"name": key.name, "tenant": key.tenant} for key in kept]})
        else:
            context.console.text("".join(f"{key.name}\t{key.tenant}\n" for key in kept))
        return Exit.DONE
    if not args.name:
        raise ServingUsageError(f"keys {args.action} needs a name")
    if args.action == "remove":
        keys.remove(path, args.name)
        context.console.note(f"removed {args.name} from {path}; restart the gate to lock it out")
        return Exit.DONE
    secret = keys.add(path, args.name, args.tenant)
    if context.console.as_json:
        context.console.json({"name": args.name, "key": secret, "file": str(path)})
    else:
        context.console.text(secret)
    context.console.note(f"kept as a hash in {path}; this is the only time the key is shown")
    return Exit.DONE


def _default(context: Context) -> Path:
    config = context.environ.get("XDG_CONFIG_HOME") or str(Path(context.environ.get("HOME", "~")) / ".config")
    return Path(config) / "mcp-offload" / "gate-keys.jsonl"


COMMAND: Final = Command(
    name="keys",
    help="make, list and remove the keys of the gate",
    description="""Make, list and remove the bearer keys that clients send to the gate.

A key is shown once, when it is made; the file keeps only its hash.""",
    examples=("mcp-offload-serving keys add alice --tenant research", "mcp-offload-serving keys list"),
    add_arguments=_add_arguments,
    run=_run,
)
