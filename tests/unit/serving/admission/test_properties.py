"""What no order of arrivals, disconnects, overruns and restarts can break."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from serving.admission import Admitted, Ask, Ledger, Policy, Pool, Refused, Reserve

PATIENCE_SECONDS = 20.0


class Gate(RuleBasedStateMachine):
    """Clients, an engine and an operator do whatever they like, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.count = 0
        self.waiting: dict[str, Ask] = {}
        self.running: dict[str, Ask] = {}
        self.written: dict[str, int] = {}
        self.ended = 0

    @initialize(
        reserve=st.sampled_from(Reserve),
        blocks=st.integers(4, 60),
        block_tokens=st.sampled_from([1, 16, 128]),
        watermark=st.sampled_from([0.0, 0.05]),
        look_ahead=st.integers(0, 8),
    )
    def start(
        self, reserve: Reserve, blocks: int, block_tokens: int, watermark: float, look_ahead: int
    ) -> None:
        policy = Policy(
            reserve=reserve,
            look_ahead_tokens=look_ahead,
            queue_limit=8,
            patience_seconds=PATIENCE_SECONDS,
            session_patience_seconds=60.0,
            idle_seconds=30.0,
        )
        self.ledger = Ledger(Pool(blocks, block_tokens, watermark=watermark), policy)

    def settle(self) -> None:
        for outcome in self.ledger.settle(self.now):
            ask = self.waiting.pop(outcome.request_id)  # answered once, and only what waits
            if isinstance(outcome, Admitted):
                self.running[ask.request_id] = ask
                self.written[ask.request_id] = 0
            else:
                self.ended += 1

    @rule(
        session=st.integers(0, 6),
        prompt=st.integers(1, 800),
        output=st.integers(1, 800),
        priority=st.integers(0, 2),
        tenant=st.sampled_from("ab"),
        patience=st.sampled_from([5.0, 1e9]),
    )
    def arrive(
        self, session: int, prompt: int, output: int, priority: int, tenant: str, patience: float
    ) -> None:
        self.count += 1
        output = max(1, min(output, self.ledger.output_limit_tokens(prompt)))
        ask = Ask(
            f"r{self.count}", f"s{session}", prompt, output, tenant, "", priority, 1.0, self.now + patience
        )
        outcome = self.ledger.submit(ask, self.now)
        if isinstance(outcome, Refused):
            self.ended += 1
        else:
            self.waiting[ask.request_id] = ask
        self.settle()

    @rule(seconds=st.floats(0.1, 40.0))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.settle()

    @precondition(lambda self: self.running)
    @rule(data=st.data(), tokens=st.integers(1, 300))
    def write(self, data: st.DataObject, tokens: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.running)))
        limit = self.running[name].max_output_tokens
        self.written[name] = min(limit, self.written[name] + tokens)
        self.ledger.wrote(name, self.written[name])

    @precondition(lambda self: self.running or self.waiting)
    @rule(data=st.data(), complete=st.booleans())
    def leave(self, data: st.DataObject, complete: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.running | self.waiting)))
        self.ledger.release(name, self.now, complete=complete)
        self.running.pop(name, None)
        self.waiting.pop(name, None)
        self.settle()

    @rule(share=st.sampled_from([0.0, 0.3, 1.0, 3.0, float("inf")]))
    def cap(self, share: float) -> None:
        self.ledger.set_session_share(share)
        self.settle()

    @rule(limit=st.sampled_from([None, 0, 500, 5000]))
    def limit_context(self, limit: int | None) -> None:
        self.ledger.set_context_limit(limit)
        self.settle()

    @rule(session=st.integers(0, 6))
    def end_session(self, session: int) -> None:
        self.ledger.end_session(f"s{session}")
        self.settle()

    @rule(blocks=st.integers(4, 60))
    def restart(self, blocks: int) -> None:
        pool = self.ledger.pool
        lost = self.ledger.restart(Pool(blocks, pool.block_tokens, 0, pool.watermark), self.now)
        assert sorted(lost) == sorted(self.running)
        self.running.clear()
        self.settle()

    @invariant()
    def leases_fit(self) -> None:
        if not hasattr(self, "ledger"):
            return
        state = self.ledger.state()
        assert 0 <= state.leased <= state.leasable
        assert state.running == len(self.running)
        assert sum(state.waiting.values()) == len(self.waiting)
        expected = sum(ask.prompt_tokens + self.written[name] for name, ask in self.running.items())
        assert state.running_tokens == expected
        assert state.overrun >= 0
        assert state.session_blocks >= 0
        if not self.running:
            assert (state.leased, state.overrun, state.tail) == (0, 0, 0)

    @invariant()
    def strict_leases_hold_all_that_is_written(self) -> None:
        if hasattr(self, "ledger") and self.ledger._policy.reserve is Reserve.STRICT:
            assert self.ledger.state().overrun == 0
            assert self.ledger.counters.overruns == 0

    @invariant()
    def something_runs_where_something_waits(self) -> None:
        assert self.running or not self.waiting, "nothing runs, so that whatever waits could"

    def teardown(self) -> None:
        """All that waits is served once what runs ends: nobody starves."""
        if not hasattr(self, "ledger"):
            return
        for _ in range(3 * (len(self.waiting) + len(self.running)) + 3):
            self.now += PATIENCE_SECONDS
            for name in list(self.running):
                self.ledger.release(name, self.now)
                del self.running[name]
            self.settle()
        assert not self.waiting
        assert not self.running
        assert self.ledger.state().leased == 0


TestGate = Gate.TestCase
TestGate.settings = settings(TestGate.settings, stateful_step_count=60)
