"""How much context may run at once before decoding falls under a floor; pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepTime:
    """The time of a decode step as a straight line over the tokens in all running contexts.

    Reading the weights takes ``base_seconds`` whatever runs; reading the KV cache adds
    ``seconds_per_token`` for each token in context.
    """

    base_seconds: float
    seconds_per_token: float

    @staticmethod
    def from_bandwidth(
        weight_bytes: float, kv_bytes_per_token: float, bandwidth_bytes_per_second: float, efficiency: float
    ) -> StepTime:
        """The line that memory bandwidth sets.

        Args:
            weight_bytes: weights that a step reads, over all GPUs.
            kv_bytes_per_token: KV cache of a token, over all GPUs.
            bandwidth_bytes_per_second: of all GPUs together.
            efficiency: the part of it that is reached, from 0 to 1.
        """
        reached = bandwidth_bytes_per_second * efficiency
        return StepTime(weight_bytes / reached, kv_bytes_per_token / reached)

    def context_limit_tokens(self, floor_tokens_per_second: float, tokens_per_step: float = 1.0) -> int:
        """Tokens that may be in context while each stream still decodes at the floor; 0 where none may.

        Args:
            floor_tokens_per_second: of one stream.
            tokens_per_step: what a stream gains a step; above 1 under speculation.
        """
        room = tokens_per_step / floor_tokens_per_second - self.base_seconds
        if room <= 0:
            return 0
        return int(room / self.seconds_per_token) if self.seconds_per_token > 0 else 2**62


class StepFit:
    """Learns a node's :class:`StepTime` from what it was seen to do.

    A least-squares line in which older observations count less.

    Args:
        prior: the line believed at first; it weighs as much as ``prior_weight`` observations would.
        memory: the weight an observation keeps when the next one is made, from 0 to 1.
        prior_weight: observations that the prior stands for.
    """

    def __init__(
        self, prior: StepTime | None = None, memory: float = 0.98, prior_weight: float = 4.0
    ) -> None:
        self._memory = memory
        self._n = self._x = self._y = self._xx = self._xy = 0.0
        if prior is not None:
            for tokens in (10_000.0, 200_000.0):
                self._take(tokens, prior.base_seconds + tokens * prior.seconds_per_token, prior_weight / 2)

    def observe(self, context_tokens: float, step_seconds: float) -> None:
        """One decode step, or the mean of several at about the same context."""
        for name in ("_n", "_x", "_y", "_xx", "_xy"):
            setattr(self, name, getattr(self, name) * self._memory)
        self._take(context_tokens, step_seconds, 1.0)

    def line(self) -> StepTime | None:
        """The line as far as it is known; None without observations at two different contexts."""
        spread = self._n * self._xx - self._x * self._x
        if self._n <= 0 or spread <= 1e-9 * max(1.0, self._xx * self._n):
            return None
        slope = max(0.0, (self._n * self._xy - self._x * self._y) / spread)
        base = (self._y - slope * self._x) / self._n
        return StepTime(max(0.0, base), slope)

    def _take(self, tokens: float, seconds: float, weight: float) -> None:
        self._n += weight
        self._x += weight * tokens
        self._y += weight * seconds
        self._xx += weight * tokens * tokens
        self._xy += weight * tokens * seconds
