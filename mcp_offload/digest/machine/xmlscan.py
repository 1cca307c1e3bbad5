"""An incremental XML reader that knows on which line of the log each element stands."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol
from xml.parsers import expat

TEXT_LIMIT: Final = 128 * 1024
_DEPTH_LIMIT: Final = 256
# Control characters that XML 1.0 forbids; test runners copy them from what programs print.
_FORBIDDEN: Final = bytes(0x3F if c < 0x20 and c not in (9, 10, 13) else c for c in range(256))
_ENCODING: Final = re.compile(rb"^<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9_.-]+)")


class Dialect(Protocol):
    """What one XML format does with its elements; ``line`` is a line of the log."""

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Take the start of an element; return whether its text is wanted."""
        ...

    def end(self, name: str, text: str, line: int) -> None:
        """Take the end of an element with the text that was wanted."""
        ...


class _Stop(Exception):
    """The document is none of ours, or plays tricks with entities."""


class XmlScanner:
    """Feeds one dialect from bytes. Bad XML ends the reading; what came before it stays valid."""

    def __init__(self, choose: Callable[[str], Dialect | None]) -> None:
        self._choose = choose
        self._dialect: Dialect | None = None
        self._chunks: deque[tuple[int, bytes]] = deque()
        self._mark = 0
        self._line = 1
        self._offset = 0
        self._base = 0
        self._texts: list[list[str] | None] = []
        self._sizes: list[int] = []
        self._decoder: codecs.IncrementalDecoder | None = None
        self._dead = False
        self.ended = False
        self._parser = self._new_parser()

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # an entity nobody declared is skipped, not an error
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        return parser

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._dead or not chunk:
            return
        if not self._offset:
            chunk = self._open(chunk)
        chunk = self._clean(chunk)
        self._chunks.append((self._offset, chunk))
        self._offset += len(chunk)
        self._parse(chunk, final=False)

    def finish(self) -> bool:
        """End the input; True when the document was whole."""
        if not self._dead and self._offset and not self.ended:
            self._parse(b"", final=True)
        return self.ended

    def _open(self, chunk: bytes) -> bytes:
        """Blank out what may stand before the declaration; note which encoding is spoken."""
        body = chunk.removeprefix(b"\xef\xbb\xbf")
        blank = len(chunk) - len(body.lstrip())
        if chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return chunk
        found = _ENCODING.match(chunk[blank:])
        if found is None or found[1].lower() in (b"utf-8", b"utf8", b"us-ascii"):
            self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        # The bytes before "<" cannot be fed: a declaration must come first. They still count as lines.
        self._base = blank
        self._line += chunk.count(b"\n", 0, blank)
        self._mark = blank
        self._offset = blank
        return chunk[blank:]

    def _clean(self, chunk: bytes) -> bytes:
        """Replace what no XML parser takes by ``?``, byte for byte, so that offsets stay true."""
        if self._decoder is None:
            return chunk
        chunk = chunk.translate(_FORBIDDEN)
        if chunk.isascii() and self._decoder.getstate()[0] == b"":
            return chunk
        text = self._decoder.decode(chunk)
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            return re.sub("[\ud800-\udfff]", "?", text).encode("utf-8")

    def _parse(self, chunk: bytes, *, final: bool) -> None:
        rest = self._parse_one(chunk, final=final)
        while rest is not None:
            rest = self._parse_one(rest, final=False)

    def _parse_one(self, chunk: bytes, *, final: bool) -> bytes | None:
        """Parse up to the end of the chunk or of the document; what is left then is another document."""
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            if error.code == expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]:
                return self._restart(chunk)
            self._dead = True
        except _Stop:
            self._dead = True
        except (ValueError, LookupError):  # an encoding that Python does not know
            self._dead = True
        else:
            self._prune(self._base + max(0, self._parser.CurrentByteIndex))
        return None

    def _restart(self, chunk: bytes) -> bytes | None:
        """Make ready for a document that follows another; its bytes, or None where none does."""
        at = self._base + self._parser.ErrorByteIndex
        rest = chunk[max(0, at - (self._offset - len(chunk))) :]
        if not rest.startswith(b"<"):
            self._dead = True
            return None
        self._prune(at)
        self._base = at
        self.ended = False
        self._texts, self._sizes = [], []
        self._parser = self._new_parser()
        return rest

    def _prune(self, offset: int) -> None:
        """Advance the line counter to an offset and forget the bytes before it."""
        while self._chunks:
            start, data = self._chunks[0]
            end = start + len(data)
            low = max(self._mark, start) - start
            self._line += data.count(b"\n", low, max(low, min(offset, end) - start))
            self._mark = max(self._mark, min(offset, end))
            if end > offset:
                break
            self._chunks.popleft()

    def _here(self) -> int:
        self._prune(self._base + max(0, self._parser.CurrentByteIndex))
        return self._line

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rsplit(":", 1)[-1]
        if self._dialect is None:
            self._dialect = self._choose(name)
            if self._dialect is None:
                raise _Stop
        if len(self._texts) >= _DEPTH_LIMIT:
            raise _Stop
        wanted = self._dialect.start(name, attributes, self._here())
        self._texts.append([] if wanted else None)
        self._sizes.append(0)

    def _characters(self, text: str) -> None:
        if not self._texts:
            return
        parts = self._texts[-1]
        if parts is not None and self._sizes[-1] < TEXT_LIMIT:
            parts.append(text[:TEXT_LIMIT])
            self._sizes[-1] += len(text)

    def _end(self, tag: str) -> None:
        parts = self._texts.pop()
        self._sizes.pop()
        if self._dialect is not None:
            self._dialect.end(tag.rsplit(":", 1)[-1], "".join(parts or ()), self._here())
        if not self._texts:
            self.ended = True

    def _entity(self, *_: object) -> None:
        raise _Stop
