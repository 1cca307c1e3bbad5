"""XML and HTML by elements, from tags alone: no entity is ever expanded, nothing is fetched.

A segment is the element's name, with its identifier in brackets where it has one: ``target[compile]``. In
XML that is an ``id``, ``name``, ``key`` or ``xml:id`` attribute or the text of a first such child; in HTML
only elements with an ``id`` or ``name``, headings and structural elements get symbols.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import Sieve, clean_name
from mcp_offload.outline.scanners.positions import Positions

_TOKEN: Final = re.compile(
    rb"<!--(?s:.*?)(?:-->|\Z)|<!\[CDATA\[(?s:.*?)(?:\]\]>|\Z)|<\?(?s:.*?)(?:\?>|\Z)"
    rb"|<!(?:[^<>\[\"']|\"[^\"<]*\"|'[^'<]*'|\[(?s:.*?)(?:\]|\Z))*+>?"
    rb"|</(?P<close>[A-Za-z_\x80-\xff][\w:.\x80-\xff-]*+)[^<>]*+>"
    rb"|<(?P<open>[A-Za-z_\x80-\xff][\w:.\x80-\xff-]*+)(?P<attributes>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>"
)
_ATTRIBUTE: Final = re.compile(
    rb"(?<![\w:.-])(xml:id|android:name|id|name|key|label)\s*+=\s*+(?:\"([^\"]{1,160})\"|'([^']{1,160})'|([^\s\"'>]{1,160}))",
    re.I,
)
_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<!--(?s:.{0,4000}?)-->\s*+)?<(?:!doctype\s+html|html|head|body)\b", re.I
)
_RAW_END: Final = {
    name: re.compile(rb"</" + name + rb"\s*>", re.I) for name in (b"script", b"style", b"textarea", b"title")
}
_VOID: Final = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())
_SECTIONS: Final = b"html head body main nav header footer aside section article"
_STRUCTURE: Final = frozenset((_SECTIONS + b" form table script style template dialog svg").split())
_HEADINGS: Final = frozenset(b"h1 h2 h3 h4 h5 h6".split())
# In order of preference; the text of such a child identifies its parent.
_NAMING_CHILDREN: Final = frozenset(b"artifactId id name title Name Id".split())
_ATTRIBUTE_RANK: Final = (b"id", b"xml:id", b"name", b"android:name", b"key", b"label")
_MAX_ATTRIBUTES_BYTES: Final = 4096
_MAX_TEXT_BYTES: Final = 160
_MAX_OPEN: Final = 4096
_TAG: Final = re.compile(rb"<[^>]*>")


class _Element:
    """An element; ``emitted`` where it gets a symbol."""

    __slots__ = ("anchor", "content", "depth", "emitted", "end", "hint", "leaf", "parent", "start", "tag")

    def __init__(self, tag: bytes, start: int, content: int, parent: _Element | None, emitted: bool) -> None:
        self.tag = tag
        self.start = start
        self.content = content
        self.end = content
        self.parent = parent
        # The nearest element around this one that gets a symbol.
        self.anchor = parent if parent is None or parent.emitted else parent.anchor
        self.emitted = emitted
        self.depth = (0 if parent is None else parent.depth) + emitted
        self.hint = b""
        self.leaf = True


def scan(view: bytes) -> list[Symbol]:
    """Symbols of an XML or HTML document; the root's name tells which it is."""
    return _Scanner(view).scan()


