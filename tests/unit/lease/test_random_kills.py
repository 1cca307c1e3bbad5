"""Whatever is sent, and whoever is killed when: no hard lease is exceeded, and none is under-counted."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import ExitStack
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcp_offload.lease import DeliveredText, Delivery, LeaseState, Report, charged_tokens
from mcp_offload.service.leases import Leases, Uncounted
from mcp_offload.settings import LeaseSettings, Settings
from mcp_offload.store import Store, StoreConfig

SESSIONS = ("session:a", "session:b")
LIMIT, RESERVE, STANDING = 24_000, 4_000, 1_000
GRANTED = LIMIT - RESERVE
NEVER_SECONDS = 3_600.0
KILLABLE = 3


def count(text: str) -> int:
    """As a tokenizer counts: fewer tokens than bytes, by a factor that the ledger does not know."""
    return len(text) // 4


class RandomKills(RuleBasedStateMachine):
    """Three processes' openings of one store, and an onlooker's, which only reads.

    The model is the plain sum of what each session was sent since its context was last new.
    """

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))
        self._stores: list[Store] = []
        self.sent: Counter[str] = Counter()
        self.since: Counter[str] = Counter()
        self.killed = False

    @initialize()
    def open_stores(self) -> None:
        self._stores = [self._open() for _ in range(KILLABLE + 1)]

    def _open(self) -> Store:
        places: Any = {"store_dir": f"{self._folder}/store", "state_dir": f"{self._folder}/state"}
        return Store.open(StoreConfig(**places, write_after_seconds=NEVER_SECONDS))

    def _leases(self, process: int) -> Leases:
        lease = LeaseSettings(mode="hard", limit_tokens=LIMIT, reserve_tokens=RESERVE)
        own = Settings(
            store_dir="", state_dir="", roots=(), base_dir=self._folder, workspace="w", lease=lease
        )
        return Leases(self._stores[process].ledger, own, standing_tokens=STANDING)

    @rule(
        process=st.integers(0, KILLABLE - 1),
        session=st.sampled_from(SESSIONS),
        tokens=st.one_of(st.integers(1, 120), st.integers(1, 4_000)),
        times=st.integers(1, 12),
        counted=st.booleans(),
        handle=st.sampled_from(["f1", "f1#a", "l3"]),
    )
    def send(self, process: int, session: str, tokens: int, times: int, counted: bool, handle: str) -> None:
        """Send without asking first: the ledger alone can refuse."""
        lease = self._leases(process).of(session)
        for _ in range(times):
            texts = (DeliveredText(handle, tokens // 2, str(tokens)),)
            text = None if counted else Uncounted("x" * (4 * tokens), count)
            if lease.deliver(Delivery("result", tokens if counted else 0, "t", texts), text=text):
                self.sent[session] += tokens
                self.since[session] += tokens

    @rule(process=st.integers(0, KILLABLE - 1), session=st.sampled_from(SESSIONS))
    def ask(self, process: int, session: str) -> None:
        """What is granted may be stale, but never more than the process knows to be left."""
        grant = self._leases(process).of(session).grant(2_000)
        assert grant.max_tokens <= max(0, grant.left_tokens)

    @rule(process=st.integers(0, KILLABLE - 1), session=st.sampled_from(SESSIONS))
    def show(self, process: int, session: str) -> None:
        """What a process shows holds all that it has sent itself."""
        told = self._leases(process).of(session).show()
        assert STANDING <= told.charged_tokens <= GRANTED

    @rule(process=st.integers(0, KILLABLE - 1))
    def settle(self, process: int) -> None:
        self._stores[process].ledger.settle()

    @rule(process=st.integers(0, KILLABLE - 1))
    def fall_silent(self, process: int) -> None:
        self._stores[process].ledger.give_back()

    @rule(process=st.integers(0, KILLABLE - 1))
    def restart(self, process: int) -> None:
        self._stores[process].close()
        self._stores[process] = self._open()

    @rule(process=st.integers(0, KILLABLE - 1))
    def kill(self, process: int) -> None:
        """Whatever it holds in memory is lost."""
        self._abandon(self._stores[process])
        self._stores[process] = self._open()
        self.killed = True

    def _abandon(self, store: Store) -> None:
        store.ledger._keeper.stop()  # pyright: ignore[reportPrivateUsage]
        store._access.close()  # pyright: ignore[reportPrivateUsage]

    @rule(
        process=st.integers(0, KILLABLE - 1),
        session=st.sampled_from(SESSIONS),
        event=st.sampled_from(["compacted", "cleared"]),
    )
    def begin_anew(self, process: int, session: str, event: Any) -> None:
        self._leases(process).of(session).report(Report(event=event))
        self.since[session] = 0

    @rule(
        process=st.integers(0, KILLABLE - 1),
        session=st.sampled_from(SESSIONS),
        size=st.integers(LIMIT - 3_000, LIMIT),
    )
    def fill_up(self, process: int, session: str, size: int) -> None:
        """Little is left of the whole context: from here on each process keeps to that."""
        self._leases(process).of(session).report(Report(context_tokens=size, source="gateway"))
        before = self.sent[session]
        for other in range(KILLABLE):
            self.send(other, session, 700, 6, False, "f1")
        assert self.sent[session] - before <= LIMIT - size

    @precondition(lambda self: not self.killed)
    @rule()
    def nothing_is_lost(self) -> None:
        for store in self._stores:
            store.ledger.settle()
        for session in SESSIONS:
            row = self._stores[KILLABLE].ledger.get("w", session)
            assert (0 if row is None else row.state.delivered.get("result", 0)) == self.sent[session]

    @invariant()
    def the_lease_holds_and_is_never_under_counted(self) -> None:
        """The onlooker reads what would be known if all were killed now."""
        if not self._stores:
            return
        terms = self._leases(KILLABLE).terms()
        for session in SESSIONS:
            assert self.since[session] <= GRANTED - STANDING
            row = self._stores[KILLABLE].ledger.get("w", session)
            state = LeaseState() if row is None else row.state
            assert charged_tokens(terms, state) >= STANDING + self.since[session]

    def teardown(self) -> None:
        for store in self._stores:
            store.close()
        self._stack.close()


TestRandomKills = RandomKills.TestCase
TestRandomKills.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
