"""What can be typed: the commands, their arguments and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from mcp_offload.cli.environment import VARIABLES
from mcp_offload.cli.examples import DESCRIPTIONS, EXAMPLES, EXIT_STATUSES

KINDS: Final = ("file", "log", "test", "build")
SCOPES: Final = ("user", "project", "local")
SHELLS: Final = ("bash", "zsh", "fish", "tcsh")

_GLOBALS: Final = ("store", "state", "workspace", "json", "verbose")
_NARROW: Final = partial(argparse.RawDescriptionHelpFormatter, width=80)
"""What argparse checks each argument with; otherwise it would ask for the terminal's width every time."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that keeps the line breaks of its texts and guesses no option names."""

    def __init__(self, **options: object) -> None:
        # Options are passed through untouched; argparse itself refuses those it does not know.
        super().__init__(allow_abbrev=False, formatter_class=_NARROW, **options)  # type: ignore[arg-type]

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_help()

    def format_usage(self) -> str:
        """The usage alone, as wide as the terminal."""
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_usage()


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; exits with status 2 where it is wrong and 0 for --help and --version.

    Every global option is set in what is returned, wherever on the line it stood.
    """
    args = build_parser(argv).parse_args(argv)
    for name in _GLOBALS:
        if not hasattr(args, name):
            setattr(args, name, False if name in {"json", "verbose"} else None)
    args.root = [*getattr(args, "roots_before", []), *getattr(args, "roots_after", [])]
    return args


def build_parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The whole parser, also used to write completions and the reference.

    With ``argv`` only the commands that are named on that line get their arguments: the others cannot be
    meant, and a client waits for the server to start.
    """
    parser = _Parser(
        prog="mcp-offload",
        description=DESCRIPTIONS[""],
        epilog=f"{_examples('')}\n\n{EXIT_STATUSES}\n\nmcp-offload COMMAND --help tells more about each.",
    )
    parser.add_argument("--version", action="version", version=_version())
    _add_globals(parser, "roots_before")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, prog="mcp-offload")
    for name, (help_text, add_arguments) in _COMMANDS.items():
        if argv is not None and name not in argv:
            commands.add_parser(name, help=help_text, add_help=False)
            continue
        epilog = _examples(name) + (f"\n\n{_variables()}" if name == "serve" else "")
        command = commands.add_parser(name, help=help_text, description=DESCRIPTIONS[name], epilog=epilog)
        add_arguments(command)
        _add_globals(command, "roots_after")
    return parser


def _version() -> str:
    from mcp_offload import __version__

    return f"mcp-offload {__version__}"


def _examples(command: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])


def _variables() -> str:
    return "environment variables:\n" + "\n".join(f"  {n}\n      {m}" for n, m in VARIABLES.items())


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


def _add_max_tokens(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-tokens", type=_count, default=0, metavar="N", help="o200k tokens to print; default 0, all"
    )


def _add_nothing(parser: argparse.ArgumentParser) -> None:
    """For a command that takes the options of every command alone."""


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="PATH", help="file, directory or glob; - for standard input")
    parser.add_argument("--name", help="display name; for standard input, its extension tells the language")
    parser.add_argument("--kind", choices=KINDS, help="default: told from name and content")
    parser.add_argument("--language", help="default: told from name and content")


def _add_outline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("handle", metavar="H", help="handle or path, with or without a symbol")
    _add_max_tokens(parser)


def _add_read(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("handles", metavar="H", nargs="+", help="handle or path")
    parser.add_argument("--raw", action="store_true", help="the text alone, byte for byte; no header line")
    _add_max_tokens(parser)


def _add_query(parser: argparse.ArgumentParser) -> None:
    from mcp_offload.cli.query_options import add_query_options

    add_query_options(parser)
    _add_max_tokens(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", metavar="PATTERN", help="regular expression in RE2's syntax")
    parser.add_argument("handles", metavar="H", nargs="*", help="where to search; default: everywhere")
    parser.add_argument("--literal", action="store_true", help="PATTERN is plain text")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="upper and lower case alike")
    parser.add_argument("--symbols", action="store_true", help="find symbols whose name holds PATTERN")
    parser.add_argument("--limit", type=_count, default=0, metavar="N", help="most hits; default 0, all")
    _add_max_tokens(parser)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="handle or path")
    parser.add_argument("after", metavar="B", nargs="?", help="default: the file on disk or newest version")
    _add_max_tokens(parser)


def _add_edit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("handle", metavar="H", help="handle of a symbol or of lines")
    parser.add_argument(
        "--from", dest="source", default="-", metavar="FILE", help="the new text; default -, standard input"
    )
    where = parser.add_mutually_exclusive_group()
    for op, meaning in (("replace", "the default"), ("before", "insert before"), ("after", "insert after")):
        where.add_argument(f"--{op}", dest="op", action="store_const", const=op, help=meaning)
    parser.add_argument("--no-write", action="store_true", help="make a new version; leave the file alone")
    parser.set_defaults(op="replace")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("handle", metavar="H")
    parser.add_argument("path", metavar="PATH", help="file to write, inside an allowed root")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="TEXT", nargs="?", help="only names that hold TEXT")
    parser.add_argument("--kind", choices=KINDS, help="only this kind")
    parser.add_argument("--limit", type=_count, default=0, metavar="N", help="default 0, all")


