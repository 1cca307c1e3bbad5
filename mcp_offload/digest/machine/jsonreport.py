"""JSON reports as a whole: one scanner for all formats; what a part looks like says which it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ..family import Document, Findings, Group
from .jsonlint import LINT, close_command
from .jsonscan import Item, JsonError, JsonScanner, Want
from .jsontests import TESTS
from .report import Tally

_PATIENCE_BYTES: Final = 8 * 1024 * 1024
Take = Callable[[Item, Tally], bool]


def _tree() -> Want:
    """Turn the paths of the tables into the tree that the scanner follows."""
    root: dict[str, Want] = {}
    for path in (*TESTS, *LINT):
        node = root
        for key in path:
            child = node.setdefault(key, {})
            assert isinstance(child, dict)
            node = child
    return root


_WANT: Final = _tree()


def _takers(path: tuple[str, ...]) -> Iterator[Take]:
    """Yield the functions whose path pattern fits."""
    for table in (TESTS, LINT):
        for pattern, takes in table.items():
            if len(pattern) == len(path) and all(
                p in ("*", "#", k) for p, k in zip(pattern, path, strict=True)
            ):
                yield from takes


class JsonReport:
    """Reads one JSON report of a test run, a linter or a compiler."""

    def __init__(self) -> None:
        self._scanner = JsonScanner(_WANT)
        self._tally = Tally()
        self._dead = False
        self._fed = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; stop listening once this is clearly something else."""
        if self._dead:
            return
        if not self._fed and chunk.startswith(b"\xef\xbb\xbf"):
            chunk = b"   " + chunk[3:]
        self._fed += len(chunk)
        self._take(self._scanner.feed(chunk))
        if not self._tally.tools and self._fed > _PATIENCE_BYTES:
            self._dead = True

    def _take(self, items: Iterator[Item]) -> None:
        try:
            for item in items:
                for take in _takers(item.path):
                    if take(item, self._tally):
                        break
        except JsonError:
            self._dead = True

    def finish(self, last: int) -> Findings:
        """Report what was recognised; a cut document is incomplete."""
        if not self._dead:
            self._take(self._scanner.finish())
        close_command(self._tally)
        if self._scanner.skipped:
            self._tally.notes.append(f"{self._scanner.skipped} parts too large to be read")
        return self._tally.findings(complete=self._scanner.complete and not self._dead)

    @property
    def ended(self) -> bool:
        """True once every document begun has ended, or nothing can come of it."""
        return self._dead or self._scanner.complete


def sniff(head: bytes) -> bool:
    """Tell whether a file may be a JSON document: a bracket, then a key, a value or its end."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"{":
        return text[1:].lstrip()[:1] in (b'"', b"}")
    return text[:1] == b"[" and text[1:].lstrip()[:1] in (b"{", b"]")


DOCUMENT: Final = Document("json", Group.TESTS, sniff, JsonReport)
