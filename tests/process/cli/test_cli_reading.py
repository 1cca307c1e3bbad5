"""Storing, outlining, reading, searching and comparing from a shell."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import blake3
import pytest

pytestmark = pytest.mark.process


def test_a_stored_file_is_described_by_its_fields(shell: Any) -> None:
    data = (shell.project / "src" / "invoice.py").read_bytes()
    stored = shell.json("store", "src/invoice.py")
    assert stored["handle"] == "f1"
    assert stored["name"] == "src/invoice.py"
    assert (stored["kind"], stored["version"], stored["language"]) == ("f", 1, "python")
    assert (stored["bytes"], stored["lines"]) == (len(data), data.count(b"\n"))
    assert stored["blake3"] == blake3.blake3(data).hexdigest()
    assert stored["tokens"] > 40
    assert stored["new"] is True
    assert shell.json("store", "src/invoice.py")["new"] is False


def test_what_a_pipe_brings_is_stored_as_it_is(shell: Any) -> None:
    log = b"".join(b"line %d\n" % number for number in range(100_000)) + b"error: out of paper"
    stored = shell.json("store", "-", "--name", "build.log", stdin=log)
    assert (stored["handle"], stored["name"], stored["kind"]) == ("l1", "build.log", "l")
    assert (stored["bytes"], stored["lines"]) == (len(log), 100_001)
    assert shell.run("read", "--raw", "l1").stdout == log
    assert shell.text("read", "l1#L-1").endswith("\nerror: out of paper\n")


def test_a_kind_can_be_given(shell: Any) -> None:
    stored = shell.json("store", "-", "--name", "x", "--kind", "test", stdin=b"1 passed\n")
    assert (stored["handle"], stored["kind"]) == ("t1", "t")


def test_a_directory_is_stored_and_its_skipped_files_are_told(shell: Any) -> None:
    (shell.project / ".gitignore").write_text("*.secret\n")
    (shell.project / "src" / "x.secret").write_text("no")
    result = shell.json("store", "src")
    assert [entry["name"] for entry in result["stored"]] == ["src/invoice.py"]


def test_an_outline_lists_qualified_names_with_lines(shell: Any) -> None:
    outline = shell.json("outline", "src/invoice.py")
    assert (outline["handle"], outline["language"], outline["parsed"]) == ("f1", "python", True)
    assert outline["reason"] is None
    lines = {s["name"]: (s["start_line"], s["end_line"]) for s in outline["symbols"]}
    assert lines == {
        "Invoice": (4, 12),
        "Invoice.__init__": (7, 8),
        "Invoice.total": (10, 12),
        "parse": (15, 16),
    }
    assert {"handle", "kind", "tokens", "near_error"} < set(outline["symbols"][0])
    text = shell.text("outline", "f1")
    assert "f1#Invoice.total" in text
    assert "L10-12" in text


def test_a_symbol_is_read_by_handle_and_by_path(shell: Any) -> None:
    expected = '    def total(self):\n        """The sum of all lines."""\n'
    by_path = shell.json("read", "src/invoice.py#Invoice.total")
    by_handle = shell.json("read", "f1#Invoice.total")
    assert by_path == by_handle
    assert by_handle["text"].startswith(expected)
    assert (by_handle["start_line"], by_handle["end_line"]) == (10, 12)
    assert (by_handle["status"], by_handle["truncated"]) == ("same", False)
    assert by_handle["tokens"] > 10


def test_several_handles_are_read_in_one_object(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    reads = shell.json("read", "f1#L1", "f1#parse")["reads"]
    assert [read["start_line"] for read in reads] == [1, 15]


def test_everything_is_printed_unless_a_budget_is_given(shell: Any) -> None:
    text = "".join(f"a line of words with its number {number}\n" for number in range(5_000))
    shell.json("store", "-", "--name", "long.log", stdin=text.encode())
    whole = shell.json("read", "l1")
    assert (whole["text"], whole["truncated"]) == (text, False)
    part = shell.json("read", "l1", "--max-tokens", "300")
    assert part["truncated"] is True
    assert part["tokens"] <= 300
    rest = shell.json("read", part["rest"]["handle"])
    assert part["text"] + rest["text"] == text


def test_raw_text_is_exact_even_where_it_is_no_text(shell: Any) -> None:
    data = b"caf\xe9 \x1b[31mred\x1b[0m\r\nsecond\n"
    shell.json("store", "-", "--name", "odd.log", stdin=data)
    assert shell.run("read", "--raw", "l1").stdout == data
    assert b"\x1b" not in shell.run("read", "l1").stdout


def test_a_search_finds_lines_and_symbols(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    hits = shell.json("search", r"def \w+\(self")
    assert [(hit["line"], hit["text"]) for hit in hits["hits"]] == [
        (7, "    def __init__(self, lines):"),
        (10, "    def total(self):"),
    ]
    assert hits["more"] == []
    assert shell.json("search", "--literal", "(self)", "f1")["hits"][0]["line"] == 10
    assert len(shell.json("search", "-i", "INVOICE")["hits"]) == 3
    found = shell.json("search", "--symbols", "total")
    assert [symbol["name"] for symbol in found["symbols"]] == ["Invoice.total"]


def test_a_snapshot_is_compared_with_its_file(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    assert shell.json("diff", "f1")["identical"] is True
    file = shell.project / "src" / "invoice.py"
    file.write_text(file.read_text().replace("text.split()", "text.split(',')"))
    diff = shell.json("diff", "f1@1")
    assert (diff["identical"], diff["added_lines"], diff["removed_lines"]) == (False, 1, 1)
    assert [(c["change"], c["name"]) for c in diff["symbols"]] == [("changed", "parse")]
    assert "+    return Invoice(text.split(','))\n" in diff["text"]


def test_the_workspace_is_the_same_from_every_directory_in_it(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    assert shell.json("list", cwd=shell.project / "src")["total"] == 1
    assert shell.json("read", "f1#parse", cwd=shell.project / "src")["start_line"] == 15
    other = shell.home / "elsewhere"
    other.mkdir()
    assert shell.json("list", cwd=other)["total"] == 0


def test_a_closed_pipe_ends_quietly(shell: Any) -> None:
    shell.json("store", "-", "--name", "long.log", stdin=b"some words in a line\n" * 100_000)
    with subprocess.Popen(
        shell.command("read", "--raw", "l1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shell.project,
        env=shell.environment(),
    ) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert reader.stdout.readline() == b"some words in a line\n"
        reader.stdout.close()
        said = reader.stderr.read()
        assert (reader.wait(50), said) == (0, b"")


def test_json_survives_what_json_cannot_hold(shell: Any) -> None:
    shell.json("store", "-", "--name", "odd.log", stdin=b"bad \xed\xa0\x80 surrogate\n")
    read = shell.json("read", "l1")
    assert json.dumps(read).isascii()
    assert read["text"].startswith("bad \ufffd")
