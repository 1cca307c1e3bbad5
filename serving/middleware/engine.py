"""What the gate knows of its engine: the pool, whether it is alive, and what it recomputes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from serving.admission import Pool, Reason, SessionCap, StepFit, StepTime, Window, recompute_share
from serving.middleware.asgi import App, call
from serving.middleware.gate import Gate
from serving.middleware.settings import GateSettings
from serving.telemetry import EngineSample, Scrape, parse

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Served:
    """Tokens of the requests that ended since the last control period."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    new_tokens: int = 0
    requests: int = 0


class Engine:
    """One engine behind the gate, read through its metrics page.

    Attributes:
        gates: a ledger for each data-parallel rank, by the page's ``engine`` label.
        velocities: tokens a second that each stream was last seen to get, by rank.
        recompute_share: of the last control period; None before the first.
        error: why the metrics could last not be read; None where they could.
    """

    def __init__(
        self, app: App, settings: GateSettings, clock: Callable[[], float], prior: StepTime | None = None
    ) -> None:
        self.gates: dict[str, Gate] = {}
        self.velocities: dict[str, float] = {}
        self.recompute_share: float | None = None
        self.error: str | None = "the engine's metrics were not read yet"
        self.served = Served()
        self.sample: Scrape = Scrape()
        self._app = app
        self._settings = settings
        self._clock = clock
        self._fits: dict[str, StepFit] = {}
        self._prior = prior
        self._cap = SessionCap(settings.cap)
        self._read_seconds: float | None = None
        self._controlled: tuple[float, Scrape] | None = None
        self._sessions: dict[str, str] = {}
        self._lock = asyncio.Lock()

    @property
    def fresh(self) -> bool:
        """Whether the last reading is recent enough to decide by."""
        read = self._read_seconds
        return bool(self.gates) and read is not None and self._clock() - read <= self._settings.stale_seconds

    async def ready(self) -> bool:
        """Whether leases can be given; reads the metrics where that has not succeeded lately."""
        if not self.fresh:
            async with self._lock:
                if not self.fresh:
                    await self.read()
        return self.fresh

    def gate_for(self, session_id: str) -> tuple[str, Gate]:
        """The rank that serves a session, always the same one, and its gate."""
        rank = self._sessions.get(session_id)
        if rank is None or rank not in self.gates:
            rank = min(self.gates, key=lambda name: _load(self.gates[name]))
            if len(self._sessions) > 65536:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[session_id] = rank
        return rank, self.gates[rank]

    async def run(self) -> None:
        """Read the metrics again and again, until cancelled."""
        while True:
            async with self._lock:
                await self.read()
            await asyncio.sleep(self._settings.scrape_seconds)

    async def read(self) -> None:
        """Read the metrics once; what cannot be read is kept in :attr:`error`."""
        try:
            status, page = await call(self._app, "GET", "/metrics")
            if status != 200:
                self._failed(f"the engine answered {status} to /metrics")
                return
            scrape = parse(page.decode("utf-8", "replace"))
        except (OSError, ValueError, RuntimeError, TimeoutError) as error:
            self._failed(f"the engine's metrics cannot be read: {error}")
            return
        pools = {name: _pool(sample, self._settings.watermark) for name, sample in scrape.engines.items()}
        if not pools or any(pool is None for pool in pools.values()):
            self._failed("the engine's metrics name no KV-cache pool (vllm:cache_config_info)")
            return
        self._take(scrape, {name: pool for name, pool in pools.items() if pool is not None})

    def ended(self, prompt_tokens: int, cached_tokens: int | None, new_tokens: int) -> None:
        """A request ended; ``new_tokens`` are those that its session had not sent before."""
        self.served.requests += 1
        self.served.prompt_tokens += prompt_tokens
        self.served.cached_tokens += cached_tokens or 0
        self.served.new_tokens += new_tokens

    def close(self) -> None:
        """Stop every timer."""
        for gate in self.gates.values():
            gate.close()

    def _failed(self, message: str) -> None:
        if message != self.error:
            _log.warning("%s", message)
        self.error = message

    def _take(self, scrape: Scrape, pools: dict[str, Pool]) -> None:
        restarted = self.sample.started_seconds not in {None, scrape.started_seconds}
        for name, pool in pools.items():
            gate = self.gates.get(name)
            if gate is None:
                self.gates[name] = Gate(pool, self._settings, self._clock)
                self._fits[name] = StepFit(self._prior)
            elif restarted or gate.ledger.pool != pool:
                gate.restart(pool)
                self._controlled = None
            else:
                self._learn_velocity(name, self.sample.engines.get(name), scrape.engines[name])
        self.sample = scrape
        self.error = None
        self._read_seconds = self._clock()
        self._control(scrape)

    def _learn_velocity(self, name: str, before: EngineSample | None, after: EngineSample) -> None:
        gate = self.gates[name]
        steps = after.steps - before.steps if before else 0
        if before and steps > 0:
            seconds = (after.step_seconds - before.step_seconds) / steps
            if seconds > 0:
                self.velocities[name] = after.tokens_per_step / seconds
            self._fits[name].observe(gate.ledger.state().running_tokens, seconds)
        line = self._fits[name].line()
        floor = self._settings.velocity_floor
        if line is None or floor is None:
            return
        gate.ledger.set_context_limit(line.context_limit_tokens(floor, after.tokens_per_step))
        gate.settle()

    def _control(self, scrape: Scrape) -> None:
        now = self._clock()
        if self._controlled is None:
            self._controlled = (now, scrape)
            self.served = Served()
            return
        then, before = self._controlled
        if now - then < self._settings.control_seconds:
            return
        self._controlled = (now, scrape)
        served, self.served = self.served, Served()
        finished = _total(scrape, "finished") - _total(before, "finished")
        preempted = _total(scrape, "preemptions") - _total(before, "preemptions")
        # Where answers do not say it, the page does; of a host tier only the first of these counts.
        cached = max(_total(scrape, each) - _total(before, each) for each in ("cached_tokens", "prefix_hits"))
        self.recompute_share = recompute_share(
            served.prompt_tokens,
            max(served.cached_tokens, int(cached)),
            served.new_tokens,
            _seconds_per_token(before, scrape),
            (now - then) * max(1, len(self.gates)),
        )
        if self._settings.cap_sessions:
            self._set_cap(self.recompute_share, preempted / finished if finished else 0.0)

    def _set_cap(self, recompute: float, preempted_share: float) -> None:
        states = [gate.ledger.state() for gate in self.gates.values()]
        leasable = sum(state.leasable for state in states)
        window = Window(
            recompute_share=recompute,
            preempted_share=preempted_share,
            session_share=sum(state.session_blocks for state in states) / max(1, leasable),
            sessions_wait=any(Reason.SESSIONS in state.waiting for state in states),
        )
        before = self._cap.share
        share = self._cap.update(window)
        if share != before:
            _log.info("session leases may come to %.2f of the pool (before %.2f)", share, before)
            for gate in self.gates.values():
                gate.ledger.set_session_share(share, trim=self._cap.trim)
                gate.settle()


def _load(gate: Gate) -> float:
    state = gate.ledger.state()
    return (state.session_blocks + state.leased) / max(1, state.leasable)


def _pool(sample: EngineSample, watermark: float) -> Pool | None:
    """The pool as leases count it; for hybrid models the tokens it holds say how many blocks there are."""
    if not sample.blocks or not sample.block_tokens:
        return None
    blocks = sample.blocks
    if sample.kv_tokens:
        blocks = min(blocks, sample.kv_tokens // sample.block_tokens)
    return Pool(blocks, sample.block_tokens, watermark=watermark)


def _total(scrape: Scrape, name: str) -> float:
    return sum(getattr(sample, name) for sample in scrape.engines.values())


def _seconds_per_token(before: Scrape, after: Scrape) -> float:
    """What computing a prompt token took on average; 0 where nothing was computed."""
    tokens = _total(after, "computed_tokens") - _total(before, "computed_tokens")
    seconds = _total(after, "prefill_seconds") - _total(before, "prefill_seconds")
    return seconds / tokens if tokens > 0 and seconds > 0 else 0.0