def _add_handles(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("handles", metavar="H", nargs="+")


def _add_purge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="in every workspace of the store")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask, even at a terminal")


def _add_lease(parser: argparse.ArgumentParser) -> None:
    from mcp_offload.cli.lease_options import add_lease

    add_lease(parser)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    from mcp_offload.cli.lease_options import add_lease_options
    from mcp_offload.cli.run_options import add_allow_run
    from mcp_offload.cli.serve_options import add_serve_options

    parser.add_argument("--tools", choices=("default", "all"), help="which tools to list")
    add_serve_options(parser)
    add_allow_run(parser)
    add_lease_options(parser)


def _add_wrap(parser: argparse.ArgumentParser) -> None:
    from mcp_offload.cli.lease_options import add_lease_options
    from mcp_offload.cli.wrap_options import add_wrap_options

    add_wrap_options(parser)
    add_lease_options(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    from mcp_offload.cli.run_options import add_run_options

    add_run_options(parser)


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("clients", metavar="CLIENT", nargs="*", help="a name that status lists")


def _add_install(parser: argparse.ArgumentParser) -> None:
    _add_registration(parser, "have its other servers wrapped, too")
    parser.add_argument("--print", action="store_true", dest="snippet", help="print the entry alone")
    parser.add_argument(
        "--approve-reads", action="store_true", help="let tools that only read run without asking"
    )
    parser.add_argument(
        "--hooks", action="store_true", help="have long output of its commands offloaded, too"
    )


def _add_uninstall(parser: argparse.ArgumentParser) -> None:
    _add_registration(parser, "undo the wrapping alone")


def _add_registration(parser: argparse.ArgumentParser, wrapping: str) -> None:
    """What install and uninstall share; ``wrapping``: what --wrap does."""
    parser.add_argument("clients", metavar="CLIENT", nargs="+", help="a name that status lists")
    parser.add_argument("--scope", choices=SCOPES, help="default: user")
    parser.add_argument("--dry-run", action="store_true", help="show the diff; write nothing")
    parser.add_argument("--wrap", action="store_true", help=wrapping)


def _add_hook(parser: argparse.ArgumentParser) -> None:
    """It is carried out before this parser is loaded, as capture is; the parser tells what they are."""
    parser.add_argument("client", metavar="CLIENT", help="a client that install --hooks sets up")
    parser.add_argument("event", metavar="EVENT", help="the client's name for it")


def _add_capture(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="display name")
    parser.add_argument("--spool", action="store_true", help="where storing fails, leave it to another hook")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must not be negative: {text}")
    return number


_COMMANDS: Final[dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]] = {
    "store": ("store a file, directory, glob or standard input", _add_store),
    "outline": ("list the symbols of an artifact", _add_outline),
    "read": ("print what handles name", _add_read),
    "query": ("ask JSON, JSON lines, CSV or Parquet for rows", _add_query),
    "search": ("find lines, or symbols by name", _add_search),
    "diff": ("compare versions, artifacts, or a snapshot with its file", _add_diff),
    "edit": ("replace, or insert beside, what a handle names", _add_edit),
    "export": ("write stored bytes to a file", _add_export),
    "list": ("list what is stored", _add_list),
    "release": ("give up stored bytes now", _add_handles),
    "pin": ("keep artifacts from eviction and expiry", _add_handles),
    "unpin": ("let pinned artifacts be evicted and expire again", _add_handles),
    "purge": ("remove everything stored in this workspace", _add_purge),
    "gc": ("remove what expired and sweep leftovers", _add_nothing),
    "stats": ("tell what the store holds and promises", _add_nothing),
    "lease": ("tell what a session was sent, and report on its context", _add_lease),
    "serve": ("speak MCP on standard input and output", _add_serve),
    "wrap": ("stand in front of another MCP server; its large results are stored", _add_wrap),
    "run": ("run a command, store what it prints and print the digest of that", _add_run),
    "doctor": ("check the installation and say what to fix", _add_nothing),
    "demo": ("walk a real debugging task and print what it cost", _add_nothing),
    "completion": ("print a completion script", _add_completion),
    "install": ("register the server with agent clients", _add_install),
    "uninstall": ("take the server out of agent clients", _add_uninstall),
    "status": ("tell which agent clients start the server", _add_status),
    "hook": ("answer an event of an agent client; stands in its configuration", _add_hook),
    "capture": ("pass short output through; of long output show the digest", _add_capture),
}
"""What each command is for and what adds its arguments, in the order of the help."""
