"""How long and how much memory one parse may take."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that grow with the text.

    Attributes:
        seconds: time for a small text before the parser is asked to stop.
        seconds_per_mib: more time for each MiB of text.
        grace: the process is killed after this multiple of that time.
        memory_bytes: address space for a small text.
        memory_per_byte: more address space for each byte of text.
    """

    seconds: float = 2.0
    seconds_per_mib: float = 2.0
    grace: float = 2.0
    memory_bytes: int = 1024 * _MIB
    memory_per_byte: int = 120

    def soft_seconds(self, size_bytes: int) -> float:
        """When the parser is asked to stop."""
        return self.seconds + self.seconds_per_mib * size_bytes / _MIB

    def hard_seconds(self, size_bytes: int) -> float:
        """When the process is killed."""
        return self.soft_seconds(size_bytes) * self.grace

    def address_space_bytes(self, size_bytes: int) -> int:
        """RLIMIT_AS while parsing that much text."""
        return self.memory_bytes + self.memory_per_byte * size_bytes
