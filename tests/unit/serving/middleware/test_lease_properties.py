"""Whatever comes in whatever order: no lease leaks, nobody waits for ever, the pool is never exceeded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from serving.admission import Policy, Reserve
from serving.middleware import GateSettings, LeaseMiddleware, Mode, Record
from tests.unit.serving.driving import Exchange, chat, run, send, until
from tests.unit.serving.engine import FakeEngine

CHAT = "/v1/chat/completions"
BLOCKS = 20
MOST_STEPS = 30


class HoldingEngine(FakeEngine):
    """Each request is held until it is let go, breaks, or its client leaves."""

    def __init__(self) -> None:
        super().__init__(blocks=BLOCKS + 1)
        self.held: dict[str, asyncio.Future[None]] = {}
        self.reserved: dict[str, int] = {}
        self.most_blocks = 0

    async def _generate(self, send: Any, receive: Any, body: dict[str, Any]) -> None:
        name = body["user"]
        text = body["messages"][0]["content"]
        self.reserved[name] = -(-(len(text) + body["max_tokens"]) // self.block_tokens)
        self.most_blocks = max(self.most_blocks, sum(self.reserved.values()))
        let_go = self.held[name] = asyncio.get_running_loop().create_future()
        leaving = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({let_go, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if let_go.done():
                await let_go
                await (self._stream(send) if body.get("stream") else self._answer(send, 200, b"{}"))
        finally:
            del self.held[name], self.reserved[name]
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)

    def break_all(self) -> None:
        """What an engine's death does to its requests."""
        for future in self.held.values():
            if not future.done():
                future.set_exception(ConnectionError("the engine ended its answer early"))


@dataclass
class Scene:
    """A gate with its engine, and the clients that have come."""

    engine: HoldingEngine
    gate: LeaseMiddleware
    records: list[Record] = field(default_factory=list)
    clients: list[tuple[Exchange, Any]] = field(default_factory=list)

    async def step(self, kind: str, number: int) -> None:
        if kind == "arrive":
            text = f"{len(self.clients):04}" + "x" * (16 * (number % 12) + 12)
            body = chat(text, 16 * (number % 7) + 1, stream=bool(number % 2), user=str(len(self.clients)))
            self.clients.append(send(self.gate, CHAT, body, x_mcp_offload_session=f"s{number % 5}"))
        elif kind == "leave" and self.clients:
            self.clients[number % len(self.clients)][0].gone.set()
        elif kind == "finish" and self.engine.held:
            future = list(self.engine.held.values())[number % len(self.engine.held)]
            if not future.done():
                future.set_result(None)
        elif kind == "restart":
            self.engine.break_all()
            self.engine.started += 1
            await self.gate.engine.read()
        for _ in range(number % 4):
            await asyncio.sleep(0)

    async def drain(self) -> None:
        """Let the engine finish what it is given until nobody is left."""
        tasks = [task for _, task in self.clients]

        def done() -> bool:
            for future in self.engine.held.values():
                if not future.done():
                    future.set_result(None)
            return all(task.done() for task in tasks)

        await until(done)
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            assert result is None or isinstance(result, ConnectionError), result


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "arrive", "arrive", "leave", "finish", "finish", "restart"]),
        st.integers(0, 10_000),
    ),
    max_size=MOST_STEPS,
)


def gate_settings(reserve: Reserve) -> GateSettings:
    policy = replace(Policy(), reserve=reserve)
    return GateSettings(
        mode=Mode.ON, policy=policy, velocity_floor=None, scrape_seconds=3600.0, stale_seconds=1e9,
        queue_seconds=3600.0,
    )  # fmt: skip


@given(STEPS, st.sampled_from(Reserve))
def test_nothing_leaks_and_nobody_is_stuck(steps: list[tuple[str, int]], reserve: Reserve) -> None:
    async def work() -> None:
        engine = HoldingEngine()
        records: list[Record] = []

        class Recorder:
            def record(self, record: Record) -> None:
                records.append(record)

        gate = LeaseMiddleware(engine, gate_settings(reserve), recorder=Recorder())
        await gate.engine.read()
        scene = Scene(engine, gate)
        for kind, number in steps:
            await scene.step(kind, number)
            state = gate.engine.gates["0"].ledger.state()
            assert state.leased <= state.leasable or reserve is Reserve.EXPECTED
        await scene.drain()

        ledger = gate.engine.gates["0"].ledger
        state = ledger.state()
        assert (state.leased, state.running, state.running_tokens, state.overrun) == (0, 0, 0, 0)
        assert sum(state.waiting.values()) == 0
        assert not gate.engine.gates["0"]._waiting  # pyright: ignore[reportPrivateUsage]
        if reserve is Reserve.STRICT and not any(kind == "restart" for kind, _ in steps):
            assert engine.most_blocks <= BLOCKS
        assert len(records) <= len(scene.clients)
        for exchange, _ in scene.clients:
            answered = exchange.status is not None
            assert answered or exchange.gone.is_set() or any(kind == "restart" for kind, _ in steps)
        assert sum(gate.outcomes.values()) == len(records)
        await gate.close()
        assert len(asyncio.all_tasks()) == 1, "a task outlived its request"

    run(work())
