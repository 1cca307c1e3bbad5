"""One engine from start to end: progress, readiness, restarts with backoff, and the cause where it fails."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from serving.errors import EngineError
from serving.process.child import Child
from serving.process.log import Cause, LogReader, cause_of_exit
from serving.process.pulse import Patience, Pulse
from serving.telemetry import Scrape, parse

_HEALTH_SECONDS: Final = 0.5
_PULSE_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 5.0
_LINE_CHARS: Final = 1 << 16
_STEADY_SECONDS: Final = 300.0


class Sink(Protocol):
    """Keeps what the engine prints."""

    def write(self, text: bytes) -> None:
        """Keep more; may wait for the disk."""
        ...


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """How an engine is started.

    Attributes:
        argv: program and arguments.
        environment: every variable it gets.
        url: where it answers, without a path.
        grace_seconds: between asking it to end and killing it.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    url: str
    grace_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """When an engine that failed is started again.

    Attributes:
        restarts: in a row, without its having served for five minutes in between; 0 is never.
        first_seconds: before the first; each next waits twice as long.
        longest_seconds: at most.
    """

    restarts: int = 0
    first_seconds: float = 2.0
    longest_seconds: float = 120.0

    def seconds(self, failures: int) -> float:
        """What to wait after so many failures in a row, from 1."""
        return min(self.longest_seconds, self.first_seconds * 2 ** min(failures - 1, 30))


class EngineFailedError(EngineError):
    """The engine failed for good.

    Attributes:
        cause: why.
    """

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"The engine failed: {cause.message}.")
        self.cause = cause


