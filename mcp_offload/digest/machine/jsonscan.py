"""An incremental scanner that yields chosen parts of a JSON document with their line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

ITEM_LIMIT_BYTES: Final = 32 * 1024 * 1024
_DEPTH_LIMIT: Final = 512
_PATIENCE_BYTES: Final = 64 * 1024
_SCALAR_STARTS: Final = frozenset(b'"-0123456789tfnNI')
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\],:]|[^\s{}\[\],:"]+', re.S)
_OPEN: Final = frozenset((b"{", b"["))
_CLOSE: Final = frozenset((b"}", b"]"))

Want = Mapping[str, "Want"]
"""Which parts to yield: a tree of keys; ``#`` stands for any index, ``*`` for any
key or index, an empty tree for the value itself."""


class Item(NamedTuple):
    """One wanted value; ``line`` and ``end`` are counted from the first line fed."""

    path: tuple[str, ...]
    value: Any
    line: int
    end: int
    raw: bytes


class JsonError(ValueError):
    """The bytes are not JSON."""


class _Level:
    __slots__ = ("index", "is_list", "key", "want")

    def __init__(self, is_list: bool, want: Want) -> None:
        self.is_list = is_list
        self.want = want
        self.key: str | None = None
        self.index = 0


class JsonScanner:
    """Feed bytes, take items. Several documents may follow one another.

    Wanted values above ITEM_LIMIT_BYTES are passed over; ``skipped`` counts them.
    Raises JsonError from ``feed`` on what is not JSON.
    """

    def __init__(self, want: Want) -> None:
        self._root = want
        self._buffer = bytearray()
        self._threshold = 0
        self._mark = 0
        self._mark_line = 1
        self._levels: list[_Level] = []
        self._depth = 0
        self._capture: tuple[tuple[str, ...], int, int] | None = None
        self._scanned = 0
        self.roots = 0
        self.closed = 0
        self.skipped = 0
        self.root_kind = b""

    @property
    def complete(self) -> bool:
        """True when every document begun has also ended."""
        return self.closed > 0 and self.closed == self.roots and not self._levels and not self._depth

    def feed(self, chunk: bytes) -> Iterator[Item]:
        """Take bytes and yield the wanted values that end in them."""
        self._buffer += chunk
        if len(self._buffer) < self._threshold:
            return
        yield from self._scan()

    def finish(self) -> Iterator[Item]:
        """Yield what the last bytes complete."""
        self._buffer += b"\n"
        yield from self._scan()

    def _scan(self) -> Iterator[Item]:
        buffer = bytes(self._buffer)
        position = self._scanned
        for match in _TOKEN.finditer(buffer, position):
            token = match.group()
            if token[0] == 0x22:
                if not match.group(1):
                    break
            elif match.end() == len(buffer) and token not in b"{}[],:":
                break
            position = match.end()
            item = self._token(token, match.start(), position, buffer)
            if item is not None:
                yield item
        self._keep_tail(buffer, position)

    def _keep_tail(self, buffer: bytes, position: int) -> None:
        """Drop what is done with; wait for twice the rest before the next look at it."""
        start = position if self._capture is None else self._capture[1]
        if len(buffer) - start > ITEM_LIMIT_BYTES:
            self.skipped += 1
            self._capture = None
            start = position
        self._line_at(buffer, start)
        self._mark = 0
        self._buffer = bytearray(buffer[start:])
        self._scanned = position - start
        if self._capture is not None:
            self._capture = (self._capture[0], 0, self._capture[2])
        self._threshold = 2 * len(self._buffer) if len(self._buffer) > _PATIENCE_BYTES else 0
        if len(buffer) - position > 2 * ITEM_LIMIT_BYTES:
            raise JsonError("a string has no end")

    def _token(self, token: bytes, start: int, end: int, buffer: bytes) -> Item | None:
        if self._depth:
            return self._inside(token, end, buffer)
        if token in _CLOSE:
            return self._close(token)
        level = self._levels[-1] if self._levels else None
        if token == b",":
            if level is None:
                raise JsonError("a comma outside of everything")
            level.index += 1
            level.key = None
            return None
        if token == b":":
            if level is None or level.is_list:
                raise JsonError("a colon outside of an object")
            return None
        if level is not None and not level.is_list and level.key is None:
            if token[0] != 0x22:
                raise JsonError("an object's key is not a string")
            level.key = _text(token)
            return None
        return self._value(token, start, end, buffer, level)

    def _value(self, token: bytes, start: int, end: int, buffer: bytes, level: _Level | None) -> Item | None:
        if level is None:
            if token not in _OPEN:
                raise JsonError("neither an object nor an array")
            self.roots += 1
            self.root_kind = token
            want: Want | None = self._root
        else:
            want = level.want.get("#" if level.is_list else level.key or "", level.want.get("*"))
        if token in _OPEN:
            if want is None or (not want and level is not None):
                self._depth = 1
                self._capture = None if want is None else (self._path(), start, len(self._levels))
            elif len(self._levels) >= _DEPTH_LIMIT:
                raise JsonError("nested too deeply")
            else:
                self._levels.append(_Level(token == b"[", want))
            return None
        if token[0] not in _SCALAR_STARTS:
            raise JsonError("not a value")
        if want is None or want:
            return None
        return self._item(self._path(), token, start, end, buffer)

    def _inside(self, token: bytes, end: int, buffer: bytes) -> Item | None:
        if token in _OPEN:
            self._depth += 1
        elif token in _CLOSE:
            self._depth -= 1
            if not self._depth and self._capture is not None:
                path, start, _ = self._capture
                self._capture = None
                return self._item(path, buffer[start:end], start, end, buffer)
        return None

    def _close(self, token: bytes) -> None:
        if not self._levels or self._levels[-1].is_list != (token == b"]"):
            raise JsonError("a bracket too many")
        self._levels.pop()
        if not self._levels:
            self.closed += 1

    def _line_at(self, buffer: bytes, offset: int) -> int:
        """Return the line of an offset; offsets are asked for in rising order."""
        if offset > self._mark:
            self._mark_line += buffer.count(b"\n", self._mark, offset)
            self._mark = offset
        return self._mark_line

    def _path(self) -> tuple[str, ...]:
        return tuple(str(level.index) if level.is_list else level.key or "" for level in self._levels)

    def _item(self, path: tuple[str, ...], raw: bytes, start: int, end: int, buffer: bytes) -> Item | None:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise JsonError(str(error)) from error
        line = self._line_at(buffer, start)
        return Item(path, value, line, line + buffer.count(b"\n", start, end), raw)


def _text(token: bytes) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token[1:-1].decode("utf-8", "replace")
