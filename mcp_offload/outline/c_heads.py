"""Macros in C and C++ declarations, blanked so that the grammar sees the declaration behind them.

A word in capitals may be a macro or a type. It is a macro where the declaration has a type without it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mcp_offload.models import Span

_END = re.compile(rb"[;{}]")
_TOKEN = re.compile(rb"[A-Za-z_~\x80-\xff][\w\x80-\xff]*|\(|\"[^\"]*\"|::|->|\S")
_CAPITALS = re.compile(rb"[A-Z_][A-Z0-9_]{2,}\Z")
_TYPE_LIKE = re.compile(rb"[\w\s*&:<>,]+\Z")
_LABEL = re.compile(
    rb"\b(?:public|private|protected|signals)\b(?:[ \t]+\w+)?\s*:(?!:)|(?<![\w:])[A-Z_][A-Z0-9_]{3,}\s*:(?!:)"
)
_SPECIFIERS = frozenset(
    b"static inline extern const volatile virtual explicit constexpr friend typename register mutable "
    b"consteval constinit thread_local typedef __inline __inline__ __forceinline __extension__ restrict".split()
)
_RECORDS = frozenset((b"class", b"struct", b"union", b"enum", b"namespace"))
_NOT_CALLED = frozenset(b"__attribute__ __declspec alignas decltype noexcept throw requires sizeof".split())
_HEAD_LIMIT_BYTES = 20_000


class Token(NamedTuple):
    """A word, sign or parenthesised group of a declaration; offsets are into the whole text."""

    text: bytes
    start: int
    end: int


class _Item(NamedTuple):
    """A word with the parenthesised group that follows it, if one does."""

    word: Token
    group: Token | None

    @property
    def capitals(self) -> bool:
        return bool(_CAPITALS.match(self.word.text))

    @property
    def end(self) -> int:
        return self.group.end if self.group else self.word.end


def clean(text: bytearray) -> dict[int, int]:
    """Blank macros in all declarations of a skeleton.

    Returns where declarations really start, by where they seem to start after blanking.
    """
    code = bytes(text)
    starts: dict[int, int] = {}
    begin = 0
    for match in _END.finditer(code):
        if 0 < match.start() - begin <= _HEAD_LIMIT_BYTES:
            _clean_head(code, text, begin, match.start(), match[0] == b"{", starts)
        begin = match.end()
    return starts


def _clean_head(
    code: bytes, text: bytearray, begin: int, end: int, opens: bool, starts: dict[int, int]
) -> None:
    begin = _after_labels(code, text, begin, end)
    items = _items(code, begin, end)
    if not items or not any(item.capitals for item in items) or items[0].word.text == b",":
        return
    cut = _macros(items, opens)
    for span in cut:
        text[span.start_byte : span.end_byte] = b" " * (span.end_byte - span.start_byte)
    _note_start(code, text, (begin, end), cut, starts)


def _after_labels(code: bytes, text: bytearray, begin: int, end: int) -> int:
    """Where the declaration starts after access labels; labels that are macros are blanked."""
    for match in _LABEL.finditer(code, begin, end):
        before = code[begin : match.start()]
        if b"(" in before or b"?" in before:
            break
        word = match[0].rstrip(b": \t\r\n")
        if _CAPITALS.match(word) or b" " in word or word == b"signals" or before.strip():
            text[begin : match.end()] = b" " * (match.end() - begin)
        begin = match.end()
    return begin


def _tokens(code: bytes, begin: int, end: int) -> list[Token]:
    found: list[Token] = []
    position = begin
    while True:
        match = _TOKEN.search(code, position, end)
        if match is None:
            return found
        position = match.end()
        if match[0] == b"(":
            depth = 1
            while depth and position < end:
                depth += (code[position] == 0x28) - (code[position] == 0x29)
                position += 1
        found.append(Token(match[0], match.start(), position))


def _items(code: bytes, begin: int, end: int) -> list[_Item]:
    tokens = _tokens(code, begin, end)
    items: list[_Item] = []
    index = _after_template(tokens)
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if _is_word(token) and following is not None and following.text == b"(":
            items.append(_Item(token, following))
            index += 1
        else:
            items.append(_Item(token, None))
        index += 1
    return items


def _after_template(tokens: list[Token]) -> int:
    index = 0
    while index + 1 < len(tokens) and tokens[index].text == b"template" and tokens[index + 1].text == b"<":
        depth, index = 1, index + 2
        while depth and index < len(tokens):
            depth += (tokens[index].text == b"<") - (tokens[index].text == b">")
            index += 1
    return index


def _is_word(token: Token) -> bool:
    return token.text[:1].isalpha() or token.text[:1] in b"_~" or token.text[0] >= 0x80


def _macros(items: list[_Item], opens: bool) -> list[Span]:
    """The parts of a declaration that are macros."""
    record = next((i for i, item in enumerate(items) if item.word.text in _RECORDS), None)
    function = _function(items)
    if record is not None and (function is None or function < record):
        return _record_macros(items, record)
    if function is not None:
        return _function_macros(items, function)
    called = [item for item in items if item.group and item.capitals]
    plain = [item for item in items if not item.capitals and _is_word(item.word)]
    if called and not opens and all(item.word.text in _SPECIFIERS for item in plain):
        return [Span(items[0].word.start, items[-1].end)]
    if called and opens and not [item for item in plain if item.word.text not in _SPECIFIERS]:
        # TEST(a, b) {: the last one is what the block belongs to.
        last = next(i for i in range(len(items) - 1, -1, -1) if items[i].group and items[i].capitals)
        return [_whole(item) for item in items[:last] if item.group and item.capitals]
    return [*(_whole(item) for item in called if not opens), *_leading(items)]


def _function(items: list[_Item]) -> int | None:
    """The index of the word a parameter list belongs to."""
    for index, item in enumerate(items):
        if item.word.text == b"operator":
            return index
        if item.word.text == b"=":
            return None
        if item.group and not item.capitals and item.word.text not in _NOT_CALLED:
            return index
    return None


def _record_macros(items: list[_Item], record: int) -> list[Span]:
    cut = [_whole(item) for item in items[:record] if item.capitals]
    after = items[record + 1 :]
    while len(after) > 1 and after[0].capitals and _is_word(after[1].word) and after[1].word.text != b"final":
        cut.append(_whole(after[0]))
        after = after[1:]
    return cut


def _function_macros(items: list[_Item], function: int) -> list[Span]:
    before, cut = items[:function], list[Span]()
    while before and (
        before[-1].word.text in (b"::", b">") or b"::" in [item.word.text for item in before[-2:-1]]
    ):
        before = before[:-1]
    for index, item in enumerate(before):
        if item.capitals:
            rest = [*before[:index], *before[index + 1 :]] if item.group else before[index + 1 :]
            cut.extend(_macro(item, _typed(rest) or (not item.group and _typed_plainly(before[:index]))))
    for item in items[function + 1 :]:
        if item.word.text in (b"->", b"=", b":", b"("):
            break
        if item.capitals:
            cut.append(_whole(item))
    return cut


def _macro(item: _Item, typed: bool) -> list[Span]:
    """What to blank of a word in capitals, given whether the declaration has a type without it."""
    if typed:
        return [_whole(item)]
    group = item.group
    if group is None:
        return []
    return [Span(item.word.start, group.start + 1), Span(group.end - 1, group.end)]


def _typed(items: list[_Item]) -> bool:
    return any(_is_word(item.word) and not item.group and item.word.text not in _SPECIFIERS for item in items)


def _typed_plainly(items: list[_Item]) -> bool:
    return _typed([item for item in items if not item.capitals])


def _leading(items: list[_Item]) -> list[Span]:
    """Macros before the type of a variable."""
    cut: list[Span] = []
    words = [
        item for item in _until_value(items) if _is_word(item.word) and item.word.text not in _SPECIFIERS
    ]
    while len(words) > 2 and words[0].capitals and not words[0].group:
        cut.append(_whole(words[0]))
        words = words[1:]
    return cut


def _until_value(items: list[_Item]) -> list[_Item]:
    for index, item in enumerate(items):
        if item.word.text in (b"=", b",", b"[", b":", b"<", b"::"):
            return items[:index]
    return items


def _whole(item: _Item) -> Span:
    return Span(item.word.start, item.end)


def _note_start(
    code: bytes, text: bytearray, head: tuple[int, int], cut: list[Span], starts: dict[int, int]
) -> None:
    """Remember where the declaration starts with the macros that stand right before it."""
    begin, end = head
    left = bytes(text[begin:end])
    first = begin + len(left) - len(left.lstrip())
    if first >= end:
        return
    start = first
    own_line_calls = 0
    for span in sorted((span for span in cut if span.end_byte <= first), reverse=True):
        gap = code[span.end_byte : start]
        if gap.strip() not in (b"", b"(") or gap.count(b"\n") > 1:
            break
        if b"\n" in gap and code[span.end_byte - 1 : span.end_byte] == b")":
            own_line_calls += 1
        if own_line_calls > 1:
            return
        start = span.start_byte
    if start != first:
        starts[first] = start