class Node:
    """Keeps one engine running.

    Attributes:
        log: what the engine that runs now said.
        restarts: so far.
        failures: how often it ended by itself, by the kind of cause.
        ready: set while the engine answers.

    Args:
        command: how to start it.
        sink: keeps its log.
        tell: is told of phases, failures and restarts, one line each.
        backoff: whether and when it is started again.
        patience: how long it may do nothing before it is killed as hung.
    """

    def __init__(
        self,
        command: EngineCommand,
        sink: Sink,
        tell: Callable[[str], None],
        backoff: Backoff | None = None,
        *,
        patience: Patience | None = None,
    ) -> None:
        self.log = LogReader()
        self.restarts = 0
        self.failures: Counter[str] = Counter()
        self.ready = asyncio.Event()
        self._command = command
        self._sink = sink
        self._tell = tell
        self._backoff = backoff or Backoff()
        self._patience = patience or Patience()
        self._pulse = Pulse(self._patience, time.monotonic())
        self._hung: Cause | None = None
        self._child: Child | None = None
        self._stopping = asyncio.Event()

    @property
    def engine_pid(self) -> int | None:
        """Of the engine that runs now; None where none does."""
        return self._child.engine_pid if self._child else None

    async def run(self) -> None:
        """Run the engine until :meth:`stop`; start it again after a failure, as the backoff allows.

        Raises:
            EngineFailedError: it failed, and is not started again.
        """
        failures = 0
        while True:
            began = time.monotonic()
            cause = await self._run_once()
            if cause is None:
                return
            self.failures[cause.kind] += 1
            failures = 1 if time.monotonic() - began > _STEADY_SECONDS else failures + 1
            if failures > self._backoff.restarts or cause.lasting:
                raise EngineFailedError(cause)
            seconds = self._backoff.seconds(failures)
            again = f"start {failures} of {self._backoff.restarts} in {seconds:g} s"
            self._tell(f"engine failed: {cause.message}; {again}")
            if await self._stopped_within(seconds):
                return
            self.restarts += 1

    def stop(self) -> None:
        """End the engine politely, and by force after its grace; :meth:`run` then returns."""
        if not self._stopping.is_set():
            self._stopping.set()
            if self._child is not None:
                self._child.ask_to_end()

    def kill(self) -> None:
        """Kill the engine at once."""
        self._stopping.set()
        if self._child is not None:
            self._child.kill()

    async def _run_once(self) -> Cause | None:
        """One life of the engine; why it ended, or None where it was told to."""
        if self._stopping.is_set():
            return None
        self.log = LogReader()
        self._hung = None
        self._child = await Child.start(
            self._command.argv, self._command.environment, grace_seconds=self._command.grace_seconds
        )
        child, began = self._child, time.monotonic()
        self._pulse = Pulse(self._patience, began)
        reading = asyncio.ensure_future(self._read(child))
        watching = asyncio.ensure_future(self._watch(child, began))
        was_ready = False
        try:
            if self._stopping.is_set():
                child.ask_to_end()
            status = await child.wait()
            await reading
            was_ready = self.ready.is_set()
        finally:
            self.ready.clear()
            for task in (watching, reading):
                task.cancel()
            child.kill()
            await asyncio.gather(watching, reading, return_exceptions=True)
            self._child = None
        if self._stopping.is_set():
            return None
        return self._hung or cause_of_exit(status, self.log, was_ready=was_ready)

    async def _read(self, child: Child) -> None:
        rest = ""
        async for chunk in child.chunks():
            await asyncio.to_thread(self._sink.write, chunk)
            self._pulse.printed(time.monotonic())
            # A progress bar ends its lines with a carriage return.
            text = rest + chunk.decode("utf-8", "replace").replace("\r", "\n")
            *lines, rest = text.split("\n")
            for line in lines:
                self._take(line)
            rest = rest[-_LINE_CHARS:]
        self._take(rest)

    def _take(self, line: str) -> None:
        if self.log.feed(line) and not self.ready.is_set() and self.log.phase != "ready":
            percent = "" if self.log.percent is None else f" {self.log.percent} %"
            self._tell(f"engine: {self.log.phase}{percent}")

    async def _watch(self, child: Child, began: float) -> None:
        """Wait for the engine to be ready, then see that it goes on; kill it where it hangs."""
        cause = await self._until_ready(began)
        if cause is None:
            self.ready.set()
            pool = "" if self.log.kv_tokens is None else f"; its KV cache holds {self.log.kv_tokens:,} tokens"
            self._tell(f"engine: ready after {time.monotonic() - began:.0f} s at {self._command.url}{pool}")
            cause = await self._until_hung()
        self._hung = cause
        child.kill()

    async def _until_ready(self, began: float) -> Cause | None:
        """Why it never gets ready; None once it is."""
        answer_seconds = min(_ANSWER_SECONDS, self._patience.start_seconds, self._patience.silent_seconds)
        while not await asyncio.to_thread(is_healthy, self._command.url, answer_seconds):
            cause = self._pulse.starting(time.monotonic(), self.log.phase)
            if cause is not None:
                return cause
            await asyncio.sleep(_HEALTH_SECONDS)
        return None

    async def _until_hung(self) -> Cause:
        """Why it counts as hung, once it does."""
        shortest = min(self._patience.hang_seconds, self._patience.stall_seconds)
        pause, url = min(_PULSE_SECONDS, shortest / 4), self._command.url
        while True:
            await asyncio.sleep(pause)
            healthy = await asyncio.to_thread(is_healthy, url, min(_ANSWER_SECONDS, shortest))
            page = await asyncio.to_thread(_metrics, url, min(_ANSWER_SECONDS, shortest)) if healthy else None
            now = time.monotonic()
            cause = self._pulse.serving(now, healthy=healthy, page=page)
            if cause is not None:
                return cause

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True


def is_healthy(url: str, timeout_seconds: float = _ANSWER_SECONDS) -> bool:
    """Whether an engine answers its health check with 200."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=timeout_seconds) as answer:  # noqa: S310  (our own)
            return answer.status == 200
    except (OSError, ValueError, urllib.error.URLError):
        return False


def _metrics(url: str, timeout_seconds: float) -> Scrape | None:
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=timeout_seconds) as answer:  # noqa: S310
            return parse(answer.read().decode("utf-8", "replace"))
    except (OSError, ValueError, urllib.error.URLError):
        return None
