"""Terraform's boxed errors and Ansible's failed tasks."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, plain

_TERRAFORM: Final = re.compile(r"^│ Error: (?P<message>.*)$")
_PLACE: Final = re.compile(r"^│ +on (?P<file>\S+) line (?P<line>\d+)")
_TASK: Final = re.compile(r"^(?:TASK|RUNNING HANDLER) \[(?P<task>.*)\] \*+")
_FAILED: Final = re.compile(
    r"^(?:fatal|failed): \[(?P<host>[^\]]+)\].*?(?P<what>FAILED|UNREACHABLE)! => "
    r"(?P<rest>.*)$"
)
_MESSAGE: Final = re.compile(r'"msg": "(?P<message>(?:[^"\\]|\\.)*)"')
_RECAP: Final = re.compile(r"^\S+ +: ok=\d+ .*unreachable=(?P<unreachable>\d+) +failed=(?P<failed>\d+)")


class Infra:
    """An error that the play ignores is none."""

    def __init__(self) -> None:
        self._account = Collector()
        self._task = ""

    def feed(self, number: int, text: str) -> int:
        """Take an error, its place, or a task."""
        error = _TERRAFORM.match(text)
        if error:
            name, message = plain(error["message"]), error["message"]
            draft = Draft(name, "config", None, None, message, number, "terraform", None, 0, number)
            self._account.open(draft, (message, number))
            return 12
        task = _TASK.match(text)
        if task:
            self._account.close()
            self._task = task["task"]
            return 0
        failed = _FAILED.match(text)
        if failed:
            said = _MESSAGE.search(failed["rest"])
            message = said["message"] if said else failed["what"]
            draft = Draft(
                self._task or message, "config", None, None, message, number, "ansible", None, 0, number
            )
            self._account.open(draft, (self._task, failed["host"], number))
            return 2
        return self._below(number, text)

    def _below(self, number: int, text: str) -> int:
        draft = self._account.draft
        recap = _RECAP.match(text)
        if recap:
            self._account.tools.setdefault("ansible")
            bad = recap["failed"].strip("0") or recap["unreachable"].strip("0")
            self._account.ended_badly |= bool(bad)
            self._account.well(0 if self._account.ended_badly else number)
        elif draft is not None and draft.tool == "ansible" and text.startswith("...ignoring"):
            self._account.draft = None
        elif draft is not None and text.startswith("│"):
            place = _PLACE.match(text)
            if place and draft.file is None:
                draft.file, draft.line = place["file"], whole(place["line"])
            self._account.extend(number)
            return 12
        return 0

    def finish(self, last: int) -> Findings:
        """Errors as counted."""
        return self._account.findings()


FAMILY: Final = Family(
    "infrastructure",
    Group.BUILD,
    (
        r"^│ Error: ",
        r"^(?:TASK|RUNNING HANDLER) \[",
        r"^(?:fatal|failed): \[.*! => ",
        r" unreachable=\d+ +failed=\d+",
    ),
    Infra,
)
