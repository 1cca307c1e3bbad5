"""Links between pages of the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
_LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def links(text: str) -> list[str]:
    """The targets of relative links, without those in blocks of code."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [target for target in _LINK.findall(prose) if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_links_to_what_there_is(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [target for target in links(text) if not (page.parent / target).exists()] == []


def test_every_page_is_reached_from_the_index() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "docs" / "index.md"]
    while todo:
        page = todo.pop().resolve()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        todo += [page.parent / target for target in links(page.read_text(encoding="utf-8"))]
    assert [str(page.relative_to(ROOT)) for page in PAGES if "docs" in page.parts and page not in seen] == []
