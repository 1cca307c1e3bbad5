"""Which commands print logs: builds, tests, linters, installers. Pure.

Everything else, such as ``cat`` and ``git diff``, was run for its text and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_SHORT: Final = frozenset({"--help", "-h", "--version", "-V", "--collect-only", "--co", "--dry-run"})
_WATCHING: Final = frozenset({"--watch", "--watchAll", "--looponfail", "watch", "dev", "serve", "start"})
_SCRIPT: Final = re.compile(r"(^|[:_-])(test|tests|build|lint|check|ci|compile|typecheck|e2e|unit)($|[:_-])")
_VERSIONED: Final = re.compile(r"^(python|pip|pypy|g\+\+|gcc|clang)-?[\d.]*$")

# Words before the command that is meant, and how many arguments of their own they take.
_WRAPPERS: Final[Mapping[str, int]] = {
    "command": 0,
    "env": 0,
    "ionice": 0,
    "nice": 0,
    "nohup": 0,
    "npx": 0,
    "bunx": 0,
    "stdbuf": 0,
    "time": 0,
    "timeout": 1,
    "xvfb-run": 0,
}
_RUNNERS: Final[Mapping[str, frozenset[str]]] = {
    "uv": frozenset({"run"}),
    "poetry": frozenset({"run"}),
    "pipenv": frozenset({"run"}),
    "pdm": frozenset({"run"}),
    "hatch": frozenset({"run"}),
    "bundle": frozenset({"exec"}),
    "pnpm": frozenset({"exec", "dlx"}),
    "coverage": frozenset({"run"}),
}

# None: whatever its arguments; else the first argument that is no option must be one of these.
_PROGRAMS: Final[Mapping[str, frozenset[str] | None]] = {
    **dict.fromkeys(
        (
            "pytest",
            "py.test",
            "tox",
            "nox",
            "unittest",
            "make",
            "gmake",
            "ninja",
            "ctest",
            "scons",
            "configure",
        ),
        None,
    ),
    **dict.fromkeys(("jest", "vitest", "mocha", "ava", "tsc", "eslint", "webpack", "rollup"), None),
    **dict.fromkeys(("mvn", "mvnw", "gradle", "gradlew", "sbt", "rspec", "rake", "phpunit", "stack"), None),
    **dict.fromkeys(("mypy", "pyright", "pylint", "flake8", "golangci-lint", "xcodebuild", "behave"), None),
    "cmake": None,
    "meson": frozenset({"compile", "test", "setup", "install"}),
    "cargo": frozenset({"build", "test", "check", "clippy", "bench", "nextest", "install", "doc"}),
    "go": frozenset({"build", "test", "vet", "install", "generate"}),
    "dotnet": frozenset({"build", "test", "restore", "publish"}),
    "swift": frozenset({"build", "test"}),
    "zig": frozenset({"build", "test"}),
    "bazel": frozenset({"build", "test"}),
    "bazelisk": frozenset({"build", "test"}),
    "buck2": frozenset({"build", "test"}),
    "mix": frozenset({"test", "compile", "deps.get"}),
    "cabal": frozenset({"build", "test"}),
    "docker": frozenset({"build", "buildx"}),
    "pip": frozenset({"install", "wheel"}),
    "uv": frozenset({"sync", "build"}),
    "ruff": frozenset({"check"}),
    "playwright": frozenset({"test"}),
    "composer": frozenset({"install", "update"}),
    "bundle": frozenset({"install"}),
    "terraform": frozenset({"plan", "apply"}),
}
_PACKAGE_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_THEIR_OWN: Final = frozenset({"test", "t", "ci", "install", "i", "build", "add"})


def prints_logs(words: Sequence[str]) -> bool:
    """Whether a simple command, as words, is one whose output is a log."""
    rest = _unwrapped(list(words))
    if not rest or _SHORT.intersection(rest) or _WATCHING.intersection(rest):
        return False
    program = _name(rest[0])
    if program in _PACKAGE_MANAGERS:
        return _is_script(rest[1:])
    if program not in _PROGRAMS:
        return False
    wanted = _PROGRAMS[program]
    return wanted is None or next((word for word in rest[1:] if word[:1] not in "-+"), "") in wanted


def without_assignments(words: Sequence[str]) -> Sequence[str]:
    """The words behind the variables that a command gets, whose values may be secret."""
    start = next((place for place, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return words[start:]


def program_of(words: Sequence[str]) -> str:
    """What the command is mainly: ``pytest`` for ``uv run python -m pytest -q``."""
    rest = _unwrapped(list(words))
    return _name(rest[0]) if rest else ""


def _unwrapped(words: list[str]) -> list[str]:
    while words:
        head = _name(words[0])
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif head in _WRAPPERS:
            words = _past_options(words[1:])[_WRAPPERS[head] :]
        elif head in _RUNNERS and len(words) > 1 and words[1] in _RUNNERS[head]:
            words = _past_options(words[2:])
        elif head in {"python", "python3", "pypy"} and "-m" in words[:-1]:
            words = words[words.index("-m") + 1 :]
        else:
            break
    return words


def _past_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[1:]
    return words


def _name(word: str) -> str:
    """A program's name without its directory and version."""
    name = word.rpartition("/")[2]
    versioned = _VERSIONED.match(name)
    return versioned[1] if versioned else name


def _is_script(words: Sequence[str]) -> bool:
    """Whether a package manager runs something that builds, tests or installs."""
    given = [word for word in words if not word.startswith("-")]
    if given[:1] in (["run"], ["run-script"]):
        return len(given) > 1 and _SCRIPT.search(given[1]) is not None
    return bool(given) and (given[0] in _THEIR_OWN or _SCRIPT.search(given[0]) is not None)
