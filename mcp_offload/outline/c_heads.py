"""Macros in C and C++ declarations, blanked so that the grammar sees the declaration behind them.

A word in capitals may be a macro or a type. It is a macro where the declaration has a type without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.raw import raw

_VISIBLE = re.compile(rb"\S")
_END = re.compile(rb"[;{}]")
_TOKEN = re.compile(rb"[A-Za-z_~\x80-\xff][\w\x80-\xff]*|\(|\"[^\"]*\"|::|->|\S")
_CAPITALS = re.compile(rb"[A-Z_][A-Z0-9_]{2,}\Z")
_TYPE_LIKE = re.compile(rb"[\w\s*&:<>,]+\Z")
_LAST_WORD = re.compile(rb"[\w*&]\s+([A-Za-z_]\w*)\s*(?=[,)])")
_LABEL = re.compile(
    rb"\b(?:public|private|protected|signals)\b(?:[ \t]+\w+)?\s*:(?!:)|(?<![\w:])[A-Z_][A-Z0-9_]{3,}\s*:(?!:)"
)
_SPECIFIERS = frozenset(
    b"static inline extern const volatile virtual explicit constexpr friend typename register "
    b"mutable consteval constinit thread_local typedef __inline __inline__ __forceinline "
    b"__extension__ restrict".split()
)
# Not standard C or C++, and all over the headers of some compilers and kernels.
_KNOWN = frozenset(
    b"__device__ __host__ __global__ __forceinline__ __noinline__ __align__ __launch_bounds__ __extension__ "
    b"__cdecl __stdcall __fastcall __vectorcall __noreturn __unused __init __exit __user __iomem".split()
)
_RECORDS = frozenset((b"class", b"struct", b"union", b"enum", b"namespace"))
_KEYWORDS = _SPECIFIERS | frozenset(
    b"int char short long float double void signed unsigned bool auto class struct union enum namespace "
    b"public private protected operator template using final override noexcept".split()
)
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
    macro: bool

    @property
    def end(self) -> int:
        return self.group.end if self.group else self.word.end


@dataclass(slots=True)
class Cleaned:
    """What cleaning found out.

    ``starts``: where declarations really start, by where they seem to start after blanking.
    ``blocks``: functions whose whole head is a macro call.
    """

    starts: dict[int, int] = field(default_factory=dict[int, int])
    blocks: list[Symbol] = field(default_factory=list[Symbol])


def clean(text: bytearray, defined: frozenset[bytes], *, cpp: bool) -> Cleaned:
    """Blank macros in all declarations of a skeleton; ``defined`` are those the text itself defines."""
    code = bytes(text)
    macros = (defined | _KNOWN) - _KEYWORDS
    cleaned = Cleaned()
    owners: list[bytes] = []
    begin = 0
    for match in _END.finditer(code + b"}"):
        owner = b""
        begin = _after_space(code, begin, match.start())
        if 0 < match.start() - begin <= _HEAD_LIMIT_BYTES:
            first = _after_labels(code, text, begin, match.start())
            items = _items(code, first, match.start(), macros)
            owner = _owner(items)
            if not cpp and match[0] == b"{" and _is_block(items):
                _take_block(code, text, items, match.start(), cleaned)
            elif items and items[0].word.text != b",":
                cut = _macros(items, match[0], owners[-1] if owners else b"")
                for span in [*cut, *_parameter_macros(code, items, macros)]:
                    text[span.start_byte : span.end_byte] = b" " * (span.end_byte - span.start_byte)
                _note_start(code, text, (first, match.start()), cut, cleaned.starts)
        _nest(owners, match[0], owner)
        begin = match.end()
    return cleaned


def _is_block(items: list[_Item]) -> bool:
    """True for ``TEST(a, b)`` before a brace; C++ reads it as a constructor, C not at all."""
    if not items or not items[-1].macro or items[-1].group is None:
        return False
    return all(item.macro or item.word.text in _SPECIFIERS for item in items)


def _take_block(code: bytes, text: bytearray, items: list[_Item], brace: int, cleaned: Cleaned) -> None:
    end = code.find(b"}", brace) + 1 or len(code)
    item, first = items[-1], len(items) - 1
    while first > 0 and items[first - 1].word.text in _SPECIFIERS:
        first -= 1
    start, group = items[first].word.start, item.group or item.word
    name = item.word.text.decode("utf-8", "replace")
    params = code[group.start : group.end].decode("utf-8", "replace")
    sig, body = (start, group.end), (brace, end)
    cleaned.blocks.append(raw((name,), "function", (start, end), params=params, sig=sig, body=body))
    text[items[0].word.start : end] = b" " * (end - items[0].word.start)


def _after_space(code: bytes, begin: int, end: int) -> int:
    found = _VISIBLE.search(code, begin, end)
    return found.start() if found else end


def _nest(owners: list[bytes], brace: bytes, owner: bytes) -> None:
    """Keep the names of the classes around the current place; b"" for other scopes."""
    if brace == b"{":
        owners.append(owner)
    elif brace == b"}" and owners:
        owners.pop()


def _owner(items: list[_Item]) -> bytes:
    """The name of the class a head introduces."""
    name = b""
    for index, item in enumerate(items):
        if item.word.text in (b"class", b"struct", b"union"):
            for after in items[index + 1 :]:
                if after.word.text in (b":", b"<") or after.word.text == b"final":
                    break
                name = after.word.text if _is_word(after.word) and not after.group else name
            return name
    return name


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


def _items(code: bytes, begin: int, end: int, macros: frozenset[bytes]) -> list[_Item]:
    tokens = _tokens(code, begin, end)
    items: list[_Item] = []
    index = _after_template(tokens)
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        macro = bool(_CAPITALS.match(token.text)) or token.text in macros
        if _is_word(token) and following is not None and following.text == b"(":
            items.append(_Item(token, following, macro))
            index += 1
        else:
            items.append(_Item(token, None, macro))
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


def _macros(items: list[_Item], terminator: bytes, owner: bytes) -> list[Span]:
    """The parts of a declaration that are macros."""
    if not any(item.macro for item in items):
        return []
    opens = terminator == b"{"
    if terminator == b"}" and all(item.macro for item in items):
        return [_whole(item) for item in items]
    record = next((i for i, item in enumerate(items) if item.word.text in _RECORDS), None)
    function = _function(items)
    if record is not None and (function is None or function < record):
        return _record_macros(items, record)
    if function is not None:
        return _function_macros(items, function, owner)
    called = [item for item in items if item.group and item.macro]
    plain = [item for item in items if not item.macro and _is_word(item.word)]
    if called and not opens and all(item.word.text in _SPECIFIERS for item in plain):
        return [Span(items[0].word.start, items[-1].end)]
    if called and opens and not [item for item in plain if item.word.text not in _SPECIFIERS]:
        # TEST(a, b) {: the last one is what the block belongs to.
        last = next(i for i in range(len(items) - 1, -1, -1) if items[i].group and items[i].macro)
        return [_whole(item) for item in items[:last] if item.group and item.macro]
    return [*(_whole(item) for item in called if not opens), *_leading(items)]


def _function(items: list[_Item]) -> int | None:
    """The index of the word a parameter list belongs to, preferably one that cannot be a macro."""
    second: int | None = None
    for index, item in enumerate(items):
        if item.word.text == b"operator":
            return index
        if item.word.text == b"=":
            break
        word = item.word.text
        if not item.group or word in _NOT_CALLED or word in _KEYWORDS or _CAPITALS.match(word):
            continue
        if not item.macro:
            return index
        if word not in _KNOWN:
            second = index
    return second


def _record_macros(items: list[_Item], record: int) -> list[Span]:
    cut = [_whole(item) for item in items[:record] if item.macro]
    after = items[record + 1 :]
    while len(after) > 1 and after[0].macro and _is_word(after[1].word) and after[1].word.text != b"final":
        cut.append(_whole(after[0]))
        after = after[1:]
    for item in after[1:]:
        if item.word.text in (b":", b"<"):
            break
        if item.macro and item.group:
            cut.append(_whole(item))
    return cut


def _function_macros(items: list[_Item], function: int, owner: bytes) -> list[Span]:
    before, cut = items[:function], list[Span]()
    while before and (before[-1].word.text in (b"::", b">") or b"::" in [i.word.text for i in before[-2:-1]]):
        before = before[:-1]
    typeless = _typeless(items, function, owner)
    for index, item in enumerate(before):
        if item.macro:
            rest = [*before[:index], *before[index + 1 :]] if item.group else before[index + 1 :]
            typed = _typed(rest) or (not item.group and _typed_plainly(before[:index]))
            cut.extend(_macro(item, typed or typeless))
    cut.extend(_whole(item) for item in _after_parameters(items, function) if item.macro)
    return cut


def _parameter_macros(code: bytes, items: list[_Item], defined: frozenset[bytes]) -> list[Span]:
    """Macros of the text's own after the name of a parameter: more parameters, or nothing."""
    groups = [item.group for item in items if item.group]
    found = [match for group in groups for match in _LAST_WORD.finditer(code, group.start, group.end)]
    return [Span(*match.span(1)) for match in found if match[1] in defined]


