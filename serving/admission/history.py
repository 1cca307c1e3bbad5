"""What requests and agents of a class did before: output lengths, peaks and tool times; pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque


class Sample:
    """The last values of one quantity, with what a reservation asks of them.

    Args:
        size: how many values are kept; older ones are forgotten.
    """

    def __init__(self, size: int = 512) -> None:
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []
        self._size = size

    def __len__(self) -> int:
        return len(self._sorted)

    def add(self, value: float) -> None:
        """Take one more value."""
        if len(self._recent) == self._size:
            oldest = self._recent.popleft()
            del self._sorted[bisect_left(self._sorted, oldest)]
        self._recent.append(value)
        insort(self._sorted, value)

    def quantile(self, part: float) -> float | None:
        """The smallest value that at least this part of them does not exceed; None without values."""
        if not self._sorted:
            return None
        return self._sorted[min(len(self._sorted) - 1, int(part * len(self._sorted)))]

    def moments(self, limit: float) -> tuple[float, float] | None:
        """Mean and variance with every value cut at ``limit``; None without values."""
        count = len(self._sorted)
        if not count:
            return None
        cut = [min(value, limit) for value in self._sorted]
        mean = sum(cut) / count
        return mean, sum((value - mean) ** 2 for value in cut) / count


class History:
    """Samples by agent class.

    A class is trusted once it has ``enough`` values; before, and for classes never seen, what all
    classes did together counts, and without that nothing does.

    Args:
        enough: values after which a class speaks for itself.
    """

    def __init__(self, enough: int = 8) -> None:
        self._enough = enough
        self._output: dict[str | None, Sample] = {}
        self._peak: dict[str | None, Sample] = {}
        self._idle: dict[str | None, Sample] = {}

    def wrote(self, agent_class: str, output_tokens: int) -> None:
        """A request of the class ended by itself after so many tokens."""
        _add(self._output, agent_class, output_tokens)

    def peaked(self, agent_class: str, context_tokens: int) -> None:
        """An agent of the class ended; its context never exceeded so many tokens."""
        _add(self._peak, agent_class, context_tokens)

    def paused(self, agent_class: str, idle_seconds: float) -> None:
        """An agent of the class came back after so long."""
        _add(self._idle, agent_class, idle_seconds)

    def output(self, agent_class: str, limit_tokens: int) -> tuple[float, float]:
        """Expected tokens of a request that may write so many, and their variance.

        Without enough experience the limit itself is expected, so that a new gate is strict.
        """
        sample = self._trusted(self._output, agent_class)
        moments = sample.moments(limit_tokens) if sample else None
        return moments or (float(limit_tokens), 0.0)

    def peak_tokens(self, agent_class: str, part: float) -> int:
        """The quantile of the class's peaks; 0 without enough experience."""
        sample = self._trusted(self._peak, agent_class)
        return int((sample.quantile(part) if sample else None) or 0)

    def idle_seconds(self, agent_class: str, part: float) -> float | None:
        """The quantile of the class's tool times; None without enough experience."""
        sample = self._trusted(self._idle, agent_class)
        return sample.quantile(part) if sample else None

    def _trusted(self, samples: dict[str | None, Sample], agent_class: str) -> Sample | None:
        for key in (agent_class, None):
            sample = samples.get(key)
            if sample is not None and len(sample) >= self._enough:
                return sample
        return None


def _add(samples: dict[str | None, Sample], agent_class: str, value: float) -> None:
    for key in (agent_class, None):
        samples.setdefault(key, Sample()).add(value)
