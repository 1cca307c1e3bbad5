"""PL/SQL: packages, bodies, types, triggers, procedures and functions, nested ones and declarations too.

A tokenizer and a stack. A unit is a declaration when its header ends at ``;`` and a definition when IS or
AS follows (in a trigger BEGIN, DECLARE, COMPOUND or CALL); the first BEGIN in it is its own, further
blocks are counted until its END. A line with only ``/`` ends whatever is open.
Source: Oracle Database PL/SQL Language Reference, grammar of the CREATE statements.
"""

from __future__ import annotations

from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS
from mcp_offload.outline.scanners.plsql_params import parameter_types
from mcp_offload.outline.scanners.positions import Positions
from mcp_offload.outline.scanners.sql_tokens import PLSQL, CommentsAbove, Token, tokens

_MAX_NESTING: Final = 48
_CREATE_WORDS: Final = frozenset(
    ["CREATE", "OR", "REPLACE", "EDITIONABLE", "NONEDITIONABLE", "FORCE", "NOFORCE", "IF", "NOT", "EXISTS"]
)
_METHOD_WORDS: Final = frozenset(
    ["MEMBER", "STATIC", "MAP", "ORDER", "CONSTRUCTOR", "OVERRIDING", "FINAL", "INSTANTIABLE", "NOT"]
)
_NO_BODY: Final = frozenset(["LANGUAGE", "EXTERNAL", "MLE"])
_NOT_BEFORE_UNIT: Final = frozenset(
    [
        "END",
        "DROP",
        "ALTER",
        "ON",
        "GRANT",
        "EXECUTE",
        "COMMENT",
        "AUDIT",
        "EXISTS",
        "ANALYZE",
        "DEBUG",
        ".",
        "SHOW",
    ]
)
_BLOCK_ENDS: Final = frozenset(["IF", "LOOP", "CASE"])
_SUBPROGRAMS: Final = frozenset(["PROCEDURE", "FUNCTION"])


class _Frame:
    """A unit, or a block inside one (``kind`` empty)."""

    __slots__ = ("base", "body", "compound", "doc", "kind", "named", "params", "path", "start", "state")

    def __init__(self, kind: str, start: int, base: int) -> None:
        self.kind = kind
        self.start = start
        self.base = base
        self.path: tuple[str, ...] = ()
        self.named = False
        self.params: Span | None = None
        self.body = 0
        self.doc: Span | None = None
        self.compound = False
        # header: before IS, AS or ;   declare: before BEGIN   body: after it   item: up to ;   end: after END
        self.state = "header"


def scan(view: bytes) -> list[Symbol]:
    """Symbols of PL/SQL source, SQL*Plus scripts included."""
    return _Scanner(view).scan()


