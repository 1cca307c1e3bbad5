"""Several benchmarks write one page, and none loses what another wrote."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.sections import write_head, write_section


def test_each_writes_its_own(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_head(page, "# Benchmarks\n\nfirst\n")
    write_section(page, "`a`", "## A\n\none\n")
    write_section(page, "`b`", "## B\n\ntwo\n")
    write_head(page, "# Benchmarks\n\nagain\n")
    write_section(page, "`a`", "## A\n\nthree\n")
    text = page.read_text(encoding="utf-8")
    assert text == (
        "# Benchmarks\n\nagain\n\n"
        "<!-- written by `a` -->\n## A\n\nthree\n\n"
        "<!-- written by `b` -->\n## B\n\ntwo\n"
    )


def test_writing_the_same_again_changes_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for _ in range(2):
        write_head(page, "# Benchmarks\n")
        write_section(page, "`a`", "## A\n")
        write_section(page, "`b`", "## B\n")
    assert page.read_text(encoding="utf-8").count("## A") == 1
    assert page.read_text(encoding="utf-8").count("\n\n\n") == 0
