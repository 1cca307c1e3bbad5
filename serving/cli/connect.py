"""``connect``: what to write into a client so that it goes through the gate."""

from __future__ import annotations

import argparse
from typing import Final

from serving.cli.command import Command, Context, Exit


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from serving.gateway.connect import CLIENTS

    parser.add_argument("client", choices=sorted(CLIENTS), help="the client")
    parser.add_argument(
        "--gate", default="http://127.0.0.1:8080", metavar="URL", help="the gate (http://127.0.0.1:8080)"
    )
    parser.add_argument(
        "--model", default="default", metavar="NAME", help="the model's name, as /v1/models lists it"
    )


def _run(args: argparse.Namespace, context: Context) -> int:
    from serving.gateway.connect import CLIENTS, KEY_VARIABLE

    lines = CLIENTS[args.client](args.gate.rstrip("/"), args.model)
    if context.console.as_json:
        context.console.json({"client": args.client, "lines": lines, "key_variable": KEY_VARIABLE})
        return Exit.DONE
    context.console.text(lines)
    context.console.note(
        f"{KEY_VARIABLE} holds the key that 'keys add' printed; without keys any text will do"
    )
    return Exit.DONE


COMMAND: Final = Command(
    name="connect",
    help="print what connects a client to the gate",
    description="Print the lines that make a client send its requests through the gate.",
    examples=("mcp-offload-serving connect claude-code --model qwen3.6-27b",),
    add_arguments=_add_arguments,
    run=_run,
)