class _Scanner:
    def __init__(self, view: bytes) -> None:
        self._view = view
        self._html = _HTML.match(view[:8192]) is not None
        self._sieve = Sieve()
        self._elements: list[_Element] = []
        self._stack: list[_Element] = []
        self._open_names: dict[bytes, int] = {}

    def scan(self) -> list[Symbol]:
        position = 0
        while (found := _TOKEN.search(self._view, position)) is not None:
            position = max(found.end(), position + 1)
            if found["open"] is not None:
                position = self._opened(found)
            elif found["close"] is not None:
                self._closed(found["close"], found.start(), found.end())
        while self._stack:
            self._pop(len(self._view), len(self._view))
        self._elements = self._sieve.settle(self._elements, final=True)
        return self._symbols()

    def _opened(self, found: re.Match[bytes]) -> int:
        """Open an element; where the scan goes on."""
        tag = found["open"].lower() if self._html else found["open"]
        parent = self._stack[-1] if self._stack else None
        hint = _identifier(found["attributes"][:_MAX_ATTRIBUTES_BYTES])
        emitted = not self._html or bool(hint) or tag in _STRUCTURE or tag in _HEADINGS
        depth = (0 if parent is None else parent.depth) + emitted
        emitted = emitted and self._sieve.allows(depth) and len(self._stack) < _MAX_OPEN
        element = _Element(tag, found.start(), found.end(), parent, emitted)
        element.hint = hint
        if parent is not None:
            parent.leaf = False
        if emitted:
            self._elements.append(element)
            if not len(self._elements) % 4096:
                self._elements = self._sieve.settle(self._elements)
        if found["attributes"].endswith(b"/") or (self._html and tag in _VOID):
            return found.end()
        if self._html and tag in _RAW_END:
            return self._raw(element, found.end())
        self._stack.append(element)
        self._open_names[tag] = self._open_names.get(tag, 0) + 1
        return found.end()

    def _raw(self, element: _Element, start: int) -> int:
        """Skip the text of a script or style, whatever it looks like."""
        end = _RAW_END[element.tag].search(self._view, start)
        element.end = len(self._view) if end is None else end.end()
        return element.end

    def _closed(self, tag: bytes, start: int, end: int) -> None:
        tag = tag.lower() if self._html else tag
        if not self._open_names.get(tag):
            return
        while self._stack[-1].tag != tag:
            self._pop(start, start)
        self._pop(start, end)

    def _pop(self, content_end: int, end: int) -> None:
        element = self._stack.pop()
        element.end = end
        self._open_names[element.tag] -= 1
        if not element.leaf and not (self._html and element.tag in _HEADINGS):
            return
        text = self._view[element.content : min(content_end, element.content + 4 * _MAX_TEXT_BYTES)].strip()
        if self._html and element.tag in _HEADINGS:
            element.hint = element.hint or _TAG.sub(b"", text)[:_MAX_TEXT_BYTES]
        elif self._names_parent(element, text) and element.parent is not None:
            element.parent.hint = text

    def _names_parent(self, element: _Element, text: bytes) -> bool:
        parent = element.parent
        if self._html or parent is None or not text or len(text) > _MAX_TEXT_BYTES or b"\n" in text:
            return False
        return element.tag in _NAMING_CHILDREN and (not parent.hint or element.tag == b"artifactId")

    def _symbols(self) -> list[Symbol]:
        positions = Positions(self._view)
        symbols: list[Symbol] = []
        paths: dict[int, tuple[str, ...]] = {}
        for element in self._elements:
            outer = element.anchor
            while outer is not None and id(outer) not in paths:
                outer = outer.anchor
            path = (*(() if outer is None else paths[id(outer)]), _segment(element))
            paths[id(element)] = path
            start = positions.line_start_if_blank(element.start)
            symbols.append(
                positions.symbol(
                    path,
                    "element",
                    Span(start, max(start, element.end)),
                    sig=Span(element.start, element.content),
                )
            )
        return symbols


def _identifier(attributes: bytes) -> bytes:
    """The value of the attribute that identifies an element best."""
    best, rank = b"", len(_ATTRIBUTE_RANK)
    for found in _ATTRIBUTE.finditer(attributes):
        place = _ATTRIBUTE_RANK.index(found[1].lower())
        if place < rank:
            best, rank = found[2] or found[3] or found[4], place
    return best


def _segment(element: _Element) -> str:
    name = clean_name(element.tag)
    return f"{name}[{clean_name(element.hint)}]" if element.hint else name
