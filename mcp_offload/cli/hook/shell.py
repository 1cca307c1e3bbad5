"""Command lines as shells read them, as far as is needed to let one go through a pipe. Pure.

What is not understood is left alone: a wrong guess would change what a command does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_offload.cli.hook.commands import prints_logs, program_of, without_assignments

PIPEFAIL: Final = "set -o pipefail"
"""By this the exit status stays that of the command, in bash and zsh. A command of its own, so that a
client that looks at every command of a line sees the one that matters as it was."""

_JOINING: Final = frozenset({"&&", "||", ";"})
_NAME: Final = re.compile(r"[\w ./:=,@+-]{1,60}")
_NOT_UNDERSTOOD: Final = re.compile(
    r"[\n\r`#]|\$\(|\$\{|<<|\\$"  # several lines, substitution, comments, here-documents
)
_KEYWORDS: Final = frozenset(
    (
        *(
            "if",
            "then",
            "else",
            "elif",
            "fi",
            "for",
            "while",
            "until",
            "do",
            "done",
            "case",
            "esac",
            "select",
        ),
        *("function", "coproc", "!", "{", "}", "[[", "exec", "eval", "trap"),
    )
)
_MERGED: Final = re.compile(r"\s*\b2>&1\s*$")


def last_command(line: str) -> list[str] | None:
    """The words of a line's last simple command; None where the line is not plain.

    Plain is: simple commands joined by ``&&``, ``||`` and ``;``, without pipes, redirections, groups,
    substitutions and background jobs.
    """
    if _NOT_UNDERSTOOD.search(line):
        return None
    try:
        commands = list(_commands(line))
    except ValueError:  # quotes that do not end
        return None
    if not commands or any(command is None for command in commands):
        return None
    return commands[-1]


def noisy(line: str) -> list[str] | None:
    """The last command's words where the line is plain and ends in a command that prints logs."""
    words = last_command(line)
    return words if words and prints_logs(words) else None


def piped(line: str, through: Sequence[str], *, merge_errors: bool) -> str | None:
    """The line with the output of its last command going through another one; None to leave it alone.

    ``through`` are the words of the other command, to which ``--name`` and a name are added; with
    ``merge_errors`` standard error goes through it as well.
    """
    if merge_errors:
        line = _MERGED.sub("", line)
    words = noisy(line)
    if words is None:
        return None
    filtered = shlex.join([*through, "--name", name_of(words)])
    return f"{PIPEFAIL}; {line.strip()}{' 2>&1' * merge_errors} | {filtered}"


def name_of(words: Sequence[str]) -> str:
    """A name for what the command prints: itself, or its program where it is long or has odd signs."""
    text = " ".join(without_assignments(words))
    return text if _NAME.fullmatch(text) else program_of(words)


def _commands(line: str) -> Iterator[list[str] | None]:
    """Each simple command's words; None for what is not one.

    Raises:
        ValueError: a quote has no end.
    """
    words: list[str] = []
    for token in _tokens(line):
        if token in _JOINING:
            yield words if _is_simple(words) else None
            words = []
        elif token[0] in "();<>|&":
            yield None
        else:
            words.append(token)
    yield words if _is_simple(words) else None


def _tokens(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=False, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    yield from lexer


def _is_simple(words: Sequence[str]) -> bool:
    return bool(words) and words[0] not in _KEYWORDS
