"""A page that several benchmarks write, each its own section, so that none loses what another measured."""

from __future__ import annotations

from pathlib import Path

_MARK = "<!-- written by {command} -->\n"


def write_head(page: Path, text: str) -> None:
    """Write what stands above all sections; they stay."""
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    at = old.find(_MARK.split("{", maxsplit=1)[0])
    page.write_text(text.rstrip("\n") + "\n" + (f"\n{old[at:]}" if at >= 0 else ""), encoding="utf-8")


def write_section(page: Path, command: str, text: str) -> None:
    """Write the section of one command anew, at the end where there is none; the rest stays."""
    mark = _MARK.format(command=command)
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    before, found, after = old.partition(mark)
    following = after.find(_MARK.split("{", maxsplit=1)[0]) if found else -1
    rest = f"\n{after[following:]}" if following >= 0 else ""
    page.write_text(f"{before.rstrip()}\n\n{mark}{text.rstrip()}\n{rest}", encoding="utf-8")
