"""npm, pnpm, yarn and pip: each complaint is one failure, named by its code or requirement."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from .collect import Collector, Draft, plain

_NPM: Final = re.compile(r"^npm (?:error|ERR!) ?(?P<rest>.*)$")
_NPM_DONE: Final = re.compile(
    r"^(?:added|removed|changed|up to date|audited)\b.* packages?\b.* in \d+|^Successfully installed \S"
)
_NPM_CODE: Final = re.compile(r"^code (?P<code>[A-Z]\w*|\d+)$")
_NPM_SCRIPT: Final = re.compile(
    r"^Lifecycle script `(?P<script>[^`]+)` failed|^Missing script: \"?(?P<missing>[^\"]+)\"?"
)
_NPM_QUIET: Final = re.compile(
    r"^(?:A complete log|node_modules/|For a full report|Fix the upstream|While resolving"
    r"|Found:|Could not resolve|$|/|path |errno |syscall |"
    r"dest |cwd |command |signal |Note that|tarball, folder|or related|This is |Log files"
    r"|in workspace|at location|enoent This)"
)
_NPM_PEER: Final = re.compile(r"^(?:peer|peerOptional|dev|optional)? ?\S+@\"[^\"]*\" from ")
_PNPM: Final = re.compile(r"^(?:\u2009)?\s?(?P<code>ERR_PNPM_\w+|ELIFECYCLE)\s+(?P<message>.*)$")
_YARN: Final = re.compile(
    r"^(?:\u27a4 )?(?P<code>YN\d{4}): .*?(?P<message>(?:[\w@/.-]+@.*|.*)(?:can't|couldn't"
    r"|failed|not found|No candidates|exited with).*)$"
)
_SOLVER: Final = re.compile(
    r"^(?P<name>.*version solving failed\.|ResolvePackageNotFound|PackagesNotFoundError|"
    r"(?:LibMamba)?UnsatisfiableError"
    r"|Your requirements could not be resolved|Could not find gem '[^']*'"
    r"|Bundler could not find compatible).*"
)
_YARN1: Final = re.compile(
    r"^error (?P<message>(?:An unexpected error|Couldn't find|Command failed|Command \""
    r"|Found incompatible|No lockfile|Your lockfile|https?://|Missing|Package"
    r"|[\w@/.-]+@[\w.-]+: ).*)$"
)
_PIP: Final = re.compile(r"^\s*(?:ERROR|error|\xd7|x): ?(?P<message>.*)$|^\s*\xd7 (?P<cross>.*)$")
_PIP_NONE: Final = re.compile(r"^No matching distribution found for (?P<name>\S.*?)(?: \(from .*\))?$")
_PIP_CONFLICT: Final = re.compile(
    r"^Cannot install .* because these package versions have conflicting dependencies\.?$"
    r"|^ResolutionImpossible"
)
_PIP_WHEEL: Final = re.compile(
    r"^Failed building (?:wheel|editable) for (?P<name>\S+)$"
    r"|^Failed to build (?P<other>\S+)(?: when getting.*)?$"
)
_PIP_OPEN: Final = re.compile(
    r"^(?:No solution found|Failed to (?:download|prepare|resolve|fetch)"
    r"|Could not open requirements file|Invalid requirement|File \"setup\.py\""
    r"|Could not install packages due to|"
    r"Could not find a version that satisfies the requirement (?P<need>\S+)"
    r"|Directory '.*' is not installable|Hash|THESE PACKAGES DO NOT MATCH|"
    r"Package '.*' requires a different Python|.* is not a supported wheel"
    r"|.*externally-managed-environment|Exception:|Cannot uninstall|"
    r"Command errored out|.*does not appear to be a Python project"
    r"|Error while checking for conflicts|subprocess-exited-with-error)"
)
_PIP_SOFT: Final = re.compile(
    r"^pip's dependency resolver does not|^Ignored the following|^Operation cancelled"
    r"|^\S+ \S+ requires \S|^Could not build wheels|^Failed to build (?:one|installable)"
)


class Packages:
    """Joins the lines of one complaint into one failure."""

    def __init__(self) -> None:
        self._account = Collector()
        self._pip: dict[str, Draft] = {}

    def feed(self, number: int, text: str) -> int:
        """Take a line of npm, pnpm, yarn or pip."""
        if _NPM_DONE.match(text):
            self._account.tools.setdefault("pip" if text.startswith("S") else "npm")
            self._account.well(number)
            return 0
        npm = _NPM.match(text)
        if npm:
            self._npm(number, npm["rest"].strip())
            return 0
        other = _PNPM.match(text) or _YARN.match(text)
        yarn = _YARN1.match(text)
        solver = _SOLVER.match(text)
        if other:
            tool = "yarn" if other["code"].startswith("YN") else "pnpm"
            kind = "target" if "ELIFECYCLE" in other["code"] else "dependency"
            self._single(number, tool, other["code"], kind, other["message"].strip())
        elif yarn:
            kind = "target" if yarn["message"].startswith("Command failed") else "dependency"
            self._single(number, "yarn", plain(yarn["message"]), kind, yarn["message"])
        elif solver:
            name = "conflict" if "solving" in text else solver["name"]
            self._add_pip(name, "dependency", text.strip(), number)
        elif pip := _PIP.match(text):
            self._pip_error(number, (pip["message"] or pip["cross"] or "").strip())
        return 0

    def _single(self, number: int, tool: str, name: str, kind: str, message: str) -> None:
        """Add a complaint of one line."""
        self._account.open(Draft(name, kind, None, None, message, number, tool, None, 0, number))
        self._account.close()

    def _npm(self, number: int, rest: str) -> None:
        draft = self._account.draft
        code = _NPM_CODE.match(rest)
        if code or draft is None or draft.tool != "npm":
            if code and code["code"].isdigit():  # a script's exit status
                name, kind = f"exit {code['code']}", "target"
            else:
                name, kind = (code["code"], "dependency") if code else (plain(rest), "dependency")
            script = _NPM_SCRIPT.match(rest)
            if script:
                name, kind = script["missing"] or script["script"], "target" if script["script"] else "config"
            self._account.open(
                Draft(name, kind, None, None, "" if code else rest, number, "npm", None, number, number)
            )
            return
        self._account.extend(number)
        self._npm_detail(number, rest, draft)

    @staticmethod
    def _npm_detail(number: int, rest: str, draft: Draft) -> None:
        """Find the line that says most: the missing package, the peer that does not fit, else the first."""
        body = rest.removeprefix(f"{draft.name.removeprefix('E')} ").removeprefix(f"{draft.name} ").strip()
        if draft.name == "ERESOLVE":
            draft.file = "package.json"
            if _NPM_PEER.match(body) and body.startswith("peer") and " from the root" not in body:
                draft.message, draft.number = body, number
                return
        named = body.startswith("The requested resource") or "is not in this registry" in body
        if named or (not draft.message and not _NPM_QUIET.match(body)):
            draft.message, draft.number = body, number

    def _pip_error(self, number: int, message: str) -> None:
        """Pip says one thing in two lines: what it looked for, and that it found none."""
        self._account.close()
        if _PIP_SOFT.search(message):
            return
        none, wheel, conflict = (
            _PIP_NONE.match(message),
            _PIP_WHEEL.match(message),
            _PIP_CONFLICT.match(message),
        )
        if none:
            self._add_pip(none["name"], "dependency", message, number)
        elif conflict:
            if "conflict" not in self._pip:
                self._add_pip("conflict", "dependency", message, number)
        elif wheel:
            self._add_pip(wheel["name"] or wheel["other"], "build", message, number)
        else:
            found = _PIP_OPEN.match(message)
            if not found:
                return
            need = found.groupdict().get("need")
            if message.startswith("subprocess-exited"):
                self._add_pip("subprocess-exited-with-error", "target", message, number)
            else:
                self._add_pip(need or plain(message), "dependency", message, number)

    def _add_pip(self, name: str, kind: str, message: str, number: int) -> None:
        if name in self._pip:
            draft = self._pip[name]
            if kind == "dependency" and message.startswith("No matching"):
                draft.message, draft.number, draft.end = message, number, number
            return
        draft = Draft(name, kind, None, None, message, number, "pip", None, number, number)
        if len(self._pip) < 1000:
            self._pip[name] = draft

    def finish(self, last: int) -> Findings:
        """One failure for each complaint."""
        self._account.close()
        for draft in self._pip.values():
            self._account.open(draft)
            self._account.close()
        return self._account.findings()


FAMILY: Final = Family(
    "packages",
    Group.BUILD,
    (
        r"^npm (?:error|ERR!)",
        r"version solving failed\.",
        r"^(?:ResolvePackageNotFound|PackagesNotFoundError|UnsatisfiableError|LibMambaUnsatisfiableError)\b",
        r"^(?:Your requirements could not be resolved|Could not find gem '"
        r"|Bundler could not find compatible)",
        r"^(?:added|removed|changed) \d+ packages?\b",
        r"^Successfully installed \S",
        r"^up to date(?:,| in) ",
        r"ERR_PNPM_\w+ ",
        r"^\s*ELIFECYCLE\s",
        r"YN\d{4}: .*(?:can't|couldn't|failed|not found|No candidates|exited with)",
        r"^error (?:An unexpected|Couldn't find|Command |Found incompatible|No lockfile"
        r"|Your lockfile|Missing|Package)",
        r"^\s*(?:ERROR|error): (?:No matching|Cannot install|Failed|Could not"
        r"|Invalid requirement|ResolutionImpossible|Directory|Hash|THESE|Package '"
        r"|subprocess-exited|Command errored|Cannot uninstall|externally)",
        r"^\s*\x{d7} \S",
    ),
    Packages,
)
