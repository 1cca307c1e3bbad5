"""make, ninja and ``cmake --build``: the targets that failed, kept as wrappers of their causes."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer, plain

_MAKE: Final = r"^(?:\S*/)?(?:g?make|mingw32-make|gmake)(?:\[(?P<level>\d+)\])?: "
_FAILED: Final = re.compile(
    _MAKE + r"\*\*\* \[(?:(?P<file>[^\]:]+):(?P<line>\d+): )?(?P<target>[^\]]+)\] (?P<what>.*)$"
)
_STOP: Final = re.compile(_MAKE + r"\*\*\* (?P<message>.*?)\s*(?:Stop\.)?$")
_FILE_STOP: Final = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+): \*\*\* (?P<message>.*?)\s*(?:Stop\.)?$")
_NO_RULE: Final = re.compile(r"^No rule to make target [`'‘](?P<target>[^'’]+)['’]")
_NINJA: Final = re.compile(r"^FAILED: (?:\[code=(?P<code>\d+)\] )?(?P<target>\S.*?)\s*$")
_NINJA_ERROR: Final = re.compile(r"^ninja: (?:error|fatal): (?P<message>.*)$")
_OBJECT: Final = re.compile(r"CMakeFiles/[^/]+\.dir/(?:__/)*")
_SUFFIX: Final = re.compile(r"\.o(?:bj)?(?:\.ddi|\.d)?$|\.pcm$")
_CAUSE: Final = re.compile(
    r"^(?:ERROR|Error|error|FATAL|Fatal|fatal|fatal error)(?: \w+)?: (?P<message>\S.*)$"
)
_WRAPPER: Final = re.compile(
    r"could not compile|aborting due to|.*command .* failed|linker command failed|ld returned|linking with|"
    r"Process completed|process didn't exit|script returned"
)
_NOISE: Final = re.compile(r"waiting for unfinished|deleting file|deleting intermediate", re.I)
_SHELL: Final = re.compile(
    r"^(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:(?:line )?\d+: )?(?P<message>.*(?:not found"
    r"|No such file or directory|Permission denied"
    r"|cannot execute|[Ss]yntax error|unexpected token|Bad substitution|Exec format error"
    r"|Argument list too long).*)$"
    r"|^(?:\S*/)?env: (?P<env>.*: No such file or directory)$"
)
_BAZEL: Final = re.compile(r"^ERROR: (?P<file>/?[^\s:]+):(?P<line>\d+):\d+: (?P<message>.*)$")
_BAZEL_TARGET: Final = re.compile(r"(?:from target|target|rule) '?(?P<target>(?:@[\w.-]+)?//[\w./:+-]+)")
_BAZEL_ENDS: Final = (
    "INFO: Build completed successfully",
    "ERROR: Build did NOT complete",
    "FAILED: Build did NOT complete",
)
_NEAR_LINES: Final = 60


class Make:
    """Keeps the innermost target of each failure; a cause just before it lends its words."""

    def __init__(self) -> None:
        self._account = Collector()
        self._deepest = -1
        self._cause: tuple[int, str] | None = None
        self._stopped = False

    def feed(self, number: int, text: str) -> int:
        """Take a failed target, a stop, or an error line that may be its cause."""
        found = _FAILED.match(text)
        if found:
            return self._failed(number, found, text)
        bazel = _BAZEL.match(text)
        if bazel or text.startswith(_BAZEL_ENDS):
            self._bazel(number, bazel, text)
            return 0
        ninja = _NINJA.match(text)
        if ninja:
            return self._ninja(number, ninja, text)
        if text.startswith("ninja: "):
            self._ninja_says(number, text)
            return 0
        stop = _FILE_STOP.match(text) or _STOP.match(text)
        if stop:
            self._stop(number, stop)
            return 0
        shell = _SHELL.match(text)
        if shell:
            self._cause = (number, text)
            self._append_cause(number, text)
            return 0
        cause = _CAUSE.match(text)
        if (
            cause
            and not _WRAPPER.match(cause["message"])
            and (self._cause is None or number - self._cause[0] > _NEAR_LINES)
        ):
            self._cause = (number, text)
        return 0

    def _failed(self, number: int, found: re.Match[str], text: str) -> int:
        if "(ignored)" in found["what"]:
            return 0
        self._account.close()
        self._account.tools.setdefault("make")
        self._account.ended_badly = True
        level = whole(found["level"] or "0")
        if level < self._deepest and "Error 2" in found["what"]:
            self._deepest = level
            return 0
        self._deepest = level
        name, kind, at, message = found["target"].strip(), "target", number, text
        if self._cause is not None and number - self._cause[0] <= _NEAR_LINES:
            at, message = self._cause
            name, kind = plain(_CAUSE.sub(r"\g<message>", message)), "config"
        target, self._cause = found["target"].strip(), None
        draft = Draft(name, kind, found["file"], integer(found["line"]), message, at, "make", None, 0, number)
        self._account.open(draft, (target, number))
        self._account.close()
        return 0

    def _ninja(self, number: int, found: re.Match[str], text: str) -> int:
        """A failed edge; its source is told by CMake's way to name objects."""
        self._account.close()
        self._account.tools.setdefault("ninja")
        self._account.ended_badly = True
        target = found["target"].split(" ")[0]
        source = _SUFFIX.sub("", _OBJECT.sub("", target))
        file = source if source != target and "." in source.rsplit("/", 1)[-1] else None
        draft = Draft("ninja", "target", file, None, text.strip(), number, "ninja", None, 0, number)
        self._account.open(draft, (target, "ninja"))
        self._cause = None
        return 0

    def _bazel(self, number: int, found: re.Match[str] | None, text: str) -> None:
        """An action that failed wraps its compiler's errors; what is wrong with a BUILD file is a cause."""
        self._account.close()
        self._account.tools.setdefault("bazel")
        if found is None:
            self._account.well(number if text.startswith("INFO") else 0)
            self._account.ended_badly |= not text.startswith("INFO")
            return
        message, target = found["message"], _BAZEL_TARGET.search(found["message"])
        name = target["target"] if target else plain(message)
        kind = "target" if "failed: (" in message else "config"
        draft = Draft(
            name, kind, found["file"], whole(found["line"]), message, number, "bazel", None, 0, number
        )
        self._account.open(draft)
        self._account.close()

    def _append_cause(self, number: int, text: str) -> None:
        draft = self._account.draft
        if draft is not None and number - draft.number <= 4:
            draft.message = f"{draft.message} ({text.strip()})"
            draft.end = number
            self._account.close()

    def _ninja_says(self, number: int, text: str) -> None:
        self._account.close()
        error = _NINJA_ERROR.match(text)
        if text.startswith("ninja: build stopped"):
            self._account.tools.setdefault("ninja")
            self._account.ended_badly = True
        elif error:
            message = error["message"]
            name = message.split("'")[1] if message.count("'") > 1 else plain(message)
            self._account.open(Draft(name, "config", None, None, message, number, "ninja", None, 0, number))
        elif text.startswith("ninja: no work to do"):
            self._account.tools.setdefault("ninja")
            self._account.well(number)

    def _stop(self, number: int, found: re.Match[str]) -> None:
        message = found["message"].strip()
        if not message or _NOISE.search(message):
            return
        self._account.close()
        rule = _NO_RULE.match(message)
        place = found.groupdict()
        name = rule["target"] if rule else plain(message)
        file, line = place.get("file"), integer(place.get("line"))
        self._account.ended_badly = True
        self._account.open(
            Draft(name, "config", file, line, message, number, "make", None, 0, number), (name, file, line)
        )
        self._account.close()

    def finish(self, last: int) -> Findings:
        """Targets do not count as errors; they stand for one where nothing else explains them."""
        found = self._account.findings()
        if found.totals.get("errors") == 0:
            del found.totals["errors"]
        return found


FAMILY: Final = Family(
    "make",
    Group.BUILD,
    (
        r"^(?:\S*/)?(?:g?make|mingw32-make)(?:\[\d+\])?: \*\*\* ",
        r"^[^\s:]+:\d+: \*\*\* ",
        r"^FAILED: ",
        r"^INFO: Build completed successfully",
        r"^ninja: (?:error|fatal|build stopped|no work to do)",
        r"^(?:\S*/)?(?:ba|da|z|k|a)?sh: .*(?:not found|No such file|Permission denied"
        r"|cannot execute|yntax error|unexpected token)",
        r"^(?:\S*/)?env: .*No such file",
        r"^(?:ERROR|Error|error|FATAL|Fatal|fatal)(?: \w+)?: ",
    ),
    Make,
)
