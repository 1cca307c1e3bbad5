"""Requests that wait, and whose turn it is; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serving.admission.model import Ask, Reason
from serving.admission.sessions import Session


@dataclass(slots=True)
class Waiting:
    """A request in the queue; ``reason`` is what it last waited for."""

    ask: Ask
    session: Session
    since_seconds: float
    order: int
    reason: Reason | None = None


class Queue:
    """Waiting requests in the order in which they are tried.

    First comes who waited past the patience, longest first: nobody starves. Then higher priority, then
    agents that hold a session lease, then the tenant that was given least for its weight, then the
    older agent, then the older request.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._served: dict[str, float] = {}
        self._floor = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._waiting.values())

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._waiting

    def add(self, entry: Waiting) -> None:
        """Let a request wait. A tenant that had nothing waiting starts level with the least served."""
        tenant = entry.ask.tenant
        if all(other.ask.tenant != tenant for other in self._waiting.values()):
            self._served[tenant] = max(self._served.get(tenant, 0.0), self._floor)
        self._waiting[entry.ask.request_id] = entry
        entry.session.waiting += 1

    def remove(self, request_id: str) -> Waiting | None:
        """Take a request out; None where it does not wait."""
        entry = self._waiting.pop(request_id, None)
        if entry is not None:
            entry.session.waiting -= 1
        return entry

    def served(self, ask: Ask, blocks: int) -> None:
        """Charge a tenant for what its request was leased."""
        before = self._served.get(ask.tenant, self._floor)
        self._served[ask.tenant] = before + blocks / max(ask.weight, 1e-6)
        self._floor = max(self._floor, before)

    def ordered(self, now: float, patience_seconds: float) -> list[Waiting]:
        """The requests in the order in which they are tried."""

        def key(entry: Waiting) -> tuple[float, ...]:
            ask = entry.ask
            if now - entry.since_seconds >= patience_seconds:
                return (0, entry.since_seconds, entry.order)
            holds = entry.session.lease_blocks is not None
            served = self._served.get(ask.tenant, 0.0)
            return (1, -ask.priority, not holds, served, entry.session.first_seconds, entry.order)

        return sorted(self._waiting.values(), key=key)