def _typeless(items: list[_Item], function: int, owner: bytes) -> bool:
    """True for constructors, destructors and conversions, which have no type before their name."""
    name = items[function].word.text
    following = items[function + 1] if function + 1 < len(items) else None
    if name == b"operator":
        converts = following is not None and _is_word(following.word)
        return converts and following is not None and following.word.text not in (b"new", b"delete")
    return name == owner or name[:1] == b"~" or (following is not None and following.word.text == b":")


def _after_parameters(items: list[_Item], function: int) -> list[_Item]:
    """What stands between the parameters and the body."""
    after = function + 1
    if items[function].word.text == b"operator":
        while after < len(items) and items[after].word.text != b"(" and not items[after].group:
            after += 1
        while after < len(items) and (items[after].word.text == b"(" or items[after].group):
            after += 1
    for index in range(after, len(items)):
        if items[index].word.text in (b"->", b"=", b":", b"("):
            return items[after:index]
    return items[after:]


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
    return _typed([item for item in items if not item.macro])


def _leading(items: list[_Item]) -> list[Span]:
    """Macros among the words before the name of a variable: all but what is needed for a type and a name."""
    cut: list[Span] = []
    words = [
        item for item in _until_value(items) if _is_word(item.word) and item.word.text not in _SPECIFIERS
    ]
    spare = len(words) - (1 if words and words[-1].group else 2)
    for item in words[:-1]:
        if spare > 0 and item.macro and not item.group:
            cut.append(_whole(item))
            spare -= 1
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
