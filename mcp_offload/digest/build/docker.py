"""docker build (classic and BuildKit), compose, pull and run: failed steps and errors of the daemon."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer

_DAEMON: Final = re.compile(r"^(?:docker: )?Error response from daemon: (?P<message>.*)$")
_CONTEXT: Final = re.compile(
    r"^(?:ERROR: |error: |docker: )?(?P<message>unable to (?:prepare context"
    r"|evaluate symlinks).*|failed to (?:solve|read dockerfile|build|fetch|compute).*"
    r"|(?:invalid reference format|Cannot connect to the Docker daemon).*"
    r"|(?:failed to solve|unknown instruction|dockerfile parse error).*)$"
)
_PARSE: Final = re.compile(
    r"^(?:ERROR: )?(?:failed to solve: )?dockerfile parse error on line (?P<line>\d+): (?P<message>.*)$"
)
_PLACE: Final = re.compile(r"^(?P<file>\S*(?:[Dd]ockerfile|Containerfile)\S*):(?P<line>\d+)$")
_STEP: Final = re.compile(r"^(?:#\d+ )?(?:\s*> )?\[(?P<step>[^\]]*\d+/\d+)\] (?P<what>.*?):?$")
_FAILED: Final = re.compile(
    r"^(?:#\d+ )?(?:ERROR: |error: |target \S+: )*(?:failed to solve: "
    r"|executor failed running )?(?P<message>(?:process \".*\" did not complete successful"
    r"ly: exit code: \d+.*"
    r"|The command '.*' returned a non-zero code: \d+.*|executor failed running \[.*\]: exit code: \d+.*))$"
)
_SERVICE: Final = re.compile(r"^(?:Service|service) ['\"]?(?P<service>[\w.-]+)['\"]? failed to build")
_DONE: Final = re.compile(
    r"^Successfully (?:built [0-9a-f]{12}$|tagged )|^#\d+ (?:writing image|naming to) .*done$"
)


class Docker:
    """The same message three times is one failure; a failed step wraps the command's own error."""

    def __init__(self) -> None:
        self._account = Collector()
        self._seen: dict[str, Draft] = {}
        self._place: tuple[str, int] | None = None

    def feed(self, number: int, text: str) -> int:
        """Take an error of the client, the daemon or a step."""
        failed = _FAILED.match(text)
        if failed:
            self._add(number, self._step_name(failed["message"]), "target", failed["message"])
            return 0
        parse = _PARSE.match(text)
        if parse:
            draft = self._add(number, "Dockerfile", "config", parse["message"])
            draft.file, draft.line = "Dockerfile", whole(parse["line"])
            return 0
        daemon = _DAEMON.match(text) or _CONTEXT.match(text)
        if daemon:
            message = daemon["message"]
            name = "Dockerfile" if re.search(r"[Dd]ockerfile", message) else "docker"
            self._add(
                number,
                name,
                "config",
                daemon[0] if text.startswith(("Error resp", "docker: Error")) else message,
            )
            return 0
        place = _PLACE.match(text)
        if place:
            self._place = (place["file"], whole(place["line"]))
        elif _DONE.match(text):
            self._account.tools.setdefault("docker")
            self._account.well(number)
        return 0

    @staticmethod
    def _step_name(message: str) -> str:
        found = re.search(r"(?:process \"|command ')(?P<command>.*?)(?:\" did|' returned)", message)
        return found["command"].removeprefix("/bin/sh -c ") if found else message

    def _add(self, number: int, name: str, kind: str, message: str) -> Draft:
        """Count a message once; where it is repeated, its last line shows it."""
        key = re.sub(r"^.*failed to solve: ", "", message)
        draft = self._seen.get(key)
        if draft is None:
            draft = Draft(name, kind, None, None, message, number, "docker", None, number, number)
            if len(self._seen) < 1000:
                self._seen[key] = draft
        elif kind != "target":
            draft.number = draft.end = draft.start = number
        return draft

    def finish(self, last: int) -> Findings:
        """One failure for each distinct message."""
        for draft in self._seen.values():
            if draft.kind == "target" and self._place is not None:
                draft.file, draft.line = self._place[0], integer(str(self._place[1]))
            self._account.open(draft)
            self._account.close()
        found = self._account.findings()
        if not any(item.kind != "target" for item in found.failures):
            found.totals.pop("errors", None)
        return found


FAMILY: Final = Family(
    "docker",
    Group.BUILD,
    (
        r"Error response from daemon: ",
        r"unable to (?:prepare context|evaluate symlinks)",
        r"failed to (?:solve|read dockerfile)",
        r"dockerfile parse error on line \d+",
        r"did not complete successfully: exit code: \d+",
        r"returned a non-zero code: \d+",
        r"executor failed running \[",
        r"Cannot connect to the Docker daemon",
        r"^docker: invalid reference format",
        r"^\S*(?:[Dd]ockerfile|Containerfile)\S*:\d+$",
        r"^Successfully (?:built [0-9a-f]{12}$|tagged )",
    ),
    Docker,
)
