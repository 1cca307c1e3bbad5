"""One line of JSON for each request: what was asked, leased, waited and written."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Record:
    """One request as the gate saw it; seconds are relative to its arrival but for ``arrived_unix_seconds``.

    Attributes:
        outcome: ``answered``, ``failed`` (the engine's status is an error), ``refused``, ``left`` (the
            client went away) or ``bypassed`` (answered without a lease).
        prompt_tokens: as counted before admission; None where that was not possible.
        cached_tokens: as the engine told; None where it did not.
        output_tokens: as the engine told, or ``output_exact`` is False and events were counted.
        leased_blocks: the run lease; None without one.
        waited_seconds: until admission.
        first_byte_seconds: until the first byte of the answer; None without one.
        last_byte_seconds: until the last.
    """

    request_id: str
    arrived_unix_seconds: float
    session_id: str
    session_source: str
    agent_class: str
    tenant: str
    path: str
    stream: bool
    outcome: str
    reason: str | None
    status: int | None
    prompt_tokens: int | None
    cached_tokens: int | None
    new_tokens: int | None
    output_tokens: int
    output_exact: bool
    leased_blocks: int | None
    waited_seconds: float
    first_byte_seconds: float | None
    last_byte_seconds: float | None

    def as_dict(self) -> dict[str, object]:
        """The record as JSON takes it."""
        return asdict(self)


class Recorder(Protocol):
    """Takes records; must not block for long."""

    def record(self, record: Record) -> None:
        """Take one record."""
        ...
