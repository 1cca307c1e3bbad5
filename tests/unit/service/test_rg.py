"""Searching with ripgrep gives what searching in process gives, and its failures cost nothing but time."""

from __future__ import annotations

import logging
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_offload.errors import OperationCancelledError
from mcp_offload.models import SilentMonitor, Span
from mcp_offload.service import rg
from mcp_offload.service.pattern import compile_pattern
from mcp_offload.service.rg import FROM_BYTES, search_view
from mcp_offload.service.scan import LineHit, scan
from mcp_offload.service.view import BytesView

QUIET = SilentMonitor()
ALL = 10**9
FILLER = b"nothing here\n" * (FROM_BYTES // 13 + 1)


def installed_ripgrep() -> str | None:
    return shutil.which("rg", path=str(Path(sys.executable).parent)) or shutil.which("rg")


@pytest.fixture(scope="module")
def ripgrep() -> str:
    found = installed_ripgrep()
    if found is None:
        pytest.skip("ripgrep is not installed")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rg")


class FileView(BytesView):
    """A view whose bytes also stand in a file."""

    def __init__(self, data: bytes, folder: Path) -> None:
        super().__init__(data)
        file = folder / "blob"
        file.write_bytes(data)
        self.path = str(file)


@pytest.fixture(autouse=True)
def no_fallback(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which ripgrep was given up, unless it expects that."""
    yield
    given_up = [record.getMessage() for record in caplog.records if "without ripgrep" in record.getMessage()]
    caplog.clear()
    assert given_up == []


def both(data: bytes, pattern: str, tool: str, folder: Path, *, first_byte: int = 0) -> None:
    """Check that both engines give the same hits, after enough filler for ripgrep to be used."""
    view = FileView(data, folder)
    matcher = compile_pattern(pattern)
    span = Span(first_byte, view.size_bytes)
    expected = list(scan(view, matcher, span, limit=ALL, monitor=QUIET))
    assert list(search_view(view, matcher, span, limit=ALL, monitor=QUIET, rg_path=tool)) == expected


UNITS = [
    *(b"a", b"b", b"A", b"x", b"1", b" ", b"-", b"_", b"\t", b"\r", b"\x00", b"\xff", b"\xe9", b"\xc3"),
    *(text.encode() for text in ("é", "É", "ß", "\u212a", "k", "\u017f", "S", "🧠", "λ")),
]
LINE = st.lists(st.sampled_from(UNITS), max_size=10).map(b"".join)
CONTENT = st.lists(LINE, max_size=60).map(b"\n".join)
ZERO_WIDTH = ("^", "$", r"\b", r"\B", r"\A", r"\z", "{,2}")
PLAIN_ATOMS = ("a", "b", "k", "S", "é", "λ", "1", "_", "-", "x", "#", "&", "~", ".")
ESCAPED = (r"\.", r"\-", r"\x{e9}", r"\x00", r"\t", r"\r", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\pL")
CLASSES = ("[ab]", "[^a]", "[a-k]", r"[^\s]", r"[\w-]", r"[a\-1]", "[[:alpha:]]", "[éλ]", "[a[b]", "[a&&b]")
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?"])
PIECE = st.one_of(
    st.builds("{}{}".format, st.sampled_from([*PLAIN_ATOMS, *ESCAPED, *CLASSES]), REPEATS),
    st.sampled_from(ZERO_WIDTH),
)
SEQUENCE = st.lists(PIECE, min_size=1, max_size=5).map("".join)
PATTERN = st.one_of(
    SEQUENCE,
    st.builds("(?i){}".format, SEQUENCE),
    st.builds("({}|{})".format, SEQUENCE, SEQUENCE),
    st.builds("(?P<n>{})(?:{})".format, SEQUENCE, SEQUENCE),
    st.builds("{}(?-m)$".format, SEQUENCE),
    st.builds("\\Q{}\\E".format, st.sampled_from(["a.b", "é", "[a", "a|b", "-"])),
)


@given(CONTENT, st.lists(PATTERN, min_size=4, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_engines_give_the_same_hits(
    monkeypatch: pytest.MonkeyPatch,
    ripgrep: str,
    folder: Path,
    content: bytes,
    patterns: list[str],
) -> None:
    monkeypatch.setattr(rg, "FROM_BYTES", 0)
    for pattern in patterns:
        both(content, pattern, ripgrep, folder)


@pytest.mark.parametrize("pattern", ["needle", "^needle", "needle$", "n..dle", "NEEDLE", "(?i)NEEDLE", "é"])
def test_a_large_file(ripgrep: str, folder: Path, pattern: str) -> None:
    lines = [b"needle", b"a needle\r", b"needles \xff", b"x" * 9000 + b"needle", "né né".encode(), b"NEEDLE"]
    both(FILLER + b"\n".join(lines) + b"\n" + FILLER + b"last needle", pattern, ripgrep, folder)


def test_from_a_line_inside_the_file(ripgrep: str, folder: Path) -> None:
    data = b"needle\n" * 3 + FILLER + b"needle\nneedle"
    both(data, "needle", ripgrep, folder, first_byte=14)


def test_one_endless_line(ripgrep: str, folder: Path) -> None:
    data = b"x\n" + b"ab" * FROM_BYTES + b"needle" + b"ab" * 1000 + b"\nneedle\n"
    both(data, "needle", ripgrep, folder)


def test_the_limit_is_kept(ripgrep: str, folder: Path) -> None:
    view = FileView(FILLER + b"needle\n" * 50, folder)
    for pattern in ("needle", "n.edle"):
        matcher = compile_pattern(pattern)
        for limit in (0, 1, 7, 50, 51):
            hits = search_view(
                view, matcher, Span(0, view.size_bytes), limit=limit, monitor=QUIET, rg_path=ripgrep
            )
            assert len(list(hits)) == min(limit, 50)


def script(folder: Path, body: str) -> str:
    file = folder / "tool"
    file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


class TestFailures:
    """A tool that fails in some way, in place of ripgrep."""

    @pytest.fixture(autouse=True)
    def no_fallback(self) -> None:
        """Here giving up is expected."""

    @staticmethod
    def hits(folder: Path, tool: str, pattern: str = "needle") -> list[LineHit]:
        view = FileView(b"needle one\n" + FILLER + b"needle two\nneedle three\n", folder)
        span = Span(0, view.size_bytes)
        return list(search_view(view, compile_pattern(pattern), span, limit=ALL, monitor=QUIET, rg_path=tool))

    @pytest.mark.parametrize(
        "body",
        [
            "exit 2",
            "exit 139",
            "kill -9 $$",
            "echo nonsense",
            "echo 1:x:y",
            "echo 1:0:; exit 2",
            "echo 2:11:",
        ],
    )
    def test_the_search_goes_on_without_it(
        self, folder: Path, body: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            found = self.hits(folder, script(folder, body))
        assert [hit.text for hit in found] == [b"needle one", b"needle two", b"needle three"]
        assert "without ripgrep" in caplog.text

    def test_a_tool_that_is_not_there(self, folder: Path) -> None:
        assert len(self.hits(folder, str(folder / "absent"))) == 3

    def test_a_tool_that_hangs_is_ended(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rg, "_START_SECONDS", 0.2)
        monkeypatch.setattr(rg, "_SLOWEST_BYTES_PER_SECOND", 10**12)
        assert len(self.hits(folder, script(folder, "exec sleep 1000"))) == 3

    def test_no_match_is_no_failure(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        assert self.hits(folder, script(folder, "exit 1")) == []
        assert caplog.text == ""


class Cancelling:
    """A monitor that asks to stop at once."""

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        raise OperationCancelledError("stopped")


def test_cancelling_ends_the_process(folder: Path) -> None:
    view = FileView(FILLER, folder)
    tool = script(folder, f"echo $$ > {folder}/pid; exec sleep 1000")
    with pytest.raises(OperationCancelledError):
        list(
            search_view(
                view,
                compile_pattern("x"),
                Span(0, view.size_bytes),
                limit=1,
                monitor=Cancelling(),
                rg_path=tool,
            )
        )
    # The process was waited for, so whatever it wrote is there and nothing runs under its number.
    pid = (folder / "pid").read_text(encoding="utf-8").strip() if (folder / "pid").exists() else ""
    assert not pid or not Path(f"/proc/{pid}").exists()
