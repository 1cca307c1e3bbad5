"""What a CI system or terminal put around a line of output, and how it is taken off for recognition.

The stored bytes are not changed by this; line numbers count LF only and are those of the log as stored.
"""

from __future__ import annotations

import re
from typing import Final

from .family import TEXT_LIMIT

# Source: ECMA-48 (CSI, OSC, DCS and two-byte escapes), as emitted by terminals.
_CONTROL: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"
    r"|[PX^_][^\x1b]{0,4096}(?:\x1b\\)?|[ -/]*[0-~])"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x7f]"
)
# The same for bytes; leaves every LF in its place.
_CONTROL_BYTES: Final = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?|[ -/]*[0-Z\\^-~])"
)
# Escape sequences whose ESC byte was lost on the way (some log viewers drop it).
_BARE_SGR: Final = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m|\[m(?!\w)")

# Source: GitHub Actions and Azure Pipelines raw logs ("2024-05-01T10:00:00.1234567Z text"); GitLab Runner
# FF_TIMESTAMPS ("...Z 00O text", "00E", "+" = continued); `gh run view --log` (job TAB step TAB stamp).
_STAMP: Final = re.compile(
    r"(?:[^\t]{1,200}\t[^\t]{0,200}\t)?\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"(?:Z|[+-]\d\d:?\d\d)(?: [0-9a-f]{2}[OE][ +]| |$)"
)
# Source: Taskcluster ("[task 2024-05-01T10:00:00.123Z] "), Jenkins Timestamper ("[2024-...Z] "), Buildkite.
_BRACKET_STAMP: Final = re.compile(
    r"\[(?:\w+ )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\] ?"
)
# Source: mozharness log lines ("10:00:00     INFO - text"; children: " -  text", " - PID 7 | text"),
# Jenkins Timestamper's short form.
_CLOCK: Final = re.compile(
    r"\d\d:\d\d:\d\d(?:\.\d{3})?(?: +(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL) - (?: "
    r"|PID \d+ \| )?| {1,2}| \| )"
)
# Source: BuildKit plain progress ("#12 3.456 text", "#12 ERROR: text").
_BUILDKIT: Final = re.compile(r"#\d+ (?:\d+\.\d+ |(?=ERROR\b|WARN\b|CACHED|DONE|CANCELED|\[))")
_BUILDKIT_RECAP: Final = re.compile(r"\d+\.\d{1,3} (?=\S)")
# Source: docker compose ("web-1  | text"), mozprocess ("PID 123 | text").
_COMPOSE: Final = re.compile(
    r"(?!TEST-|PROCESS-CRASH|SUITE-)(?:[A-Za-z][\w.-]*(?:-\d+| {1,30})?|PID \d+) *\| "
)
# Source: GitLab section markers ("section_start:1560896352:name[collapsed=true]").
_GITLAB_SECTION: Final = re.compile(r"section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]*\])?")
# Source: Jenkins parallel branches ("[Build on X] text"); Ant tasks ("    [javac] text").
_BRANCH: Final = re.compile(
    r"\[(?![A-Z_]+[\](]|gw\d+\]|build failed|setup failed)[A-Za-z][\w .:/()+-]{0,60}\] "
)
_ANT: Final = re.compile(r" {2,12}\[(?:javac|junit|exec|java|apply|testng|scalac|groovyc|kotlinc)\] ")
_JENKINS: Final = re.compile(r"^(?:Started by |\[Pipeline\] |Running on .* in /)", re.M)
_STARTS: Final = frozenset("0123456789[#\ufeff")


def fold(text: str) -> str:
    """Take control sequences and what carriage returns overwrote out of one line."""
    if "\r" in text:
        text = text.rstrip("\r")
        if "\r" in text:
            text = _overwritten(text)
    if "\x1b" in text or not text.isprintable():
        text = _CONTROL.sub("", text)
        if "\x08" in text:
            text = text.replace("\x08", "")
    if "[0m" in text or "[m" in text:
        text = _BARE_SGR.sub("", text)
    return text


def _overwritten(text: str) -> str:
    """The last part that still shows after carriage returns, with the wrapper's stamp kept off it."""
    parts = text.split("\r")
    for part in reversed(parts[-64:]):
        if _CONTROL.sub("", part).strip():
            return part
    return parts[-1]


def strip_control(data: bytes) -> bytes:
    """Whole lines without escape sequences, so that words stand next to each other; LFs stay."""
    return _CONTROL_BYTES.sub(b"", data) if b"\x1b" in data else data


class Peeler:
    """Takes wrappers off lines; learns from the log's head whether bracketed branch names are one."""

    def __init__(self) -> None:
        self._branches = False
        self._buildkit = False

    def learn(self, head: bytes) -> None:
        """Look at the first bytes of the log once."""
        text = head.decode("utf-8", "replace")
        lines = text.split("\n")[:60]
        branched = sum(1 for line in lines if _BRANCH.match(line) and not _BRACKET_STAMP.match(line))
        self._branches = bool(_JENKINS.search(text)) or branched * 2 > len(lines)

    def peel(self, raw: bytes, full: bool = False) -> str:
        """Decode one line (without LF) and take off what is wrapped around it."""
        if not full and len(raw) > TEXT_LIMIT:
            half = TEXT_LIMIT // 2
            raw = raw[:half] + b" ... " + raw[len(raw) - half :]
        text = raw.decode("utf-8", "replace")
        if not text.isascii() or not text.isprintable():
            text = fold(text)
        elif "[0m" in text or "[m" in text:
            text = _BARE_SGR.sub("", text)
        return self.unwrap(text)

    def unwrap(self, text: str) -> str:
        """Take prefixes off; at most four are nested."""
        for _ in range(4):
            rest = self._unwrap_one(text)
            if rest is text:
                break
            text = rest
        return text.rstrip()

    def _unwrap_one(self, text: str) -> str:
        first = text[:1]
        if first in _STARTS:
            return self._unwrap_marked(text, first)
        if "\t" in text and (found := _STAMP.match(text)):
            return text[found.end() :]
        if first == "s" and (found := _GITLAB_SECTION.match(text)):
            return text[found.end() :]
        if first == " " and "[" in text[:14] and (found := _ANT.match(text)):
            return text[found.end() :]
        if " | " in text[:80] and (found := _COMPOSE.match(text)):
            return text[found.end() :]
        return text

    def _unwrap_marked(self, text: str, first: str) -> str:
        if first == "#":
            if found := _BUILDKIT.match(text):
                self._buildkit = True
                return text[found.end() :]
            return text
        if first == "[":
            found = _BRACKET_STAMP.match(text)
            if found is None and self._branches:
                found = _BRANCH.match(text)
            return text[found.end() :] if found else text
        found = _STAMP.match(text) or _CLOCK.match(text)
        if found is None and self._buildkit:
            found = _BUILDKIT_RECAP.match(text)
        if found is None:
            return text[1:] if first == "\ufeff" else text
        return text[found.end() :]
