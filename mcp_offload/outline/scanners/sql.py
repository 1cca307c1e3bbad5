"""Plain SQL: what each statement creates, with the columns of tables; other statements by a label.

``CREATE TABLE users`` is ``users``, its columns ``users.id``; an INSERT is ``<insert:users>``, a run of
equal ones is one symbol. Reads the dialects of PostgreSQL (dollar quotes, COPY data), MySQL (DELIMITER),
SQL Server (GO), SQLite and Oracle's plain DDL.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS, clean_name, clean_text
from mcp_offload.outline.scanners.positions import Positions
from mcp_offload.outline.scanners.sql_tokens import MYSQL, SQL, CommentsAbove, Token, tokens

_MYSQL_MARKS: Final = re.compile(
    rb"^[ \t]*DELIMITER[ \t]+\S|ENGINE[ \t]*=[ \t]*\w+|AUTO_INCREMENT", re.I | re.M
)
_COPY_DATA: Final = re.compile(
    rb"^COPY[ \t]+([^;\n]{1,200}?)(?:[ \t]*\([^;\n]{0,2000})?[ \t]+FROM[ \t]+stdin\b[^\n]*;\r?$", re.I | re.M
)
_COPY_END: Final = re.compile(rb"^\\\.\r?$", re.M)
_DELIMITER: Final = re.compile(rb"[ \t]+(\S+)[^\n]*")

_RELATIONS: Final = "TABLE VIEW INDEX SEQUENCE TYPE SCHEMA DATABASE DOMAIN SYNONYM TABLESPACE COLLATION"
_CODE: Final = "FUNCTION PROCEDURE PROC TRIGGER EVENT PACKAGE AGGREGATE OPERATOR RULE POLICY MACRO LANGUAGE"
_OTHERS: Final = "EXTENSION ROLE USER SERVER PUBLICATION SUBSCRIPTION"
_OBJECTS: Final = frozenset(f"{_RELATIONS} {_CODE} {_OTHERS}".split())
_ROUTINES: Final = frozenset(["FUNCTION", "PROCEDURE", "PROC", "TRIGGER", "EVENT", "PACKAGE"])
_BEFORE_NAME: Final = frozenset(["IF", "NOT", "EXISTS", "CONCURRENTLY", "ONLY", "BODY"])
_TARGET_WORDS: Final = frozenset(
    ["INTO", "FROM", "TABLE", "UPDATE", "VIEW", "INDEX", "FUNCTION", "PROCEDURE", "ON"]
)
_NO_COLUMNS: Final = frozenset(
    [
        "CONSTRAINT",
        "PRIMARY",
        "FOREIGN",
        "UNIQUE",
        "CHECK",
        "KEY",
        "INDEX",
        "LIKE",
        "EXCLUDE",
        "PERIOD",
        "FULLTEXT",
    ]
)
_NOT_BLOCK_ENDS: Final = frozenset(["IF", "LOOP", "WHILE", "REPEAT", "FOR"])
_TRANSACTION: Final = frozenset(["TRAN", "TRANSACTION", "WORK"])
_HEAD_WORDS: Final = 24


def scan(view: bytes) -> list[Symbol]:
    """Symbols of a script of SQL statements."""
    return _Scanner(view).scan()


class _Statement:
    """A statement whose end is not reached yet."""

    def __init__(self, token: Token, doc: Span | None) -> None:
        self.start = token.start
        self.doc = doc
        self.verb = token.text
        self.kind = ""
        self.name = ""
        self.target = ""
        self.words = 0
        self.named_at = -1
        self.params: Span | None = None
        self.list_open = False
        self.columns: list[tuple[str, int, int]] = []
        self.column: tuple[str, int] | None = None
        self.routine = token.text in ("BEGIN", "DECLARE")
        self.blocks = 0


class _Scanner:
    def __init__(self, view: bytes) -> None:
        self._view = view
        self._positions = Positions(view)
        self._comments = CommentsAbove(self._positions)
        self._symbols: list[Symbol] = []
        self._statement: _Statement | None = None
        self._depth = 0
        self._last: Token | None = None
        self._ending = False
        self._delimiter = b""
        self._skip_to = 0
        self._label: tuple[str, int, int] | None = None

    def scan(self) -> list[Symbol]:
        pattern = MYSQL if _MYSQL_MARKS.search(self._view) else SQL
        start = 0
        for copy in _COPY_DATA.finditer(self._view):
            if copy.start() >= start:
                self._read(pattern, start, copy.start())
                start = self._copy(copy)
        self._read(pattern, start, len(self._view))
        self._flush_label()
        return self._symbols[:MAX_SYMBOLS]

    def _copy(self, copy: re.Match[bytes]) -> int:
        """A block of COPY data is one symbol, whatever quotes stand in it."""
        end = _COPY_END.search(self._view, copy.end())
        last = len(self._view) if end is None else end.end()
        name = clean_name(copy[1].rpartition(b".")[2].strip(b'" '))
        self._flush_label()
        self._symbols.append(
            self._positions.symbol((f"<copy:{name}>",), "statement", Span(copy.start(), last))
        )
        return last

    def _read(self, pattern: re.Pattern[bytes], start: int, end: int) -> None:
        for token in tokens(pattern, self._view, start, end):
            if token.start < self._skip_to:
                continue
            if token.kind == "comment":
                self._comments.comment(token)
                continue
            if not self._terminates(token):
                self._token(token)
            self._last = token
            self._comments.code(token)
        self._end(self._last.end if self._last else end)

    # --- where statements end ----------------------------------------------------------------------

    def _terminates(self, token: Token) -> bool:
        if token.kind in ("slash", "command") or (token.text in ("GO", "DELIMITER") and self._alone(token)):
            self._end(self._last.end if self._last else token.start)
            return True
        if self._delimiter:
            at = self._delimited(token)
            if at < 0:
                return False
            self._end(at)
            self._skip_to = at + len(self._delimiter)
            return True
        if token.text != ";":
            return False
        self._settle_end("")
        if self._statement is not None and self._statement.routine and self._statement.blocks > 0:
            return False
        self._end(token.end)
        return True

    def _delimited(self, token: Token) -> int:
        """Where the delimiter set last begins, or -1; a word may run into it (``END$$``)."""
        if self._view.startswith(self._delimiter, token.start):
            return token.start
        return self._view.find(self._delimiter, token.start, token.end) if token.kind == "word" else -1

    def _alone(self, token: Token) -> bool:
        """True for GO on a line of its own; takes the new delimiter of a DELIMITER line."""
        line = self._positions.line_of(token.start)
        if self._view[self._positions.start_of(line) : token.start].strip():
            return False
        if token.text == "GO":
            return not self._view[token.end : self._positions.end_of(line)].strip()
        found = _DELIMITER.match(self._view, token.end, self._positions.end_of(line))
        if found is None:
            return False
        self._delimiter = b"" if found[1] == b";" else found[1]
        self._skip_to = self._positions.end_of(line)
        return True

    # --- what statements say -----------------------------------------------------------------------

    def _token(self, token: Token) -> None:
        statement = self._statement
        if statement is None:
            if token.kind in ("word", "name"):
                self._statement = _Statement(token, self._comments.above(token.start))
                self._depth = 0
                self._ending = False
            return
        if token.kind == "mark":
            self._mark(token, statement)
        elif token.kind in ("word", "name"):
            if statement.routine:
                self._block_word(token.text, statement)
            self._word(token, statement)

    def _word(self, token: Token, statement: _Statement) -> None:
        statement.words += 1
        if statement.list_open and self._depth == 1:
            self._column(token, statement)
        elif statement.words > _HEAD_WORDS or self._depth > 0:
            return
        elif statement.verb in ("CREATE", "ALTER") and not statement.kind and token.text in _OBJECTS:
            statement.kind = token.text
            statement.routine = token.text in _ROUTINES
        elif self._names(token, statement):
            self._name(token, statement)
        elif not statement.target and self._last is not None and self._last.text in _TARGET_WORDS | {"."}:
            self._target(token, statement)
        if statement.verb == "UPDATE" and statement.words == 1:
            self._target(token, statement)

    def _names(self, token: Token, statement: _Statement) -> bool:
        """True for the name of what is created, and for each further part of a dotted one."""
        if not statement.name:
            return statement.kind != "" and token.text not in _BEFORE_NAME
        return self._after(".") and statement.named_at == statement.words - 1

    def _name(self, token: Token, statement: _Statement) -> None:
        if statement.kind == "INDEX" and token.text == "ON":
            statement.kind = ""
            return
        statement.name = token.name(self._view)
        statement.named_at = statement.words

    def _target(self, token: Token, statement: _Statement) -> None:
        if self._view[token.end : token.end + 1] != b"." and token.text not in _BEFORE_NAME:
            statement.target = token.name(self._view)

    def _after(self, text: str) -> bool:
        return self._last is not None and self._last.text == text

    def _column(self, token: Token, statement: _Statement) -> None:
        if (
            statement.column is None
            and (self._after("(") or self._after(","))
            and token.text not in _NO_COLUMNS
        ):
            statement.column = (token.name(self._view), token.start)

    def _mark(self, token: Token, statement: _Statement) -> None:
        if token.text == "(":
            if self._depth == 0 and statement.name and statement.words == statement.named_at:
                statement.list_open = statement.kind == "TABLE" and statement.verb == "CREATE"
                statement.params = Span(token.start, token.start)
            self._depth += 1
        elif token.text == ",":
            if self._depth == 1:
                self._close_column(statement)
        elif token.text == ")":
            self._depth = max(0, self._depth - 1)
            if self._depth == 0:
                self._close_column(statement)
                statement.list_open = False
                if statement.params is not None and statement.params.end_byte == statement.params.start_byte:
                    statement.params = Span(statement.params.start_byte, token.end)

    def _close_column(self, statement: _Statement) -> None:
        if statement.column is not None and self._last is not None:
            name, start = statement.column
            statement.columns.append((name, start, self._last.end))
        statement.column = None

    def _block_word(self, word: str, statement: _Statement) -> None:
        """Count BEGIN and CASE against END; END IF and its like close nothing that was counted."""
        self._settle_end(word)
        if word in ("BEGIN", "CASE") and not self._after("END"):
            statement.blocks += 1
        elif word in _TRANSACTION and self._after("BEGIN"):
            statement.blocks -= 1
        elif word == "END":
            self._ending = True

    def _settle_end(self, following: str) -> None:
        if self._ending and self._statement is not None:
            self._statement.blocks -= following not in _NOT_BLOCK_ENDS
        self._ending = False

    # --- symbols -----------------------------------------------------------------------------------

    def _end(self, end: int) -> None:
        statement, self._statement = self._statement, None
        self._depth = 0
        self._ending = False
        if statement is None:
            return
        start = self._positions.line_start_if_blank(
            statement.doc.start_byte if statement.doc else statement.start
        )
        if not statement.name or statement.verb != "CREATE":
            self._labelled(statement, start, end)
            return
        self._flush_label()
        kind = {"PROC": "procedure"}.get(statement.kind, statement.kind.lower())
        params = None
        if statement.params is not None and statement.kind in ("FUNCTION", "PROCEDURE", "PROC"):
            params = self._view[statement.params.start_byte : statement.params.end_byte].decode(
                "utf-8", "replace"
            )
        path = (statement.name,)
        span = Span(start, max(start, end))
        self._symbols.append(self._positions.symbol(path, kind, span, params=params, doc=statement.doc))
        for name, column_start, column_end in statement.columns:
            column = Span(self._positions.line_start_if_blank(column_start), column_end)
            self._symbols.append(self._positions.symbol((*path, name), "column", column))

    def _labelled(self, statement: _Statement, start: int, end: int) -> None:
        target = statement.name or statement.target
        label = f"<{clean_text(statement.verb.lower() or 'statement')}{':' + target if target else ''}>"
        if self._label is not None and self._label[0] == label:
            self._label = (label, self._label[1], end)
            return
        self._flush_label()
        self._label = (label, start, end)

    def _flush_label(self) -> None:
        if self._label is not None:
            label, start, end = self._label
            self._symbols.append(self._positions.symbol((label,), "statement", Span(start, max(start, end))))
        self._label = None
