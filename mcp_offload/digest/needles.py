"""Which literal texts a line must hold for a trigger to match, so that one scan for literals finds it.

Reads the part of RE2's syntax that triggers use: literals, escapes, classes, groups, alternatives,
quantifiers and ``^``/``$`` at the ends. What it does not understand counts as "anything".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

_MAX_TEXTS: Final = 64
DIGIT: Final = "\0"
"""Stands for any digit in a needle's text."""
_TOKEN: Final = re.compile(
    r"(?P<open>\(\?i:|\(\?:|\(\?P<\w+>|\()|(?P<close>\))|(?P<or>\|)|(?P<cls>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<rep>[*+?]\??|\{\d+(?:,\d*)?\}\??)|(?P<esc>\\x\{[0-9a-fA-F]+\}|\\.)|(?P<any>\.)|"
    r"(?P<edge>[\^$])|(?P<chr>.)",
    re.S,
)
_COMMON: Final = frozenset(
    {"error", "errors", "warning", "warnings", "test", "tests", "running", "note", "failed"}
)
_SPECIAL: Final = frozenset("dDwWsSbBAzZ")


class Needle(NamedTuple):
    """A literal; ``start``, ``end``: it begins or ends the line; ``fold``: case does not matter."""

    text: str
    start: bool
    fold: bool
    end: bool = False


@dataclass(frozen=True, slots=True)
class _Node:
    """``exact``: all texts it can match, or None. ``need``: texts of which one must occur, or None."""

    exact: frozenset[str] | None
    need: frozenset[str] | None
    fold: bool = False
    leading: bool = False  # need stands at the very beginning
    ending: bool = False  # need stands at the very end


_EMPTY: Final = _Node(frozenset({""}), None)
_ANY: Final = _Node(None, None)


def _score(texts: frozenset[str] | None) -> float:
    """How rare the most frequent of the texts is likely to be."""
    return min((_rarity(text) for text in texts), default=0.0) if texts else 0.0


def _rarity(text: str) -> float:
    # Dates and counters stand on every line of many logs; a few words on a good part of them.
    common = 6.0 if text.count(DIGIT) > 3 else 3.0 if text.strip(" :").lower() in _COMMON else 0.0
    return _weight(text) - common


def _weight(text: str) -> float:
    return len(text) - 1.2 * text.count(DIGIT) - 0.3 * text.count(" ")


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._tokens = [
            (kind, found[kind]) for found in _TOKEN.finditer(pattern) if (kind := found.lastgroup)
        ]
        self._at = 0

    def parse(self) -> _Node:
        branches = [self._sequence()]
        while self._at < len(self._tokens) and self._tokens[self._at][0] == "or":
            self._at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else _either(branches)

    def _sequence(self) -> _Node:
        anchored = self._at == 0 and self._tokens[:1] == [("edge", "^")]
        parts: list[_Node] = []
        while self._at < len(self._tokens) and self._tokens[self._at][0] not in {"or", "close"}:
            parts += self._repeated(self._item())
        return _join(parts, anchored)

    def _item(self) -> _Node:
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind != "open":
            return _atom(kind, text)
        node = self.parse()
        self._at += 1
        if text == "(?i:":
            need = node.exact if _score(node.exact) >= _score(node.need) else node.need
            return _Node(None, need, True, node.leading)
        return node

    def _repeated(self, node: _Node) -> list[_Node]:
        if self._at >= len(self._tokens) or self._tokens[self._at][0] != "rep":
            return [node]
        quantifier = self._tokens[self._at][1]
        self._at += 1
        if quantifier[0] == "?" and node.exact is not None and len(node.exact) < 9:
            return [_Node(node.exact | {""}, None)]
        if quantifier[0] in "*?" or quantifier.startswith(("{0,", "{0}")):
            return [_ANY]
        count = re.fullmatch(r"\{(\d+)\}", quantifier)
        if count and node.exact is not None and len(node.exact) == 1 and int(count[1]) <= 80:
            return [_Node(frozenset({next(iter(node.exact)) * int(count[1])}), None)]
        # At least once: the texts around may grow by the first or the last of them.
        return [node, _ANY, node]


def _atom(kind: str, text: str) -> _Node:
    if kind == "chr":
        return _Node(frozenset({text}), None)
    if kind == "esc" and text == r"\d":
        return _Node(frozenset({DIGIT}), None)
    if kind == "esc":
        if text[1] in "bBAzZ":
            return _EMPTY
        if text[1] in _SPECIAL or text.startswith("\\x") or text[1] in "pP":
            return _ANY
        return _Node(frozenset({{"t": "\t", "n": "\n", "r": "\r"}.get(text[1], text[1])}), None)
    if kind == "cls":
        inner = text[1:-1]
        if (
            inner[:1] != "^"
            and len(inner) <= 8
            and inner.isascii()
            and "\\" not in inner
            and "-" not in inner
        ):
            return _Node(frozenset(inner), None)
        return _ANY
    return _EMPTY if kind == "edge" else _ANY


def _either(branches: list[_Node]) -> _Node:
    exacts = [node.exact for node in branches]
    fold = any(node.fold for node in branches)
    if not fold and all(exact is not None for exact in exacts):
        union = frozenset[str]().union(*(exact for exact in exacts if exact is not None))
        if len(union) <= _MAX_TEXTS:
            return _Node(union, None)
    needs = [node.exact if _score(node.exact) >= _score(node.need) else node.need for node in branches]
    if not all(needs):
        return _ANY
    return _Node(None, frozenset[str]().union(*(need for need in needs if need)), fold)


def _join(parts: list[_Node], anchored: bool) -> _Node:
    """A sequence: adjacent exact texts grow together; the best run is what the line needs."""
    run: frozenset[str] = frozenset({""})
    best: tuple[float, frozenset[str] | None, bool, bool] = (0.0, None, False, False)
    at_start, whole = True, True
    for part in parts:
        if part.exact is not None and len(run) * len(part.exact) <= _MAX_TEXTS:
            run = frozenset(left + right for left in run for right in part.exact)
            continue
        best = max(
            best,
            (_score(run) + 3 * (anchored and at_start and min(map(len, run)) > 1), run, False, at_start),
            key=lambda row: row[0],
        )
        whole, at_start = False, False
        run = part.exact if part.exact is not None else frozenset({""})
        if part.exact is None and part.need:
            best = max(best, (_score(part.need), part.need, part.fold, False), key=lambda row: row[0])
    if whole:
        return _Node(run, None, leading=True, ending=True)
    ending = _score(run) + 3 * (anchored and at_start and min(map(len, run)) > 1) > best[0]
    best = max(best, (_score(run), run, False, at_start), key=lambda row: row[0])
    return _Node(None, best[1] if best[0] else None, best[2], best[3], ending)


def needles(pattern: str) -> list[Needle]:
    """Literals of which every matching line holds one; empty where none of use are known."""
    node = _Parser(pattern).parse()
    if node.exact is not None:
        texts, fold, leading = node.exact, node.fold, True
    else:
        texts, fold, leading = node.need or frozenset[str](), node.fold, node.leading
    start = leading and pattern.startswith("^")
    if min((_weight(text) for text in texts), default=0.0) + start < 1.7:
        return []
    if any(len(text.encode()) < 2 or text.count(DIGIT) > 3 for text in texts):
        return []
    end = pattern.endswith("$") and not pattern.endswith(r"\$") and (node.exact is not None or node.ending)
    return [Needle(text, start, fold, end) for text in sorted(texts)]
