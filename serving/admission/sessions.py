"""Session leases: which live agents' cached prefixes are counted as taken; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from serving.admission.history import History
from serving.admission.model import Counters, Policy, Pool


@dataclass(slots=True)
class Session:
    """An agent as the gate sees it.

    Attributes:
        first_seconds: when it first asked; agents are served in this order.
        last_seconds: when it last asked or was answered.
        context_tokens: its prompt and output at the last answer.
        peak_tokens: the largest context so far.
        running: its requests that run.
        waiting: its requests that wait.
        lease_blocks: what its session lease holds; None without one.
        expires_seconds: when an idle lease ends.
    """

    session_id: str
    agent_class: str
    first_seconds: float
    last_seconds: float
    context_tokens: int = 0
    peak_tokens: int = 0
    running: int = 0
    waiting: int = 0
    lease_blocks: int | None = None
    expires_seconds: float = math.inf

    @property
    def idle(self) -> bool:
        """Whether it neither runs nor waits."""
        return not self.running and not self.waiting


class Sessions:
    """The sessions of one pool and their leases.

    A lease is soft: it admits nothing and blocks nothing that runs. It makes *new* agents wait while
    the projected peaks of those that hold one fill the share of the pool that ``share`` allows.
    """

    def __init__(self, pool: Pool, policy: Policy, history: History, counters: Counters) -> None:
        self._pool = pool
        self._policy = policy
        self._history = history
        self._counters = counters
        self._known: dict[str, Session] = {}
        self.share = math.inf
        self.blocks = 0
        self.holders = 0

    def __iter__(self) -> Iterator[Session]:
        return iter(self._known.values())

    def get(self, session_id: str) -> Session | None:
        """The session, None where it is not known."""
        return self._known.get(session_id)

    def resize(self, pool: Pool) -> None:
        """Count in the blocks of another pool; every lease ends, as no prefix is cached there."""
        for session in self._known.values():
            self._drop(session)
        self._pool = pool

    def ask(self, session_id: str, agent_class: str, now: float) -> Session:
        """The session as it asks for a request."""
        session = self._known.get(session_id)
        if session is None:
            session = self._known[session_id] = Session(session_id, agent_class, now, now)
        elif session.idle and session.context_tokens:
            self._history.paused(session.agent_class, now - session.last_seconds)
        session.last_seconds = now
        return session

    def has_room(self, session: Session, prompt_tokens: int) -> bool:
        """Whether a session may run as far as other agents' peaks go; holders always may."""
        if session.lease_blocks is not None or not self.holders:
            return True
        return self.blocks + self._projected(session, prompt_tokens) <= self._limit_blocks()

    def grant(self, session: Session, prompt_tokens: int) -> None:
        """Give, or renew, the lease of a session whose request is admitted."""
        if session.lease_blocks is None:
            self._counters.session_leases += 1
        self._set(session, self._projected(session, prompt_tokens))
        session.expires_seconds = math.inf
        session.running += 1
        session.peak_tokens = max(session.peak_tokens, prompt_tokens)

    def answered(self, session: Session, context_tokens: int, now: float) -> None:
        """A request of the session ended with so many tokens in context."""
        session.running -= 1
        session.last_seconds = now
        session.context_tokens = context_tokens
        session.peak_tokens = max(session.peak_tokens, context_tokens)
        if session.lease_blocks is not None:
            self._set(session, self._projected(session, context_tokens))
            if not session.running:
                session.expires_seconds = now + self._idle_seconds(session)

    def expire(self, now: float) -> None:
        """End leases of idle sessions whose time is over, and forget sessions long gone."""
        gone: list[str] = []
        for session in self._known.values():
            if not session.idle:
                continue
            if session.lease_blocks is not None and session.expires_seconds <= now:
                self._drop(session)
                self._counters.session_expiries += 1
            if session.lease_blocks is None and now - session.last_seconds > 2 * self._policy.idle_seconds:
                gone.append(session.session_id)
        for session_id in gone:
            self.end(session_id)

    def next_expiry_seconds(self) -> float:
        """When the next lease of an idle session ends; infinite where none does."""
        return min(
            (s.expires_seconds for s in self._known.values() if s.idle and s.lease_blocks is not None),
            default=math.inf,
        )

    def end(self, session_id: str) -> None:
        """The agent is done: its lease ends and its peak is learnt. Unknown sessions are no error."""
        session = self._known.get(session_id)
        if session is None or not session.idle:
            return
        del self._known[session_id]
        self._drop(session)
        if session.peak_tokens:
            self._history.peaked(session.agent_class, session.peak_tokens)

    def trim(self) -> None:
        """End the youngest agents' leases until the rest fit in the share; the oldest always stays."""
        holders = sorted(
            (s for s in self._known.values() if s.lease_blocks is not None), key=lambda s: s.first_seconds
        )
        while len(holders) > 1 and self.blocks > self._limit_blocks():
            self._drop(holders.pop())
            self._counters.session_breaks += 1

    def break_for(self, session: Session, prompt_tokens: int) -> bool:
        """End leases of idle agents, longest idle first, until the session has room; whether it has."""
        idle = sorted(
            (s for s in self._known.values() if s.idle and s.lease_blocks is not None and s is not session),
            key=lambda s: s.last_seconds,
        )
        for other in idle:
            if self.has_room(session, prompt_tokens):
                break
            self._drop(other)
            self._counters.session_breaks += 1
        return self.has_room(session, prompt_tokens)

    def reproject(self) -> None:
        """Size every lease anew after what was learnt since."""
        for session in self._known.values():
            if session.lease_blocks is not None:
                self._set(session, self._projected(session, session.context_tokens))

    def _projected(self, session: Session, context_tokens: int) -> int:
        peak_tokens = self._history.peak_tokens(session.agent_class, self._policy.peak_quantile)
        return self._pool.blocks_for(max(peak_tokens, session.peak_tokens, context_tokens))

    def _limit_blocks(self) -> float:
        return self.share * self._pool.leasable

    def _idle_seconds(self, session: Session) -> float:
        usual = self._history.idle_seconds(session.agent_class, self._policy.idle_quantile)
        longest = self._policy.idle_seconds
        return longest if usual is None else min(self._policy.idle_factor * usual, longest)

    def _set(self, session: Session, blocks: int) -> None:
        if session.lease_blocks is None:
            self.holders += 1
        self.blocks += blocks - (session.lease_blocks or 0)
        session.lease_blocks = blocks

    def _drop(self, session: Session) -> None:
        if session.lease_blocks is not None:
            self.blocks -= session.lease_blocks
            self.holders -= 1
            session.lease_blocks = None
            session.expires_seconds = math.inf
