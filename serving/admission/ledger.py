"""The lease ledger: which requests run, which wait, and for what. Pure: time is an argument."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from serving.admission.history import History
from serving.admission.model import (
    Admitted,
    Ask,
    Counters,
    Outcome,
    Policy,
    Pool,
    Reason,
    Refused,
    Reserve,
    State,
)
from serving.admission.sessions import Session, Sessions
from serving.admission.waiting import Queue, Waiting


@dataclass(slots=True)
class _Run:
    ask: Ask
    session: Session
    blocks: int
    variance: float
    started_seconds: float
    output_tokens: int = 0
    overrun_blocks: int = 0

    @property
    def context_tokens(self) -> int:
        return self.ask.prompt_tokens + self.output_tokens


class Ledger:
    """Leases one pool's KV-cache blocks to requests and to live agents before they run.

    A *run lease* is hard: the leases of all that run never exceed ``pool.leasable``. A *session lease*
    is soft, see :class:`~serving.admission.sessions.Sessions`.

    Not safe for threads. Every method that may free something is followed by :meth:`settle`, which says
    what may run now. Times are seconds on any clock that never goes back.
    """

    def __init__(self, pool: Pool, policy: Policy, history: History | None = None) -> None:
        self.counters = Counters()
        self.history = history or History()
        self._pool = pool
        self._policy = policy
        self._sessions = Sessions(pool, policy, self.history, self.counters)
        self._queue = Queue()
        self._running: dict[str, _Run] = {}
        self._context_limit_tokens: int | None = None
        self._leased = 0
        self._overrun = 0
        self._variance = 0.0
        self._context_tokens = 0
        self._order = 0
        self._run_seconds = 0.0

    @property
    def pool(self) -> Pool:
        """The blocks that are leased."""
        return self._pool

    def output_limit_tokens(self, prompt_tokens: int) -> int:
        """What a request of this prompt may write so that its run lease can exist; 0 where none can."""
        room = self._pool.leasable_tokens - prompt_tokens - self._policy.look_ahead_tokens
        return max(0, room)

    def submit(self, ask: Ask, now: float) -> Refused | None:
        """Take a request; None where it waits and :meth:`settle` will answer it.

        Raises:
            ValueError: the identifier waits or runs already.
        """
        if ask.request_id in self._running or ask.request_id in self._queue:
            raise ValueError(f"request {ask.request_id} is known already")
        if self._demand(ask)[0] > self._pool.leasable:
            return self._refuse(Refused(ask.request_id, ask.session_id, Reason.TOO_LARGE, None))
        if len(self._queue) >= self._policy.queue_limit:
            wait = self.estimated_wait_seconds(ask, now)
            return self._refuse(Refused(ask.request_id, ask.session_id, Reason.QUEUE_FULL, wait))
        session = self._sessions.ask(ask.session_id, ask.agent_class, now)
        self._order += 1
        self._queue.add(Waiting(ask, session, now, self._order))
        return None

    def settle(self, now: float) -> list[Outcome]:
        """Admit what fits and refuse what waited too long, in that order of turn."""
        self._sessions.expire(now)
        outcomes: list[Outcome] = []
        for entry in self._queue.ordered(now, self._policy.patience_seconds):
            if self._demand(entry.ask)[0] > self._pool.leasable:
                outcomes.append(self._outgrown(entry, now))
                continue
            reason = self._blocked_by(entry, now)
            if reason is None:
                outcomes.append(self._admit(entry, now))
                continue
            if entry.ask.deadline_seconds <= now:
                outcomes.append(self._expired(entry, now))
                continue
            if entry.reason is None:
                self.counters.waited[reason] = self.counters.waited.get(reason, 0) + 1
            entry.reason = reason
            if reason is not Reason.SESSIONS and now - entry.since_seconds >= self._policy.patience_seconds:
                outcomes.extend(self._expire_rest(now))
                break  # nothing overtakes it any more, so that what is freed comes to it
        return outcomes

    def wrote(self, request_id: str, output_tokens: int) -> None:
        """A running request has written so many tokens in all; its lease grows where it must.

        A lease that cannot grow is counted as overrun; the request is never stopped for it.
        """
        run = self._running.get(request_id)
        if run is None or output_tokens <= run.output_tokens:
            return
        self._context_tokens += output_tokens - run.output_tokens
        run.output_tokens = output_tokens
        need = self._pool.blocks_for(run.context_tokens + self._policy.look_ahead_tokens)
        if need <= run.blocks:
            return
        left = max(0, run.ask.max_output_tokens - output_tokens)
        step_tokens = min(self._policy.renew_tokens, left) + self._policy.look_ahead_tokens
        want = max(need, self._pool.blocks_for(run.context_tokens + step_tokens))
        room = self._pool.leasable - self._leased
        grown = min(want - run.blocks, room)
        run.blocks += grown
        self._leased += grown
        self._set_overrun(run, max(0, need - run.blocks))

    def release(
        self, request_id: str, now: float, *, output_tokens: int | None = None, complete: bool = True
    ) -> None:
        """A running request ended, or a waiting one was given up. An unknown one is no error.

        Args:
            request_id: as in its :class:`Ask`.
            now: the moment.
            output_tokens: what it wrote in all, where that is known better than :meth:`wrote` said.
            complete: whether it ended by itself, so that its length says something of its class.
        """
        run = self._running.pop(request_id, None)
        if run is None:
            self._queue.remove(request_id)
            return
        written = run.output_tokens if output_tokens is None else output_tokens
        self._context_tokens -= run.context_tokens
        self._leased -= run.blocks
        self._variance -= run.variance
        self._set_overrun(run, 0)
        if not self._running:
            self._variance = 0.0
        seconds = max(0.0, now - run.started_seconds)
        self._run_seconds = seconds if not self._run_seconds else 0.9 * self._run_seconds + 0.1 * seconds
        self.counters.released += 1
        if complete:
            self.history.wrote(run.ask.agent_class, written)
        self._sessions.answered(run.session, run.ask.prompt_tokens + written, now)

    def end_session(self, session_id: str) -> None:
        """An agent said that it is done."""
        self._sessions.end(session_id)

    def set_context_limit(self, limit_tokens: int | None) -> None:
        """Admit no request that brings the running contexts above so many tokens; None for no limit."""
        self._context_limit_tokens = limit_tokens

    def set_session_share(self, share: float, *, trim: bool = True) -> None:
        """Let session leases come to this share of the pool.

        Args:
            share: of the leasable blocks.
            trim: end the youngest agents' leases until the rest fit; else only new agents wait.
        """
        self._sessions.share = share
        self._sessions.reproject()
        if trim:
            self._sessions.trim()

    def restart(self, pool: Pool, now: float) -> list[str]:
        """The engine started anew with this pool: the requests that ran are lost and named.

        What waits goes on waiting; what no longer fits is refused by the next :meth:`settle`.
        """
        lost = list(self._running)
        for request_id in lost:
            self.release(request_id, now, complete=False)
        self._pool = pool
        self._sessions.resize(pool)
        return lost

    def next_change_seconds(self, now: float) -> float:
        """When :meth:`settle` has something to do although nothing is released; infinite where never."""
        if not len(self._queue):
            return math.inf
        moments = [self._sessions.next_expiry_seconds()]
        for entry in self._queue:
            moments.append(entry.ask.deadline_seconds)
            moments.append(entry.since_seconds + self._policy.patience_seconds)
            moments.append(entry.since_seconds + self._policy.session_patience_seconds)
        return min((moment for moment in moments if moment > now), default=math.inf)

    def estimated_wait_seconds(self, ask: Ask, now: float) -> float:
        """When what runs will have freed enough for the request and for all that waits before it.

        Requests are taken to run as long as they did on average; at least one second.
        """
        need = self._demand(ask)[0] + sum(self._demand(entry.ask)[0] for entry in self._queue)
        free = self._pool.leasable - self._leased
        typical = self._run_seconds or 1.0
        if need <= free:
            return 1.0
        ends = sorted((run.started_seconds + typical - now, run.blocks) for run in self._running.values())
        for end, blocks in ends:
            free += blocks
            if need <= free:
                return max(1.0, end)
        rounds = math.ceil((need - free) / max(1, self._pool.leasable))
        return max(1.0, (ends[-1][0] if ends else 0.0) + rounds * typical)

    def state(self) -> State:
        """The ledger now."""
        waiting = Counter(entry.reason or Reason.MEMORY for entry in self._queue)
        return State(
            leasable=self._pool.leasable,
            leased=self._leased,
            tail=self._tail_blocks(0.0),
            overrun=self._overrun,
            running=len(self._running),
            running_tokens=self._context_tokens,
            waiting=dict(waiting),
            sessions=self._sessions.holders,
            session_blocks=self._sessions.blocks,
            session_share=self._sessions.share,
            context_limit_tokens=self._context_limit_tokens,
        )

    def _demand(self, ask: Ask) -> tuple[int, float]:
        """Blocks of the run lease a request asks for, and the variance of its output in blocks."""
        written, variance = float(ask.max_output_tokens), 0.0
        if self._policy.reserve is Reserve.EXPECTED:
            written, variance = self.history.output(ask.agent_class, ask.max_output_tokens)
        tokens = ask.prompt_tokens + math.ceil(written) + self._policy.look_ahead_tokens
        return self._pool.blocks_for(tokens), variance / self._pool.block_tokens**2

    def _tail_blocks(self, variance: float) -> int:
        if self._policy.reserve is Reserve.STRICT:
            return 0
        deviations = math.sqrt(max(0.0, self._variance + variance))
        return math.ceil(self._policy.tail_deviations * deviations)

    def _blocked_by(self, entry: Waiting, now: float) -> Reason | None:
        ask, session = entry.ask, entry.session
        alone = not self._running
        waited_long = now - entry.since_seconds >= self._policy.session_patience_seconds
        has_room = self._sessions.has_room(session, ask.prompt_tokens)
        if not (has_room or alone or waited_long):
            return Reason.SESSIONS
        blocks, variance = self._demand(ask)
        taken = self._leased + self._overrun + (0 if alone else self._tail_blocks(variance))
        if taken + blocks > self._pool.leasable:
            return Reason.MEMORY
        limit = self._context_limit_tokens
        if limit is not None and not alone and self._context_tokens + ask.prompt_tokens > limit:
            return Reason.VELOCITY
        if has_room or self._sessions.break_for(session, ask.prompt_tokens) or alone:
            return None
        return Reason.SESSIONS

    def _admit(self, entry: Waiting, now: float) -> Admitted:
        ask = entry.ask
        blocks, variance = self._demand(ask)
        self._queue.remove(ask.request_id)
        self._queue.served(ask, blocks)
        self._running[ask.request_id] = _Run(ask, entry.session, blocks, variance, now)
        self._leased += blocks
        self._variance += variance
        self._context_tokens += ask.prompt_tokens
        resumed = entry.session.lease_blocks is not None
        self._sessions.grant(entry.session, ask.prompt_tokens)
        self.counters.admitted += 1
        waited = now - entry.since_seconds
        return Admitted(ask.request_id, ask.session_id, blocks, resumed, waited, entry.reason)

    def _expired(self, entry: Waiting, now: float) -> Refused:
        self._queue.remove(entry.ask.request_id)
        waited = now - entry.since_seconds
        wait = self.estimated_wait_seconds(entry.ask, now)
        return self._refuse(
            Refused(entry.ask.request_id, entry.ask.session_id, Reason.DEADLINE, wait, waited)
        )

    def _outgrown(self, entry: Waiting, now: float) -> Refused:
        self._queue.remove(entry.ask.request_id)
        waited = now - entry.since_seconds
        return self._refuse(
            Refused(entry.ask.request_id, entry.ask.session_id, Reason.TOO_LARGE, None, waited)
        )

    def _expire_rest(self, now: float) -> list[Refused]:
        late = [entry for entry in self._queue if entry.ask.deadline_seconds <= now]
        return [self._expired(entry, now) for entry in late]

    def _refuse(self, refused: Refused) -> Refused:
        self.counters.refused[refused.reason] = self.counters.refused.get(refused.reason, 0) + 1
        return refused

    def _set_overrun(self, run: _Run, blocks: int) -> None:
        if blocks and not run.overrun_blocks:
            self.counters.overruns += 1
        self._overrun += blocks - run.overrun_blocks
        run.overrun_blocks = blocks