class _Scanner:
    def __init__(self, view: bytes) -> None:
        self._view = view
        self._positions = Positions(view)
        self._comments = CommentsAbove(self._positions)
        self._stack: list[_Frame] = []
        self._symbols: list[Symbol] = []
        self._depth = 0
        self._previous = ";"
        # Where the words before a unit's keyword began: CREATE OR REPLACE, or MEMBER, STATIC, ...
        self._lead: int | None = None
        self._lead_doc: Span | None = None
        self._created = False
        self._last_end = 0

    def scan(self) -> list[Symbol]:
        for token in tokens(PLSQL, self._view):
            if token.kind == "comment":
                self._comments.comment(token)
                continue
            if token.kind == "slash":
                self._reset()
            elif token.kind in ("word", "name"):
                self._word(token)
            elif token.kind == "mark":
                self._mark(token)
            if token.kind != "command":
                self._last_end = token.end
                self._previous = token.text or token.kind
            self._comments.code(token)
        self._reset()
        return self._symbols[:MAX_SYMBOLS]

    def _reset(self) -> None:
        while self._stack:
            self._close(self._stack.pop(), self._last_end)
        self._depth = 0
        self._lead = None
        self._created = False
        self._previous = ";"

    # --- marks -------------------------------------------------------------------------------------

    def _mark(self, token: Token) -> None:
        top = self._stack[-1] if self._stack else None
        if token.text == "(":
            if top is not None and top.state == "header" and top.named and top.params is None:
                top.params = Span(token.end, token.end)
            self._depth += 1
        elif token.text == ")":
            self._close_parenthesis(token, top)
        elif token.text == ",":
            if top is not None and top.state in ("header", "item") and self._depth == top.base > 0:
                self._finish_declaration(token.start)
        elif token.text == ";":
            self._semicolon(token, top)

    def _close_parenthesis(self, token: Token, top: _Frame | None) -> None:
        if top is not None and top.base > 0 and self._depth == top.base and top.state in ("header", "item"):
            # The last method of an object type's list.
            self._finish_declaration(self._last_end)
            top = self._stack[-1] if self._stack else None
        self._depth = max(0, self._depth - 1)
        if top is None or top.params is None or top.state != "header" or self._depth != top.base:
            return
        if top.params.end_byte == top.params.start_byte:
            top.params = Span(top.params.start_byte, token.start)

    def _semicolon(self, token: Token, top: _Frame | None) -> None:
        self._lead = None
        self._created = False
        if top is None:
            self._depth = 0
        elif top.state in ("header", "item") and top.kind:
            self._depth = min(self._depth, top.base)
            self._finish_declaration(token.end)
        elif top.state == "end":
            self._close(self._stack.pop(), token.end)

    def _finish_declaration(self, end: int) -> None:
        frame = self._stack.pop()
        nested = bool(self._stack)
        if frame.state == "header" and nested and frame.kind in ("procedure", "function"):
            frame.kind += " declaration"
        self._close(frame, end)

    # --- words -------------------------------------------------------------------------------------

    def _word(self, token: Token) -> None:
        top = self._stack[-1] if self._stack else None
        if top is not None and top.state == "header" and not top.named:
            self._name(token, top)
        elif (top is not None and top.state == "end") or self._opens_unit(token, top):
            return
        elif top is not None and top.state == "header":
            self._header_word(token, top)
        elif top is not None and top.state != "item":
            self._code_word(token, top)
        elif token.text == "DECLARE" or (token.text == "BEGIN" and top is None):
            self._push_block("declare" if token.text == "DECLARE" else "body", token.start)

    def _name(self, token: Token, top: _Frame) -> None:
        if token.text == "BODY" and top.kind in ("package", "type") and self._previous in ("PACKAGE", "TYPE"):
            top.kind += " body"
            return
        if token.text in ("IF", "NOT", "EXISTS") and token.kind == "word":
            return
        rest = self._view[token.end : token.end + 1]
        if rest == b".":
            return
        top.path = (*self._outer_path(), token.name(self._view))
        top.named = True

    def _outer_path(self) -> tuple[str, ...]:
        for frame in reversed(self._stack[:-1]):
            if frame.kind:
                return frame.path
        return ()

    def _opens_unit(self, token: Token, top: _Frame | None) -> bool:
        """Take note of the words before a unit; open one at its keyword."""
        text = token.text
        if top is None and text in _CREATE_WORDS:
            if text == "CREATE":
                self._lead, self._created = token.start, True
                self._lead_doc = self._comments.above(token.start)
            return True
        if text in _METHOD_WORDS and self._may_declare(top):
            if self._lead is None:
                self._lead, self._lead_doc = token.start, self._comments.above(token.start)
            return True
        kind = self._unit_kind(text, top)
        if kind is None:
            if top is None:
                self._created = False
            self._lead = None
            return False
        self._open(kind, token)
        return True

    def _unit_kind(self, text: str, top: _Frame | None) -> str | None:
        if self._previous in _NOT_BEFORE_UNIT or not (top is None or self._may_declare(top)):
            return None
        starts = self._created or self._previous in (";", "IS", "AS", "DECLARE", "slash")
        if text in _SUBPROGRAMS:
            allowed = top is not None or starts or self._lead is not None or self._previous == "WITH"
            return text.lower() if allowed else None
        if top is None:
            if text == "PACKAGE" and starts:
                return "package"
            return text.lower() if text in ("TRIGGER", "TYPE") and self._created else None
        if top.state == "declare" and text in ("TYPE", "SUBTYPE", "CURSOR"):
            return "cursor" if text == "CURSOR" else "type"
        return None

    def _may_declare(self, top: _Frame | None) -> bool:
        if top is None:
            return False
        if top.state == "declare":
            return self._depth == top.base and self._previous in (
                ";",
                "IS",
                "AS",
                "DECLARE",
                "TRIGGER",
                *_METHOD_WORDS,
            )
        return top.kind == "type" and top.state == "item" and self._depth == top.base + 1

    def _open(self, kind: str, token: Token) -> None:
        if len(self._stack) >= _MAX_NESTING:
            return
        start = token.start if self._lead is None else self._lead
        frame = _Frame(kind, start, self._depth)
        frame.doc = self._comments.above(start) if self._lead is None else self._lead_doc
        self._lead = None
        self._stack.append(frame)

    def _header_word(self, token: Token, top: _Frame) -> None:
        text = token.text
        if self._depth != top.base or token.kind == "name":
            return
        if top.kind == "trigger":
            self._trigger_word(token, top)
        elif text in ("IS", "AS"):
            top.body = token.end
            top.state = "item" if top.kind in ("type", "cursor") else "declare"
        elif text in ("UNDER", "OBJECT") and top.kind == "type":
            top.state = "item"

    def _trigger_word(self, token: Token, top: _Frame) -> None:
        if token.text == "BEGIN":
            top.state, top.body = "body", token.start
        elif token.text == "DECLARE":
            top.state, top.body = "declare", token.start
        elif token.text == "COMPOUND":
            top.state, top.body, top.compound = "declare", token.end, True
        elif token.text == "CALL":
            top.state = "item"

    def _code_word(self, token: Token, top: _Frame) -> None:
        text = token.text
        if token.kind == "name" or self._previous == ".":
            return
        if text in _NO_BODY and top.state == "declare" and self._previous in ("IS", "AS"):
            top.state = "item"
        elif text == "BEGIN":
            if top.state == "declare" and not top.compound:
                top.state = "body"
            else:
                self._push_block("body", token.start)
        elif text == "DECLARE":
            self._push_block("declare", token.start)
        elif text in _BLOCK_ENDS:
            if self._previous != "END":
                self._push_block("body", token.start)
        elif text == "END":
            self._end(token)

    def _push_block(self, state: str, start: int) -> None:
        block = _Frame("", start, self._depth)
        block.state = state
        self._stack.append(block)

    def _end(self, token: Token) -> None:
        top = self._stack[-1]
        if top.kind:
            top.state = "end"
            self._depth = top.base
        else:
            self._stack.pop()
            self._depth = top.base

    # --- symbols -----------------------------------------------------------------------------------

    def _close(self, frame: _Frame, end: int) -> None:
        if not frame.kind or not frame.named:
            return
        start = frame.start if frame.doc is None else frame.doc.start_byte
        start = self._positions.line_start_if_blank(start)
        params = None
        if frame.params is not None and frame.kind.split()[0] in ("procedure", "function", "cursor"):
            params = parameter_types(self._view, frame.params)
        elif frame.kind.split()[0] in ("procedure", "function"):
            params = ""
        self._symbols.append(
            self._positions.symbol(
                frame.path,
                frame.kind,
                Span(start, max(start, end)),
                params=params,
                sig=Span(frame.start, min(end, frame.body or end)),
                doc=frame.doc,
                body=Span(frame.body, end) if frame.body else None,
            )
        )
