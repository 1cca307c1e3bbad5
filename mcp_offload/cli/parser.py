"""What can be typed: the commands, their arguments and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from mcp_offload.cli.environment import VARIABLES
from mcp_offload.cli.examples import DESCRIPTIONS, EXAMPLES, EXIT_STATUSES
from mcp_offload.cli.lease_options import add_lease, add_lease_options
from mcp_offload.cli.query_options import add_query_options
from mcp_offload.cli.run_options import add_allow_run, add_run_options
from mcp_offload.cli.serve_options import add_serve_options
from mcp_offload.cli.wrap_options import add_wrap_options

KINDS: Final = ("file", "log", "test", "build")
SCOPES: Final = ("user", "project", "local")
SHELLS: Final = ("bash", "zsh", "fish", "tcsh")

_GLOBALS: Final = ("store", "state", "workspace", "json", "verbose")


class _Parser(argparse.ArgumentParser):
    """An argument parser that keeps the line breaks of its texts and guesses no option names."""

    def __init__(self, **options: object) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        # Options are passed through untouched; argparse itself refuses those it does not know.
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]


if TYPE_CHECKING:
    _Commands: TypeAlias = argparse._SubParsersAction[_Parser]  # pyright: ignore[reportPrivateUsage]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; exits with status 2 where it is wrong and 0 for --help and --version.

    Every global option is set in what is returned, wherever on the line it stood.
    """
    args = build_parser().parse_args(argv)
    for name in _GLOBALS:
        if not hasattr(args, name):
            setattr(args, name, False if name in {"json", "verbose"} else None)
    args.root = [*getattr(args, "roots_before", []), *getattr(args, "roots_after", [])]
    return args


def build_parser() -> argparse.ArgumentParser:
    """The whole parser, also used to write completions and the reference."""
    parser = _Parser(
        prog="mcp-offload",
        description=DESCRIPTIONS[""],
        epilog=f"{_examples('')}\n\n{EXIT_STATUSES}\n\nmcp-offload COMMAND --help tells more about each.",
    )
    parser.add_argument("--version", action="version", version=_version())
    _add_globals(parser, "roots_before")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_storing(commands)
    _add_reading(commands)
    _add_changing(commands)
    _add_keeping(commands)
    _add_running(commands)
    _add_registering(commands)
    _add_hooking(commands)
    return parser


def _version() -> str:
    from mcp_offload import __version__

    return f"mcp-offload {__version__}"


def _examples(command: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])


def _add_globals(parser: argparse.ArgumentParser, roots: str) -> None:
    group = parser.add_argument_group("settings, before or after the command")
    unset = argparse.SUPPRESS  # what stands before the command must not be reset by its default after it
    group.add_argument("--store", metavar="DIR", default=unset, help="the store; shared by all that name it")
    group.add_argument("--state", metavar="DIR", default=unset, help="what must outlive a wiped store")
    group.add_argument(
        "--root",
        metavar="DIR",
        action="append",
        dest=roots,
        default=unset,
        help="allowed directory, repeatable; default: the workspace",
    )
    group.add_argument("--workspace", metavar="ID", default=unset, help="default: git root or directory")
    group.add_argument("--json", action="store_true", default=unset, help="print one JSON object")
    group.add_argument("-v", "--verbose", action="store_true", default=unset, help="log to standard error")


def _command(commands: _Commands, name: str, help_text: str, more: str = "") -> argparse.ArgumentParser:
    description = DESCRIPTIONS[name]
    epilog = _examples(name) + (f"\n\n{more}" if more else "")
    return commands.add_parser(name, help=help_text, description=description, epilog=epilog)


def _add_storing(commands: _Commands) -> None:
    store = _command(commands, "store", "store a file, directory, glob or standard input")
    store.add_argument("source", metavar="PATH", help="file, directory or glob; - for standard input")
    store.add_argument("--name", help="display name; for standard input, its extension tells the language")
    store.add_argument("--kind", choices=KINDS, help="default: told from name and content")
    store.add_argument("--language", help="default: told from name and content")
    _add_globals(store, "roots_after")


def _add_max_tokens(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-tokens", type=_count, default=0, metavar="N", help="o200k tokens to print; default 0, all"
    )


def _add_reading(commands: _Commands) -> None:
    outline = _command(commands, "outline", "list the symbols of an artifact")
    outline.add_argument("handle", metavar="H", help="handle or path, with or without a symbol")
    _add_max_tokens(outline)
    _add_globals(outline, "roots_after")

    read = _command(commands, "read", "print what handles name")
    read.add_argument("handles", metavar="H", nargs="+", help="handle or path")
    read.add_argument("--raw", action="store_true", help="the text alone, byte for byte; no header line")
    _add_max_tokens(read)
    _add_globals(read, "roots_after")

    query = _command(commands, "query", "ask JSON, JSON lines, CSV or Parquet for rows")
    add_query_options(query)
    _add_max_tokens(query)
    _add_globals(query, "roots_after")

    search = _command(commands, "search", "find lines, or symbols by name")
    search.add_argument("pattern", metavar="PATTERN", help="regular expression in RE2's syntax")
    search.add_argument("handles", metavar="H", nargs="*", help="where to search; default: everywhere")
    search.add_argument("--literal", action="store_true", help="PATTERN is plain text")
    search.add_argument("-i", "--ignore-case", action="store_true", help="upper and lower case alike")
    search.add_argument("--symbols", action="store_true", help="find symbols whose name holds PATTERN")
    search.add_argument("--limit", type=_count, default=0, metavar="N", help="most hits; default 0, all")
    _add_max_tokens(search)
    _add_globals(search, "roots_after")

    diff = _command(commands, "diff", "compare versions, artifacts, or a snapshot with its file")
    diff.add_argument("before", metavar="A", help="handle or path")
    diff.add_argument("after", metavar="B", nargs="?", help="default: the file on disk or newest version")
    _add_max_tokens(diff)
    _add_globals(diff, "roots_after")


