"""Paths a client names: confinement, links, walking like git, writing whole or not at all."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import PathNotAllowedError, SourceError, SourceUnreadableError
from mcp_offload.models import FileStamp
from mcp_offload.paths import Roots, create_file, openat, replace_file, resolve_workspace, walk_files
from mcp_offload.paths.confine import file_stamp


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_bytes(b"x = 1\n")
    (tmp_path / "secret").write_bytes(b"secret\n")
    return root


def opened(roots: Roots, path: str) -> bytes:
    fd = roots.open_file(roots.confine(path))
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)


def test_relative_and_absolute_paths_inside_the_root_open(root: Path) -> None:
    roots = Roots([str(root)], str(root))
    assert opened(roots, "src/app.py") == b"x = 1\n"
    assert opened(roots, str(root / "src" / ".." / "src" / "app.py")) == b"x = 1\n"


@pytest.mark.parametrize("path", ["../secret", "src/../../secret", "/etc/passwd", "", "a\x00b"])
def test_paths_outside_the_root_are_refused(root: Path, path: str) -> None:
    with pytest.raises(PathNotAllowedError):
        Roots([str(root)], str(root)).confine(path)


@given(st.lists(st.sampled_from(["..", ".", "src", "link", "/", "app.py", "//"]), min_size=1, max_size=8))
def test_no_combination_of_components_reaches_outside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    base = tmp_path_factory.getbasetemp() / "combined"
    inside = base / "root"
    (inside / "src").mkdir(parents=True, exist_ok=True)
    (inside / "app.py").write_bytes(b"inside")
    (inside / "src" / "app.py").write_bytes(b"inside")
    (base / "app.py").write_bytes(b"outside")
    if not (inside / "link").is_symlink():
        (inside / "link").symlink_to("..")
    roots = Roots([str(inside)], str(inside))
    try:
        assert opened(roots, "/".join(parts)) == b"inside"
    except SourceError:
        return


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd"])
def test_a_link_that_leads_out_is_refused_and_one_that_stays_is_followed(root: Path, target: str) -> None:
    (root / "out").symlink_to(target)
    (root / "inside").symlink_to("src/app.py")
    roots = Roots([str(root)], str(root))
    with pytest.raises(PathNotAllowedError):
        opened(roots, "out")
    assert opened(roots, "inside") == b"x = 1\n"


def test_the_fallback_refuses_every_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openat.sys, "platform", "other")
    (root / "inside").symlink_to("src/app.py")
    (root / "dir").symlink_to("src")
    roots = Roots([str(root)], str(root))
    assert opened(roots, "src/app.py") == b"x = 1\n"
    for path in ("inside", "dir/app.py"):
        with pytest.raises((PathNotAllowedError, SourceUnreadableError)):
            opened(roots, path)


def test_a_pipe_is_not_opened_for_reading(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(SourceUnreadableError, match="not a regular file"):
        opened(Roots([str(root)], str(root)), "pipe")


def test_a_missing_file_says_so(root: Path) -> None:
    with pytest.raises(SourceUnreadableError, match="does not exist"):
        opened(Roots([str(root)], str(root)), "src/nope.py")


def test_a_root_reached_through_a_link_is_the_same_root(tmp_path: Path, root: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    roots = Roots([str(tmp_path / "alias")], str(tmp_path / "alias"))
    assert opened(roots, str(tmp_path / "alias" / "src" / "app.py")) == b"x = 1\n"
    assert roots.confine("src/app.py").absolute == str(root / "src" / "app.py")


# --- walking ------------------------------------------------------------------------------------


def walked(root: Path, top: str = ".", pattern: str | None = None) -> list[str]:
    roots = Roots([str(root)], str(root))
    return [found.path.relative for found in walk_files(roots, roots.confine(top), pattern)]


@pytest.fixture
def tree(root: Path) -> Path:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("", encoding="utf-8")
    (root / ".gitignore").write_text("*.pyc\n/build/\n!keep.pyc\n", encoding="utf-8")
    (root / "build").mkdir()
    (root / "build" / "out.txt").write_text("", encoding="utf-8")
    (root / "src" / ".gitignore").write_text("local.*\n!local.md\n", encoding="utf-8")
    for name in ("a.pyc", "keep.pyc", "local.txt", "local.md"):
        (root / "src" / name).write_text("", encoding="utf-8")
    (root / "src" / "deep").mkdir()
    (root / "src" / "deep" / "x.py").write_text("", encoding="utf-8")
    (root / "loop").symlink_to(".")
    return root


def test_walking_sees_what_git_sees(tree: Path) -> None:
    assert walked(tree) == [
        ".gitignore",
        "src/.gitignore",
        "src/app.py",
        "src/deep/x.py",
        "src/keep.pyc",
        "src/local.md",
    ]


def test_rules_above_a_subdirectory_count(tree: Path) -> None:
    assert walked(tree, "src") == walked(tree)[1:]


def test_generated_directories_are_entered_only_when_named(tree: Path) -> None:
    (tree / "src" / "node_modules" / "x").mkdir(parents=True)
    (tree / "src" / "node_modules" / "x" / "index.js").write_text("", encoding="utf-8")
    assert not [path for path in walked(tree) if "node_modules" in path]
    assert walked(tree, "src/node_modules") == ["src/node_modules/x/index.js"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("/*.py", []), ("**/*.py", ["src/app.py", "src/deep/x.py"]), ("/src/*.py", ["src/app.py"])],
)
def test_globs(tree: Path, pattern: str, expected: list[str]) -> None:
    assert walked(tree, ".", pattern) == expected


# --- writing ------------------------------------------------------------------------------------


def stamp_of(path: Path) -> FileStamp:
    fd = os.open(path, os.O_RDONLY)
    try:
        return file_stamp(fd, time.time_ns())
    finally:
        os.close(fd)


def test_replacing_keeps_mode_bits_and_leaves_nothing_behind(root: Path) -> None:
    roots = Roots([str(root)], str(root))
    target = root / "src" / "app.py"
    target.chmod(0o750)
    assert replace_file(roots.confine("src/app.py"), b"x = 2\n", stamp_of(target))
    assert target.read_bytes() == b"x = 2\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert os.listdir(root / "src") == ["app.py"]


def test_a_file_that_changed_meanwhile_is_not_replaced(root: Path) -> None:
    roots = Roots([str(root)], str(root))
    target = root / "src" / "app.py"
    stamp = stamp_of(target)
    target.write_bytes(b"x = 17\n")
    assert not replace_file(roots.confine("src/app.py"), b"x = 2\n", stamp)
    assert target.read_bytes() == b"x = 17\n"
    assert os.listdir(root / "src") == ["app.py"]


def test_a_symbolic_link_is_not_replaced_by_a_file(root: Path) -> None:
    roots = Roots([str(root)], str(root))
    (root / "link.py").symlink_to("src/app.py")
    with pytest.raises(PathNotAllowedError, match="symbolic link"):
        replace_file(roots.confine("link.py"), b"", stamp_of(root / "src" / "app.py"))


def test_creating_refuses_an_existing_file_unless_told(root: Path) -> None:
    roots = Roots([str(root)], str(root))
    create_file(roots.confine("new.bin"), [b"a", b"b"], overwrite=False)
    assert (root / "new.bin").read_bytes() == b"ab"
    with pytest.raises(SourceError, match="exists"):
        create_file(roots.confine("new.bin"), [b"c"], overwrite=False)
    create_file(roots.confine("new.bin"), [b"c"], overwrite=True)
    assert (root / "new.bin").read_bytes() == b"c"
    assert sorted(os.listdir(root)) == ["new.bin", "src"]


def test_a_write_that_fails_half_way_leaves_the_old_file(root: Path) -> None:
    roots = Roots([str(root)], str(root))

    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("source broke")

    with pytest.raises(ValueError, match="source broke"):
        create_file(roots.confine("src/app.py"), chunks(), overwrite=True)
    assert (root / "src" / "app.py").read_bytes() == b"x = 1\n"
    assert os.listdir(root / "src") == ["app.py"]


def test_writing_outside_or_into_a_missing_directory_is_refused(root: Path) -> None:
    roots = Roots([str(root)], str(root))
    (root / "up").symlink_to("..")
    with pytest.raises(PathNotAllowedError):
        create_file(roots.confine("up/x"), [b""], overwrite=False)
    with pytest.raises(SourceUnreadableError):
        create_file(roots.confine("nope/x"), [b""], overwrite=False)


# --- workspace ----------------------------------------------------------------------------------


def test_the_workspace_is_the_git_root_from_anywhere_below_it(tree: Path) -> None:
    assert resolve_workspace(str(tree / "src" / "deep")) == str(tree)
    assert resolve_workspace(str(tree)) == str(tree)


def test_a_worktree_is_its_own_workspace(tree: Path) -> None:
    worktree = tree / "src" / "deep"
    (worktree / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    assert resolve_workspace(str(worktree)) == str(worktree)


def test_without_git_the_directory_itself_and_an_override_as_given(root: Path) -> None:
    assert resolve_workspace(str(root / "src")) == str(root / "src")
    assert resolve_workspace(str(root), "team-7") == "team-7"
