"""Finding the files of a directory or glob as git would see them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_offload.paths.confine import ConfinedPath, Roots
from mcp_offload.paths.openat import open_beneath

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_IGNORE_FILE_BYTES = 1 << 20
# Version control's own data, and what tools generate beside sources even where no rule names it.
NEVER_ENTERED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv"})


@dataclass(frozen=True, slots=True)
class WalkedFile:
    """A file found: its place, and its size in bytes."""

    path: ConfinedPath
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Rules:
    """The ignore rules of one directory, relative to it."""

    directory: str
    spec: GitIgnoreSpec


def walk_files(roots: Roots, top: ConfinedPath, pattern: str | None = None) -> Iterator[WalkedFile]:
    """Yield the regular files beneath ``top`` in path order, leaving out what git ignores.

    ``.gitignore`` files count from the root of ``top`` down to each directory; the directories of
    :data:`NEVER_ENTERED` are passed over unless ``top`` is one, and links are never followed.
    ``pattern`` is a glob relative to ``top`` with the meaning it has in ``.gitignore`` (``*.py`` at any
    depth, ``src/**/*.ts``).

    Raises:
        SourceUnreadableError, PathNotAllowedError: ``top`` cannot be opened.
    """
    wanted = _spec([pattern]) if pattern else None
    fd = roots.open_directory(top)
    try:
        rules = _outer_rules(top)
        yield from _walk(fd, top, "", rules, wanted)
    finally:
        os.close(fd)


def _walk(
    top_fd: int, top: ConfinedPath, inner: str, rules: tuple[_Rules, ...], wanted: GitIgnoreSpec | None
) -> Iterator[WalkedFile]:
    here = top.relative if not inner else inner if top.relative == "." else f"{top.relative}/{inner}"
    base = "" if here == "." else here + "/"
    try:
        fd = open_beneath(top_fd, inner or ".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        rules = _with_rules(fd, base, rules)
        with os.scandir(fd) as entries:
            listed = sorted(
                (e.name, e.is_dir(follow_symlinks=False), e.is_file(follow_symlinks=False)) for e in entries
            )
        for name, is_dir, is_file in listed:
            path = base + name
            if name in NEVER_ENTERED or not (is_dir or is_file) or _ignored(path + "/" * is_dir, rules):
                continue
            nested = f"{inner}/{name}" if inner else name
            if is_dir:
                yield from _walk(top_fd, top, nested, rules, wanted)
            elif wanted is None or wanted.match_file(nested):
                size = os.stat(name, dir_fd=fd, follow_symlinks=False).st_size
                yield WalkedFile(ConfinedPath(top.root, path), size)
    finally:
        os.close(fd)


def _ignored(path: str, rules: tuple[_Rules, ...]) -> bool:
    # The innermost directory whose rules speak of the path decides, as in git.
    for rule in reversed(rules):
        verdict = rule.spec.check_file(path[len(rule.directory) :])
        if verdict.include is not None:
            return verdict.include
    return False


def _with_rules(fd: int, base: str, rules: tuple[_Rules, ...]) -> tuple[_Rules, ...]:
    lines = _read_lines(fd, ".gitignore")
    return (*rules, _Rules(base, _spec(lines))) if lines else rules


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    # Takes a while to load, and a server's first call seldom walks a directory.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _outer_rules(top: ConfinedPath) -> tuple[_Rules, ...]:
    """Rules that stand above ``top`` inside its root."""
    rules: tuple[_Rules, ...] = ()
    if top.relative == ".":
        return rules
    parts = top.relative.split("/")
    root_fd = os.open(top.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for depth in range(len(parts)):
            inner = "/".join(parts[:depth])
            fd = open_beneath(root_fd, inner or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                rules = _with_rules(fd, f"{inner}/" if inner else "", rules)
            finally:
                os.close(fd)
    finally:
        os.close(root_fd)
    return rules


def _read_lines(directory_fd: int, name: str) -> list[str]:
    try:
        fd = open_beneath(directory_fd, name, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        data = os.read(fd, _IGNORE_FILE_BYTES)
    except OSError:
        return []
    finally:
        os.close(fd)
    return data.decode("utf-8", "replace").split("\n")
