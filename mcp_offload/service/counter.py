"""Counting tokens in the parser process, so that a server never has to load the vocabulary itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_offload.parsing import ParserWorker, WorkerUnavailableError
from mcp_offload.tokens import TokenCounter, fits_surely, replace_surrogates


class WorkerCounter(TokenCounter):
    """Counts in the parser process where that runs, and with the vocabulary loaded here where not.

    Loading the vocabulary holds the interpreter lock for a third of a second, in which nothing else
    happens, not even the end of the process on a signal; asking costs a tenth of a millisecond. Once it
    has been loaded, because the process was not running, was lost or was busy for seconds, it is used.
    Both count alike.
    """

    def __init__(self, worker: ParserWorker) -> None:
        self._worker = worker
        self._local = False
        # What the last fit left: the same text is counted next, as a rule.
        self._fitted: tuple[str, int] = ("", 0)

    def count(self, text: str | bytes) -> int:
        """Return the tokens of ``text``."""
        fitted = self._fitted
        return fitted[1] if text == fitted[0] else self.count_many([text])[0]

    def count_many(self, texts: Sequence[str | bytes]) -> list[int]:
        """Return the tokens of each text, for the price of asking once."""
        if self._asks and texts:
            try:
                return self._worker.count([_encoded(text) for text in texts])
            except WorkerUnavailableError:
                self._local = True
        return [super(WorkerCounter, self).count(text) for text in texts]

    def count_stream(self, chunks: Iterable[bytes]) -> int:
        """Return the tokens of the concatenation of ``chunks``, held in memory where it is sent."""
        return self.count(b"".join(chunks)) if self._asks else super().count_stream(chunks)

    def fit(self, text: str, max_tokens: int) -> int:
        """Return how many leading characters of ``text`` fit into ``max_tokens``."""
        clean = replace_surrogates(text)
        if max_tokens > 0 and self._asks and not fits_surely(clean, max_tokens):
            try:
                length, tokens = self._worker.fit(clean.encode(), max_tokens)
            except WorkerUnavailableError:
                self._local = True
            else:
                self._fitted = (text[:length], tokens)
                return length
        return super().fit(text, max_tokens)

    @property
    def _asks(self) -> bool:
        if not self._local and not self._worker.started:
            self._local = True
        return not self._local


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else replace_surrogates(text).encode()
