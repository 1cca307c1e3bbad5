"""The last error line of tools that have no form of their own: git, curl, apt, ssh, terraform, scripts."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .collect import plain

_WORDS: Final = re.compile(
    r"^(?:\s*[│|] ?)?(?:(?P<tool>fatal|error|ERROR|Error|FATAL|Fatal|panic|E|curl|wget|ssh"
    r"|scp|rsync|tar|unzip|helm|kubectl|make|cp|mv|rm|"
    r"mkdir|ls|cat|chmod|sed|patch|sudo|conda|gpg|ERR!)(?:\[\w+\])?: ?(?:\(\d+\) )?|"
    r"(?P<bang>\[!\]) )(?P<message>\S.*)$"
)
# Source: dash, bash and zsh of a command that is not there.
_MISSING: Final = re.compile(
    r"^(?:\S+: (?:line \d+: |\d+: )?|zsh: (?:\d+: )?)(?P<message>(?:\S+: (?:command )?not found"
    r"|command not found: \S+))$"
)
_EXIT: Final = re.compile(
    r"(?i)\bexit(?:ed)?(?: with)?(?: error)?(?:[ -](?:code|status))[: ]*-?[1-9]"
    r"|^##\[error\]|^\++ exit [1-9]|^ERROR: Job failed|"
    r"marked build as failure|did not run success|^Finished: FAILURE|^Cleaning up project directory"
)
_FINE: Final = re.compile(r"^\++ exit 0$|(?i:^(?:done|ok|success))")
# A utility's complaint is often expected: it counts only where the process then ends badly.
_UTILITY: Final = re.compile(r"^(?:cp|mv|rm|mkdir|ls|cat|chmod|sed|gpg|make|tar|ssh|rsync)\b")
_PARTIAL: Final = re.compile(r"(?i)^(?:warning|ignor|0 errors?\b|none\b|no errors?\b)")
_NEAR_LINES: Final = 6


class LastWords:
    """An error line with which the log ends, or after which the process ended badly, is a failure."""

    def __init__(self) -> None:
        self._last: tuple[int, str, str] | None = None
        self._final: Failure | None = None
        self._after = 0

    def feed(self, number: int, text: str) -> int:
        """Take an error line, or one of the few below it."""
        found = _WORDS.match(text) or _MISSING.match(text)
        if found and not _PARTIAL.match(found["message"]):
            self._last = (number, found["message"].strip(), text.strip())
            self._after = 0
            return _NEAR_LINES
        if _FINE.match(text):
            self._last = None
            return 0
        if self._last is None or not text.strip():
            return _NEAR_LINES if self._last is not None and number - self._last[0] < 20 else 0
        if _EXIT.search(text):
            self._keep()
            return 0
        self._after += 1
        if self._after >= _NEAR_LINES:
            self._last = None
            return 0
        return _NEAR_LINES - self._after

    def _keep(self) -> None:
        assert self._last is not None
        at, message, text = self._last
        self._final = Failure(plain(message), "target", None, None, text, at, Lines(at, at), "shell")
        self._last = None

    def finish(self, last: int) -> Findings:
        """Only a wrapper's word: it counts where nothing else explains the failure."""
        if self._last is not None and self._after <= 2 and not _UTILITY.match(self._last[2]):
            self._keep()
        if self._final is None:
            return Findings()
        return Findings((), [self._final], {}, Verdict.FAILED)


FAMILY: Final = Family(
    "last words",
    Group.BUILD,
    (
        r"^(?:fatal|error|ERROR|Error|FATAL|Fatal): \S",
        r"^Error: \S",
        r"^[│|] Error: ",
        r"^E: \S",
        r"^(?:curl|wget|ssh|scp|rsync|tar|helm|kubectl|cp|mv|rm|mkdir|ls|cat|chmod|sed|patch"
        r"|sudo|gpg|conda): ",
        r"^\[!\] ",
        r": (?:command )?not found$",
        r"^zsh: (?:\d+: )?command not found: ",
    ),
    LastWords,
)
