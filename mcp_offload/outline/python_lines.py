"""Python by indentation, for text with syntax errors.

One bad line makes the grammar lose the definitions around it, but indentation still tells them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mcp_offload.models import Symbol
from mcp_offload.outline.raw import raw

_QUIET = re.compile(
    rb'\#[^\n]*|"""(?:[^\\"]|\\.|"(?!""))*(?:"""|\Z)|\'\'\'(?:[^\\\']|\\.|\'(?!\'\'))*(?:\'\'\'|\Z)'
    rb'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
_DEFINITION = re.compile(rb"(?:async[ \t]+)?(def|class)[ \t]+([A-Za-z_\x80-\xff][\w\x80-\xff]*)[ \t]*")
_ASSIGNMENT = re.compile(rb"([A-Za-z_\x80-\xff][\w\x80-\xff]*)[ \t]*(?:=(?!=)|:[ \t]*[A-Za-z_\"x])")
_CONFLICT = re.compile(rb"(?:<{7}|={7}|>{7}|\|{7})(?:[ \t]|\r?\Z)")
_PARENTHESES = re.compile(rb"[()]")
# What can only start a statement, so that a bracket still open before it was never closed.
_STATEMENT = re.compile(
    rb"(?:(?:async[ \t]+)?def|class|return|import|with|try|raise|pass|while|assert|del|global)\b|@"
)


@dataclass(frozen=True, slots=True)
class _Block:
    """A definition whose end is not known yet."""

    path: tuple[str, ...]
    kind: str
    indent: int
    start: int
    header: int
    params: str | None
    body: int


@dataclass(slots=True)
class _Scan:
    quiet: bytes
    done: list[Symbol] = field(default_factory=list[Symbol])
    blocks: list[_Block] = field(default_factory=list[_Block])
    assigned: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    decorated: int | None = None
    header: tuple[re.Match[bytes], int] | None = None
    depth: int = 0
    last: int = 0

    def run(self) -> list[Symbol]:
        start, escaped = 0, False
        for line in self.quiet.split(b"\n"):
            text = line.strip()
            if text and not _CONFLICT.match(line):
                if not escaped and (self.depth == 0 or _STATEMENT.match(text)):
                    self._statement(start, line, text)
                self.depth = max(0, self.depth + _nesting(text))
                self.last = start + len(line.rstrip())
                if self.depth == 0:
                    self._define()
                escaped = text.endswith(b"\\")
            start += len(line) + 1
        self._define()
        self._close(0)
        return self.done

    def _statement(self, start: int, line: bytes, text: bytes) -> None:
        indent = len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())
        begin = start + len(line) - len(line.lstrip())
        self.depth = 0
        self._define()
        self._close(indent)
        if text.startswith(b"@"):
            self.decorated = begin if self.decorated is None else self.decorated
            return
        match = _DEFINITION.match(self.quiet, begin)
        if match is not None:
            self.header = (match, indent)
            return
        self.decorated = None
        match = _ASSIGNMENT.match(self.quiet, begin)
        if match is not None and not keyword.iskeyword(match[1].decode("utf-8", "replace")):
            self._assign(match, indent)

    def _define(self) -> None:
        """Open the block of a header that is complete, or that the next statement shows to be broken."""
        if self.header is None:
            return
        (match, indent), self.header = self.header, None
        outer = self.blocks[-1] if self.blocks else None
        kind = "class" if match[1] == b"class" else "function"
        if kind == "function" and outer is not None and outer.kind == "class":
            kind = "method"
        name = match[2].decode("utf-8", "replace")
        after = _closed(self.quiet, match.end(), self.last)
        params = self.quiet[match.end() : after].decode("utf-8", "replace") if kind != "class" else None
        start = match.start() if self.decorated is None else self.decorated
        path = (*outer.path, name) if outer else (name,)
        body = self.quiet.find(b":", after, self.last) + 1
        self.blocks.append(_Block(path, kind, indent, start, match.start(), params, max(body, after)))
        self.decorated = None

    def _assign(self, match: re.Match[bytes], indent: int) -> None:
        """A variable lasts until the next statement; those of functions are not listed."""
        outer = self.blocks[-1] if self.blocks else None
        name = match[1].decode("utf-8", "replace")
        if outer is None:
            self.blocks.append(
                _Block((name,), "variable", indent, match.start(), match.start(), None, match.start())
            )
        elif outer.kind == "class":
            path = (*outer.path, name)
            self.blocks.append(
                _Block(path, "field", indent, match.start(), match.start(), None, match.start())
            )

    def _close(self, indent: int) -> None:
        while self.blocks and self.blocks[-1].indent >= indent:
            block = self.blocks.pop()
            end = max(self.last, block.body)
            body = block.body + len(self.quiet[block.body : end]) - len(self.quiet[block.body : end].lstrip())
            if block.kind in ("variable", "field"):
                self._once(raw(block.path, block.kind, (block.start, end), sig=(block.start, end)))
                continue
            sig = (block.header, block.body)
            self.done.append(
                raw(
                    block.path,
                    block.kind,
                    (block.start, end),
                    params=block.params or None,
                    sig=sig,
                    body=(body, end),
                )
            )

    def _once(self, variable: Symbol) -> None:
        if variable.path not in self.assigned:
            self.assigned.add(variable.path)
            self.done.append(variable)


def scan(view: bytes) -> list[Symbol]:
    """Definitions and simple assignments; an unclosed bracket ends where a line starts a statement."""
    return _Scan(_QUIET.sub(_quieted, view)).run()


def _quieted(match: re.Match[bytes]) -> bytes:
    """The same number of bytes without line ends: comments as spaces, strings as letters."""
    return (b" " if match[0].startswith(b"#") else b"x") * len(match[0])


def _nesting(text: bytes) -> int:
    opened = text.count(b"(") + text.count(b"[") + text.count(b"{")
    return opened - text.count(b")") - text.count(b"]") - text.count(b"}")


def _closed(text: bytes, start: int, end: int) -> int:
    """The offset after the parenthesis that closes the one at ``start``, or ``start`` where none does."""
    if text[start : start + 1] != b"(":
        return start
    depth = 0
    for match in _PARENTHESES.finditer(text, start, end):
        depth += 1 if match[0] == b"(" else -1
        if depth == 0:
            return match.end()
    return start


def corrected(found: Iterable[Symbol], view: bytes) -> list[Symbol]:
    """What the grammar found, with functions and classes as indentation tells them."""
    done = scan(view)
    blocks = [symbol for symbol in done if symbol.kind not in ("variable", "field")]
    opened = sorted(blocks, key=lambda symbol: (symbol.span.start_byte, -symbol.span.end_byte))
    others = [symbol for symbol in found if symbol.kind in ("variable", "field", "type")]
    stack: list[Symbol] = []
    kept: list[Symbol] = []
    seen = {symbol.path for symbol in done if symbol.kind in ("variable", "field")}
    at = 0
    for symbol in sorted(others, key=lambda symbol: symbol.span.start_byte):
        while at < len(opened) and opened[at].span.start_byte <= symbol.span.start_byte:
            stack.append(opened[at])
            at += 1
        while stack and stack[-1].span.end_byte <= symbol.span.start_byte:
            stack.pop()
        placed = _placed(symbol, stack[-1] if stack else None)
        if placed is not None and placed.path not in seen:
            seen.add(placed.path)
            kept.append(placed)
    return [*done, *kept]


def _placed(symbol: Symbol, outer: Symbol | None) -> Symbol | None:
    """The variable where it really stands; None inside a function, where variables are not listed."""
    if outer is None:
        kind = "variable" if symbol.kind == "field" else symbol.kind
        return replace(symbol, path=symbol.path[-1:], kind=kind)
    if outer.kind != "class":
        return None
    return replace(symbol, path=(*outer.path, symbol.path[-1]), kind="field")
