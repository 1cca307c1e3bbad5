"""Exact counts of o200k tokens, the unit in which a model's context is budgeted here.

A count is the *sum over pieces*: text is cut into pieces of at most :data:`PIECE_BYTES` of UTF-8,
each ending at a line end where one falls inside it, else at a character boundary, and each piece is
counted exactly. For text up to that size the count is that of the whole; beyond it, a cut can only
add the tokens that would have spanned it (measured on source and logs: none in a million).

Bytes that are not UTF-8 and lone surrogates count as what a reader is shown in their place: one
U+FFFD for each such byte or surrogate.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

#: Size up to which text is counted in one go, in bytes of UTF-8.
PIECE_BYTES: Final = 64 * 1024
#: Above this many bytes a count is made only when somebody asks for it.
LARGE_BYTES: Final = 4_000_000
#: The most tokens that one character can cost: a token stands for at least one byte.
MAX_TOKENS_PER_CHARACTER: Final = 4

_ENCODING: Final = "o200k_base"
#: Length of the longest token of the vocabulary, in bytes. Source: o200k_base itself.
_LONGEST_TOKEN_BYTES: Final = 128
_NO_LIMIT: Final = 2**62
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UTF8_CONTINUATION: Final = 0b1000_0000
_UTF8_TOP_BITS: Final = 0b1100_0000


def replace_surrogates(text: str) -> str:
    """Return ``text`` with U+FFFD in place of each lone surrogate; the length stays the same."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def decode_bytewise(data: bytes) -> str:
    """Decode UTF-8, each byte that is no part of a valid sequence becoming one surrogate U+DC80-U+DCFF.

    Encoding any slice of the result with ``surrogateescape`` gives exactly the bytes it came from.
    """
    return data.decode("utf-8", "surrogateescape")


def shown(data: bytes) -> str:
    """Decode UTF-8 as a reader is shown it: one U+FFFD for each byte that is not text."""
    return replace_surrogates(decode_bytewise(data))


def character_boundary(data: bytes, offset: int) -> int:
    """Return the last character boundary of UTF-8 ``data`` at or before ``offset``.

    Where the three bytes before ``offset`` hold no boundary the bytes are not UTF-8, and ``offset``
    itself is returned.
    """
    for back in range(min(4, offset + 1)):
        at = offset - back
        if at >= len(data) or data[at] & _UTF8_TOP_BITS != _UTF8_CONTINUATION:
            return at
    return offset


def fits_surely(text: str, max_tokens: int) -> bool:
    """Return True where ``text`` fits without being counted: a token stands for at least one byte."""
    return len(text) <= max_tokens and len(text.encode("utf-8", "surrogatepass")) <= max_tokens


def _truncate(text: str, max_tokens: int) -> tuple[str, int]:
    """Cut ``text`` after ``max_tokens`` of its tokens; also return the tokens of all of it."""
    # Loading the vocabulary takes a third of a second; whoever only starts up need not pay it.
    import toktok

    return toktok.truncate(text, max_tokens, _ENCODING)


def _count_piece(text: str) -> int:
    return _truncate(text, _NO_LIMIT)[1]


def _piece_end(data: bytes, start: int) -> int:
    """Return where the piece of valid UTF-8 ``data`` that begins at ``start`` ends."""
    end = start + PIECE_BYTES
    if end >= len(data):
        return len(data)
    after_line = data.rfind(b"\n", start, end) + 1
    return after_line if after_line > start else character_boundary(data, end)


def _pieces(text: str) -> Iterator[str]:
    """Cut ``text``, free of surrogates, into pieces."""
    if len(text) * 4 <= PIECE_BYTES:
        yield text
        return
    data = text.encode()
    start = 0
    while start < len(data):
        end = _piece_end(data, start)
        yield data[start:end].decode()
        start = end


class TokenCounter:
    """Counts o200k tokens. Holds no state; may be shared by threads, which run in parallel."""

    def count(self, text: str | bytes) -> int:
        """Return the tokens of ``text``; see the module for what is counted."""
        clean = shown(text) if isinstance(text, bytes) else replace_surrogates(text)
        return sum(map(_count_piece, _pieces(clean)))

    def count_many(self, texts: Sequence[str | bytes]) -> list[int]:
        """Return the tokens of each text."""
        return [self.count(text) for text in texts]

    def count_stream(self, chunks: Iterable[bytes]) -> int:
        """Return the tokens of the concatenation of ``chunks`` in memory for a few pieces.

        However the bytes are chunked, the result is that of :meth:`count` on all of them.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        pending = b""
        total = 0
        for chunk in chunks:
            pending += replace_surrogates(decoder.decode(chunk)).encode()
            start = 0
            while len(pending) - start > PIECE_BYTES:
                end = _piece_end(pending, start)
                total += _count_piece(pending[start:end].decode())
                start = end
            pending = pending[start:]
        pending += replace_surrogates(decoder.decode(b"", final=True)).encode()
        return total + self.count(pending)

    def fit(self, text: str, max_tokens: int) -> int:
        """Return how many leading characters of ``text`` fit into ``max_tokens``.

        As many whole lines as fit, or, where not even the first does, a part of it that ends at a
        character boundary. ``count`` of that prefix never exceeds ``max_tokens``. With
        :data:`MAX_TOKENS_PER_CHARACTER` tokens or more at least one character fits.
        """
        if max_tokens <= 0:
            return 0
        clean = replace_surrogates(text)
        if fits_surely(clean, max_tokens):
            return len(clean)
        inside = self._cut(clean, max_tokens)
        if inside == len(clean):
            return inside
        lines = clean.rfind("\n", 0, inside) + 1
        # The tokens of a prefix do not strictly grow with its length ("hell", "hello"): both the
        # cut at the line end and the line after it are counted, not inferred.
        while lines and self.count(clean[:lines]) > max_tokens:
            lines = clean.rfind("\n", 0, lines - 1) + 1
        while lines < len(clean):
            longer = clean.find("\n", lines) + 1 or len(clean)
            if self._over(clean[lines:longer], clean[:longer], max_tokens):
                break
            lines = longer
        return lines or self._cut(clean[: clean.find("\n") + 1 or len(clean)], max_tokens)

    def _over(self, line: str, prefix: str, max_tokens: int) -> bool:
        """Say whether ``prefix``, which ends in ``line``, exceeds the budget; a huge line is not counted."""
        return len(line) > _LONGEST_TOKEN_BYTES * max_tokens or self.count(prefix) > max_tokens

    def _cut(self, text: str, max_tokens: int) -> int:
        """Return the length of a prefix of ``text`` that fits, cut at a token's end near the limit."""
        kept, left = 0, max_tokens
        for piece in _pieces(text):
            head, tokens = _truncate(piece, left)
            if tokens > left:
                kept += len(head)
                break
            kept, left = kept + len(piece), left - tokens
        step = 1
        while kept and self.count(text[:kept]) > max_tokens:
            kept, step = max(0, kept - step), step * 2
        return kept or self._first_character(text, max_tokens)

    def _first_character(self, text: str, max_tokens: int) -> int:
        return 1 if text and self.count(text[0]) <= max_tokens else 0
