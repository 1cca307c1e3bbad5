"""What one process has delivered to one session and not yet written to the ledger."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mcp_offload.lease import Delivery, LeaseState, Terms, deliver, left_tokens, unreserved
from mcp_offload.store.ledger_rows import NewContent, Use

MOST_WAITING: Final = 64
"""Deliveries that wait for one session; the next is written with all of them."""

Seen = tuple[object, tuple[int, ...]]
"""The session of the store and the size and times of its log when the catalog was last looked at."""


@dataclass(slots=True)
class Posting:
    """One delivery on its way to the ledger.

    Attributes:
        delivery: as sent; while ``text`` is not None, its tokens are as many as the text can have.
        text: what is still to be counted.
        count: gives the tokens of a text.
        current: the state as it stands before a delivery, given when it was last changed.
        uses: its parts by artifact, once it is counted.
        contents: what came into the session by it.
        at: POSIX seconds.
    """

    terms: Terms
    delivery: Delivery
    text: str | None
    count: Callable[[str], int]
    current: Callable[[LeaseState, float], LeaseState]
    uses: Callable[[Delivery], Sequence[Use]]
    contents: Sequence[NewContent] = ()
    at: float = 0.0

    def make_exact(self) -> None:
        """Count what is not counted yet."""
        if self.text is not None:
            self.delivery = replace(self.delivery, tokens=self.count(self.text))
            self.text = None

    def applied(self, state: LeaseState, used_at: float, *, sent: bool) -> LeaseState | None:
        """The state after it; None where it has not been ``sent`` and may not be."""
        after = deliver(self.terms, self.current(state, used_at), self.delivery, sent=sent)
        return None if after is None else replace(after, terms=self.terms)


@dataclass(slots=True)
class Tab:
    """One session's deliveries in this process; whoever reads or changes it holds ``lock``.

    Attributes:
        record: the ledger's row as last seen; None where there is none.
        state: what it says, without this process's reservation and with the deliveries that are exact.
        exact: how many of ``waiting`` are in ``state``.
        reserved_tokens: set aside in the ledger for what waits and comes next.
        dropped: it is in use no more; look for the session's tab again.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    seen: Seen | None = None
    record: str | None = None
    state: LeaseState = field(default_factory=LeaseState)
    used_at: float = 0.0
    waiting: list[Posting] = field(default_factory=list[Posting])
    exact: int = 0
    reserved_tokens: int = 0
    dropped: bool = False

    def show(self, owner: str, state: LeaseState, record: str | None, used_at: float) -> None:
        """Take over what the ledger says now."""
        self.record, self.exact = record, 0
        self.state, self.used_at = unreserved(state, owner), used_at
        self.reserved_tokens = state.reserved.get(owner, 0)

    def count(self) -> None:
        """Count what waits and is not counted yet."""
        for posting in self.waiting:
            posting.make_exact()

    def fold(self) -> None:
        """Bring every delivery that waits into the state, counting those that are not counted."""
        self.count()
        for posting in self.waiting[self.exact :]:
            after = posting.applied(self.state, self.used_at, sent=True)
            assert after is not None
            self.state, self.used_at = after, posting.at
            self.exact += 1

    def at_most(self) -> LeaseState:
        """The state in which all that is not counted yet costs the most that it can."""
        more = self._uncounted_tokens()
        room = None if self.state.room is None else self.state.room - more
        return replace(self.state, loose=self.state.loose + more, room=room) if more else self.state

    def has_room(self, posting: Posting) -> bool:
        """Whether a delivery is within what is set aside, and within the lease as it stands."""
        ahead = self.reserved_tokens - sum(one.delivery.tokens for one in self.waiting)
        left = left_tokens(posting.terms, posting.current(self.state, posting.at)) - self._uncounted_tokens()
        return posting.delivery.tokens <= min(ahead, left)

    def _uncounted_tokens(self) -> int:
        return sum(one.delivery.tokens for one in self.waiting[self.exact :])