def _add_changing(commands: _Commands) -> None:
    edit = _command(commands, "edit", "replace, or insert beside, what a handle names")
    edit.add_argument("handle", metavar="H", help="handle of a symbol or of lines")
    edit.add_argument(
        "--from", dest="source", default="-", metavar="FILE", help="the new text; default -, standard input"
    )
    where = edit.add_mutually_exclusive_group()
    for op, meaning in (("replace", "the default"), ("before", "insert before"), ("after", "insert after")):
        where.add_argument(f"--{op}", dest="op", action="store_const", const=op, help=meaning)
    edit.add_argument("--no-write", action="store_true", help="make a new version; leave the file alone")
    edit.set_defaults(op="replace")
    _add_globals(edit, "roots_after")

    export = _command(commands, "export", "write stored bytes to a file")
    export.add_argument("handle", metavar="H")
    export.add_argument("path", metavar="PATH", help="file to write, inside an allowed root")
    export.add_argument("--force", action="store_true", help="replace an existing file")
    _add_globals(export, "roots_after")


def _add_keeping(commands: _Commands) -> None:
    listing = _command(commands, "list", "list what is stored")
    listing.add_argument("name", metavar="TEXT", nargs="?", help="only names that hold TEXT")
    listing.add_argument("--kind", choices=KINDS, help="only this kind")
    listing.add_argument("--limit", type=_count, default=0, metavar="N", help="default 0, all")
    _add_globals(listing, "roots_after")
    for name, help_text in (
        ("release", "give up stored bytes now"),
        ("pin", "keep artifacts from eviction and expiry"),
        ("unpin", "let pinned artifacts be evicted and expire again"),
    ):
        parser = _command(commands, name, help_text)
        parser.add_argument("handles", metavar="H", nargs="+")
        _add_globals(parser, "roots_after")
    purge = _command(commands, "purge", "remove everything stored in this workspace")
    purge.add_argument("--all", action="store_true", help="in every workspace of the store")
    purge.add_argument("-y", "--yes", action="store_true", help="do not ask, even at a terminal")
    _add_globals(purge, "roots_after")
    for name, help_text in (
        ("gc", "remove what expired and sweep leftovers"),
        ("stats", "tell what the store holds and promises"),
    ):
        _add_globals(_command(commands, name, help_text), "roots_after")
    lease = _command(commands, "lease", "tell what a session was sent, and report on its context")
    add_lease(lease)
    _add_globals(lease, "roots_after")


def _add_running(commands: _Commands) -> None:
    variables = "environment variables:\n" + "\n".join(f"  {n}\n      {m}" for n, m in VARIABLES.items())
    serve = _command(commands, "serve", "speak MCP on standard input and output", variables)
    serve.add_argument("--tools", choices=("default", "all"), help="which tools to list")
    add_serve_options(serve)
    add_allow_run(serve)
    add_lease_options(serve)
    _add_globals(serve, "roots_after")
    wrap = _command(commands, "wrap", "stand in front of another MCP server; its large results are stored")
    add_wrap_options(wrap)
    add_lease_options(wrap)
    _add_globals(wrap, "roots_after")
    run = _command(commands, "run", "run a command, store what it prints and print the digest of that")
    add_run_options(run)
    _add_globals(run, "roots_after")
    for name, help_text in (
        ("doctor", "check the installation and say what to fix"),
        ("demo", "walk a real debugging task and print what it cost"),
    ):
        _add_globals(_command(commands, name, help_text), "roots_after")
    completion = _command(commands, "completion", "print a completion script")
    completion.add_argument("shell", choices=SHELLS)
    _add_globals(completion, "roots_after")


def _add_hooking(commands: _Commands) -> None:
    """Both are carried out before this parser is loaded; it tells what they are."""
    hook = _command(commands, "hook", "answer an event of an agent client; stands in its configuration")
    hook.add_argument("client", metavar="CLIENT", help="a client that install --hooks sets up")
    hook.add_argument("event", metavar="EVENT", help="the client's name for it")
    _add_globals(hook, "roots_after")
    capture = _command(commands, "capture", "pass short output through; of long output show the digest")
    capture.add_argument("--name", help="display name")
    capture.add_argument("--spool", action="store_true", help="where storing fails, leave it to another hook")
    _add_globals(capture, "roots_after")


def _add_registering(commands: _Commands) -> None:
    for name, help_text in (
        ("install", "register the server with agent clients"),
        ("uninstall", "take the server out of agent clients"),
        ("status", "tell which agent clients start the server"),
    ):
        parser = _command(commands, name, help_text)
        some = "*" if name == "status" else "+"
        parser.add_argument("clients", metavar="CLIENT", nargs=some, help="a name that status lists")
        if name != "status":
            parser.add_argument("--scope", choices=SCOPES, help="default: user")
            parser.add_argument("--dry-run", action="store_true", help="show the diff; write nothing")
            what = "have its other servers wrapped, too" if name == "install" else "undo the wrapping alone"
            parser.add_argument("--wrap", action="store_true", help=what)
        if name == "install":
            parser.add_argument("--print", action="store_true", dest="snippet", help="print the entry alone")
            parser.add_argument(
                "--approve-reads", action="store_true", help="let tools that only read run without asking"
            )
            parser.add_argument(
                "--hooks", action="store_true", help="have long output of its commands offloaded, too"
            )
        _add_globals(parser, "roots_after")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must not be negative: {text}")
    return number
