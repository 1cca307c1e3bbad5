from __future__ import annotations

import io
from pathlib import Path

import pytest

from mcp_offload.cli.commands import carry_out
from mcp_offload.cli.console import Console
from mcp_offload.cli.parser import parse
from mcp_offload.cli.settings_from import build_settings
from mcp_offload.cli.source import read_text
from mcp_offload.errors import NotTextError, PathNotAllowedError
from mcp_offload.settings import Settings


class _Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def _console(typed: bytes) -> tuple[Console, io.BytesIO, _Terminal]:
    stdout, stderr = io.BytesIO(), _Terminal()
    return Console(stdin=_Terminal(typed), stdout=stdout, stderr=stderr), stdout, stderr


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    line = ["--store", str(tmp_path / "store"), "--state", str(tmp_path / "state"), "list"]
    return build_settings(parse(line), {}, str(tmp_path))


def _stored(settings: Settings) -> int:
    console, stdout, _ = _console(b"")
    carry_out(parse(["list"]), settings, console)
    return stdout.getvalue().count(b"f1 ")


@pytest.mark.parametrize(
    ("line", "typed", "left", "asked"),
    [
        (["purge"], b"yes\n", 0, True),
        (["purge"], b"no\n", 1, True),
        (["purge"], b"", 1, True),
        (["purge", "--yes"], b"", 0, False),
        (["purge", "--all"], b"yes\n", 0, True),
    ],
)
def test_a_person_is_asked_before_everything_goes(
    settings: Settings, tmp_path: Path, line: list[str], typed: bytes, left: int, asked: bool
) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    carry_out(parse(["store", "a.py"]), settings, _console(b"")[0])
    assert _stored(settings) == 1
    console, _, stderr = _console(typed)
    carry_out(parse(line), settings, console)
    assert _stored(settings) == left
    assert (b"Type yes to go on" in stderr.getvalue()) == asked


def test_new_text_comes_from_a_file_inside_the_roots(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_bytes("é = 1\r\n".encode())
    console = _console(b"")[0]
    assert read_text("new.py", settings, console) == "é = 1\r\n"
    with pytest.raises(PathNotAllowedError):
        read_text("/etc/hostname", settings, console)
    (tmp_path / "new.py").write_bytes(b"\xff")
    with pytest.raises(NotTextError):
        read_text("new.py", settings, console)
