"""The part of a text that fits a reply, and exactly what is left of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.handle import BytesSelector, LinesSelector
from mcp_offload.models import Span
from mcp_offload.service.view import View
from mcp_offload.tokens import (
    LARGE_BYTES,
    MAX_TOKENS_PER_CHARACTER,
    TokenCounter,
    character_boundary,
    decode_bytewise,
    replace_surrogates,
)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a reply may cost. ``reserve`` is what its framing takes of it: handles, marker lines."""

    max_tokens: int
    max_bytes: int
    reserve_tokens: int = 0
    reserve_bytes: int = 0

    @property
    def text_tokens(self) -> int:
        """Tokens left for text."""
        return self.max_tokens - self.reserve_tokens

    @property
    def text_bytes(self) -> int:
        """Bytes of UTF-8 left for text."""
        return self.max_bytes - self.reserve_bytes


@dataclass(frozen=True, slots=True)
class Remainder:
    """What did not fit.

    Attributes:
        selector: names exactly ``span``: lines where it is made of whole lines, else bytes.
        lines: how many lines it touches.
        tokens: exact, or None where it is too large to be counted unasked.
    """

    selector: LinesSelector | BytesSelector
    span: Span
    lines: int
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """The text that fits.

    Attributes:
        text: as displayed; each byte of ``span`` that is not text appears as U+FFFD.
        span: the bytes shown; with those of ``rest`` they are exactly the bytes asked for.
        start_line, end_line: of ``span``; ``end_line`` is before ``start_line`` where it is empty.
        tokens: of ``text``, exact.
    """

    text: str
    span: Span
    start_line: int
    end_line: int
    tokens: int
    rest: Remainder | None


@dataclass(frozen=True, slots=True)
class Display:
    """How text is shown and counted.

    Attributes:
        counter: counts what is shown.
        show: makes text fit for showing; must give one character for each character, since what
            is shown is cut to the budget and then measured in bytes of the view.
        count_up_to_bytes: a remainder above this is not counted.
    """

    counter: TokenCounter
    show: Callable[[str], str] = replace_surrogates
    count_up_to_bytes: int = LARGE_BYTES


def window(
    view: View, span: Span, budget: Budget, display: Display, known_tokens: int | None = None
) -> Window:
    """Return as many whole lines of ``span`` as fit the budget, else a part of its first line.

    Asking for the span of the remainder gives the next part; it always makes progress. ``known_tokens``:
    of the whole span, where they have been counted before.

    Raises:
        InvalidArgumentError: the budget has no room for a single character.
    """
    if budget.text_tokens < MAX_TOKENS_PER_CHARACTER or budget.text_bytes < MAX_TOKENS_PER_CHARACTER:
        raise InvalidArgumentError(
            "No text fits such a reply; "
            f"ask for at least {budget.reserve_tokens + MAX_TOKENS_PER_CHARACTER} tokens."
        )
    text, size = _fitting(view, span, budget, display)
    shown = Span(span.start_byte, span.start_byte + size)
    first = view.line_of(span.start_byte) if view.size_bytes else 1
    return Window(
        text=text,
        span=shown,
        start_line=first,
        end_line=view.line_of(shown.end_byte - 1) if size else first - 1,
        tokens=display.counter.count(text) if known_tokens is None or shown != span else known_tokens,
        rest=_remainder(view, Span(shown.end_byte, span.end_byte), display),
    )


def _fitting(view: View, span: Span, budget: Budget, display: Display) -> tuple[str, int]:
    """Return the text that fits, as shown, and its size in bytes of the view."""
    limit = budget.text_bytes
    block = view.read(span.start_byte, min(span.end_byte, span.start_byte + limit + 1))
    complete = len(block) <= limit
    if not complete:
        block = block[: character_boundary(block, limit)]
    text = decode_bytewise(block)
    shown = display.show(text)
    length = display.counter.fit(_at_most_bytes(shown, limit), budget.text_tokens)
    if not complete or length < len(shown):
        length = shown.rfind("\n", 0, length) + 1 or length
    return shown[:length], len(text[:length].encode("utf-8", "surrogateescape"))


def _at_most_bytes(text: str, limit: int) -> str:
    data = text.encode()
    return text if len(data) <= limit else data[: character_boundary(data, limit)].decode()


def _remainder(view: View, span: Span, display: Display) -> Remainder | None:
    if span.start_byte >= span.end_byte:
        return None
    first, last = view.line_of(span.start_byte), view.line_of(span.end_byte - 1)
    tokens = None
    if span.end_byte - span.start_byte <= display.count_up_to_bytes:
        text = display.show(decode_bytewise(view.read(span.start_byte, span.end_byte)))
        tokens = display.counter.count(text)
    return Remainder(
        selector=(
            LinesSelector(first, last)
            if view.line_span(first, last) == span
            else BytesSelector(span.start_byte, span.end_byte)
        ),
        span=span,
        lines=last - first + 1,
        tokens=tokens,
    )
