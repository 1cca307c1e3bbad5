"""Whatever is called and reported, by whichever process: a hard lease holds, and nothing is lost."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mcp_offload.lease import DeliveredText, Delivery, Report
from mcp_offload.service.leases import Leases, SessionLease
from mcp_offload.settings import LeaseSettings, Settings
from mcp_offload.store import Store, StoreConfig

SESSIONS = ("session:a", "session:b")
AGENTS = (None, "x", "y")
HANDLES = ("f1", "f1#a", "f1#b", "f2#a", "l3#L1-9")
LIMIT, RESERVE = 4_000, 1_000
LISTS = 150


class RandomLeases(RuleBasedStateMachine):
    """Two sessions with two sub-agents each, over three processes' openings of one store.

    The model is the plain sum: what was let through since the last report that may free anything, by
    session, sub-agents included.
    """

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))
        self._folder = Path(folder)
        self._stores: list[tuple[ExitStack, Leases]] = []
        self.factor = 1.0
        self.sent: Counter[str] = Counter()
        self.since: Counter[tuple[str, str | None]] = Counter()
        self.shares: dict[tuple[str, str], int] = {}
        self.refused: Counter[str] = Counter()

    @initialize(factor=st.sampled_from([1.0, 1.4, 0.8]))
    def open_stores(self, factor: float) -> None:
        self.factor = factor
        self._stores = [self._open() for _ in range(3)]

    def _open(self) -> tuple[ExitStack, Leases]:
        lease = LeaseSettings(
            mode="hard", limit_tokens=LIMIT, reserve_tokens=RESERVE, tokenizer_factor=self.factor
        )
        folder = str(self._folder)
        config: Any = {"store_dir": f"{folder}/store", "state_dir": f"{folder}/state"}
        stack = ExitStack()
        store = stack.enter_context(Store.open(StoreConfig(**config)))
        own = Settings(**config, roots=(), base_dir=folder, workspace="w", lease=lease)
        return stack, Leases(store.ledger, own, standing_tokens=2 * LISTS)

    def _lease(self, process: int, session: str, agent: str | None = None) -> SessionLease:
        return self._stores[process][1].of(session, agent=agent)

    @rule(process=st.integers(0, 2))
    def restart(self, process: int) -> None:
        self._stores[process][0].close()
        self._stores[process] = self._open()

    @rule(
        process=st.integers(0, 2),
        session=st.sampled_from(SESSIONS),
        agent=st.sampled_from(AGENTS),
        tokens=st.integers(1, 900),
        handle=st.sampled_from(HANDLES),
        kind=st.sampled_from(["result", "error", "prompt", "resource"]),
        stale=st.booleans(),
    )
    def call(
        self,
        process: int,
        session: str,
        agent: str | None,
        tokens: int,
        handle: str,
        kind: Any,
        stale: bool,
    ) -> None:
        """``stale``: another process has used up what the grant told; the ledger alone can refuse."""
        lease = self._lease(process, session, agent)
        grant = lease.grant(2_000)
        if not stale:
            tokens = min(tokens, grant.max_tokens)
        text = DeliveredText(handle, tokens // 2, str(tokens))
        asked = stale or grant.stage != "refused"
        if asked and lease.deliver(Delivery(kind, tokens, "t", (text,))):
            self.sent[session] += tokens
            owner = agent if (session, agent or "") in self.shares else None
            self.since[session, owner] += tokens
        else:
            assert lease.deliver(Delivery("refusal", 20, "t"))
            self.refused[session] += 1

    @rule(process=st.integers(0, 2), session=st.sampled_from(SESSIONS), number=st.integers(0, 1))
    def list_tools(self, process: int, session: str, number: int) -> None:
        kind: Any = ("definitions", "instructions")[number]
        assert self._lease(process, session).deliver(Delivery(kind, LISTS))

    @rule(
        process=st.integers(0, 2),
        session=st.sampled_from(SESSIONS),
        event=st.sampled_from([None, "compacted", "cleared"]),
        size=st.one_of(st.none(), st.integers(0, 5_000)),
        gone=st.lists(st.sampled_from(HANDLES), max_size=2),
    )
    def tell(self, process: int, session: str, event: Any, size: int | None, gone: list[str]) -> None:
        lease = self._lease(process, session)
        told = lease.report(Report(event=event, context_tokens=size, gone=tuple(gone)))
        charged = told.charged_tokens - self._standing
        assert charged <= self.since[session, None]
        self.since[session, None] = charged
        if event == "cleared":
            self._end_agents(session)
        if size is not None:
            assert told.left_tokens <= max(0, int((LIMIT - size) / self.factor)) or size >= LIMIT

    @rule(
        process=st.integers(0, 2),
        session=st.sampled_from(SESSIONS),
        agent=st.sampled_from(["x", "y"]),
        share=st.one_of(st.none(), st.integers(0, 2_000)),
    )
    def start_agent(self, process: int, session: str, agent: str, share: int | None) -> None:
        told = self._lease(process, session).report(Report(agent_started=agent, share_tokens=share))
        self.shares[session, agent] = told.agents[agent]
        self.since[session, agent] = 0

    @rule(process=st.integers(0, 2), session=st.sampled_from(SESSIONS), agent=st.sampled_from(["x", "y"]))
    def end_agent(self, process: int, session: str, agent: str) -> None:
        self._lease(process, session).report(Report(agent_ended=agent))
        self.shares.pop((session, agent), None)
        self.since[session, agent] = 0

    def _end_agents(self, session: str) -> None:
        for agent in ("x", "y"):
            self.shares.pop((session, agent), None)
            self.since[session, agent] = 0

    @property
    def _standing(self) -> int:
        return 2 * LISTS

    @invariant()
    def the_lease_holds(self) -> None:
        granted = int((LIMIT - RESERVE) / self.factor)
        for session in SESSIONS:
            shares = {agent: n for (one, agent), n in self.shares.items() if one == session}
            assert self.since[session, None] + sum(shares.values()) + self._standing <= granted
            for agent, share in shares.items():
                assert self.since[session, agent] <= share

    @invariant()
    def nothing_is_lost(self) -> None:
        if not self._stores:
            return
        for session in SESSIONS:
            total = refusals = 0
            for row in self._stores[0][1]._ledger.leases("w"):  # pyright: ignore[reportPrivateUsage]
                if row.session.split("/")[0] == session:
                    kinds = row.state.delivered
                    total += sum(kinds.get(kind, 0) for kind in ("result", "error", "prompt", "resource"))
                    refusals += row.state.refusals
            assert total == self.sent[session]
            assert refusals == self.refused[session]

    def teardown(self) -> None:
        for stack, _ in self._stores:
            stack.close()
        self._stack.close()


TestRandomLeases = RandomLeases.TestCase
TestRandomLeases.settings = settings(max_examples=20, stateful_step_count=30, deadline=None)
