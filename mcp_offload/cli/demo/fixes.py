"""What the scripted agent knows: the maintainers' own fixes, as new texts of single symbols."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from mcp_offload.models import Outline, Symbol
from mcp_offload.outline import outline

LONG_CHARS = 1200


@dataclass(frozen=True, slots=True)
class Fix:
    """The new text of one symbol or range of lines of a file; ``path`` is relative to the project."""

    path: str
    selector: str
    text: str

    @property
    def handle(self) -> str:
        """What to edit."""
        return f"{self.path}#{self.selector}"


def find_fixes(broken: Path, fixed: Path) -> list[Fix]:
    """The innermost symbols whose text differs between two trees of Python sources.

    Of a long symbol only the lines that differ, from the last to the first, so that an edit does not
    move the lines of those that follow it.
    """
    fixes: list[Fix] = []
    for old in sorted(broken.rglob("*.py")):
        new = fixed / old.relative_to(broken)
        before_view, after_view = old.read_bytes(), new.read_bytes()
        if before_view == after_view:
            continue
        before, after = outline(before_view, "python", old.name), outline(after_view, "python", old.name)
        path = str(Path(broken.name) / old.relative_to(broken))
        for was, now in reversed(_changed_leaves(before, after)):
            text = after_view[now.span.start_byte : now.span.end_byte].decode()
            if len(text) <= LONG_CHARS:
                fixes.append(Fix(path, ".".join(now.path), text))
                continue
            previous = before_view[was.span.start_byte : was.span.end_byte].decode()
            fixes += _line_fixes(path, was.start_line, previous.split("\n"), text.split("\n"))
    return fixes


def _line_fixes(path: str, first: int, before: list[str], after: list[str]) -> list[Fix]:
    """One fix per differing run of lines, bottom up; an insertion takes the line before it along."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    fixes: list[Fix] = []
    for tag, a, b, c, d in reversed(matcher.get_opcodes()):
        if tag == "equal":
            continue
        if tag == "insert":
            a, c = a - 1, c - 1
        selector = f"L{first + a}-{first + b - 1}"
        fixes.append(Fix(path, selector, "\n".join(after[c:d]) + ("\n" if d > c else "")))
    return fixes


def _changed_leaves(before: Outline, after: Outline) -> list[tuple[Symbol, Symbol]]:
    known = {symbol.path: symbol for symbol in before.symbols}
    changed = [s for s in after.symbols if s.path in known and s.text_key != known[s.path].text_key]
    return [(known[s.path], s) for s in changed if not any(_inside(other, s) for other in changed)]


def _inside(inner: Symbol, outer: Symbol) -> bool:
    return len(inner.path) > len(outer.path) and inner.path[: len(outer.path)] == outer.path
