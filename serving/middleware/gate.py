"""The ledger behind an event loop: requests wait here for their lease."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable

from serving.admission import Admitted, Ask, Ledger, Outcome, Pool, Reason, Refused
from serving.middleware.settings import GateSettings, Mode


class DeniedError(Exception):
    """The gate refused a request."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.reason.value)
        self.refused = refused


class Gate:
    """One engine's ledger, for one event loop.

    In shadow mode everything is decided and counted the same way, but nobody waits and nothing is refused.

    Attributes:
        ledger: what decides.
        delayed: in shadow mode, requests that would have waited, by reason.
        denied: in shadow mode, requests that would have been refused, by reason.
    """

    def __init__(self, pool: Pool, settings: GateSettings, clock: Callable[[], float] | None = None) -> None:
        self.ledger = Ledger(pool, settings.policy)
        self.delayed: Counter[Reason] = Counter()
        self.denied: Counter[Reason] = Counter()
        self._mode = settings.mode
        self._loop = asyncio.get_running_loop()
        self._clock = clock or self._loop.time
        self._waiting: dict[str, asyncio.Future[Outcome]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self, ask: Ask) -> Admitted | None:
        """Wait until the request may run; None where it runs without a lease (shadow mode only).

        Cancelling the call gives the place in the queue up. What was acquired must be released.

        Raises:
            DeniedError: it may not run now, or never.
        """
        now = self._clock()
        refused = self.ledger.submit(ask, now)
        if refused is not None:
            return self._shadow_refusal(refused)
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting[ask.request_id] = future
        self.settle()
        if self._mode is not Mode.ON and not future.done():
            del self._waiting[ask.request_id]
            state = self.ledger.state().waiting
            self.delayed[next(iter(state), Reason.MEMORY)] += 1
            return None
        try:
            outcome = await future
        except asyncio.CancelledError:
            self._waiting.pop(ask.request_id, None)
            self.release(ask.request_id, complete=False)
            raise
        if isinstance(outcome, Refused):
            return self._shadow_refusal(outcome)
        return outcome

    def wrote(self, request_id: str, output_tokens: int) -> None:
        """See :meth:`Ledger.wrote`."""
        self.ledger.wrote(request_id, output_tokens)

    def release(self, request_id: str, *, output_tokens: int | None = None, complete: bool = True) -> None:
        """Give a lease back, or a place in the queue; whoever fits now runs."""
        self.ledger.release(request_id, self._clock(), output_tokens=output_tokens, complete=complete)
        self.settle()

    def restart(self, pool: Pool) -> None:
        """The engine started anew with this pool."""
        self.ledger.restart(pool, self._clock())
        self.settle()

    def settle(self) -> None:
        """Let whoever fits run, and wake again when time alone changes something."""
        now = self._clock()
        for outcome in self.ledger.settle(now):
            future = self._waiting.pop(outcome.request_id, None)
            if future is not None and not future.done():
                future.set_result(outcome)
            elif isinstance(outcome, Refused):
                self.denied[outcome.reason] += 1  # in shadow mode it runs all the same
        self._arm(now)

    def close(self) -> None:
        """Stop the timer; requests that wait are cancelled."""
        if self._timer is not None:
            self._timer.cancel()
        for future in self._waiting.values():
            future.cancel()

    def _shadow_refusal(self, refused: Refused) -> None:
        if self._mode is Mode.ON:
            raise DeniedError(refused)
        self.denied[refused.reason] += 1

    def _arm(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        change = self.ledger.next_change_seconds(now)
        if math.isfinite(change):
            self._timer = self._loop.call_later(max(0.0, change - now), self.settle)
