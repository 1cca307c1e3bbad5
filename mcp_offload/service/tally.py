"""Spending a budget of tokens on many short texts."""

from __future__ import annotations

from mcp_offload.tokens import TokenCounter


class Tally:
    """Takes texts while their tokens fit a budget.

    Exact, but cheaper than a count for each text: as a token stands for at least one byte, nothing is
    counted while the bytes fit, and what was not counted is counted in one go when they do not.
    """

    def __init__(self, counter: TokenCounter, max_tokens: int) -> None:
        self._counter = counter
        self._left = max_tokens
        self._uncounted: list[str] = []
        self._uncounted_bytes = 0

    def take(self, text: str) -> bool:
        """Spend the tokens of ``text`` if they fit; say whether they did."""
        size = len(text.encode("utf-8", "surrogatepass"))
        if self._uncounted_bytes + size <= self._left:
            self._uncounted.append(text)
            self._uncounted_bytes += size
            return True
        *earlier, tokens = self._counter.count_many([*self._uncounted, text])
        self._left -= sum(earlier)
        self._uncounted, self._uncounted_bytes = [], 0
        fits = tokens <= self._left
        if fits:
            self._left -= tokens
        return fits

    @property
    def left(self) -> int:
        """Tokens left."""
        self._left -= sum(self._counter.count_many(self._uncounted))
        self._uncounted, self._uncounted_bytes = [], 0
        return self._left
