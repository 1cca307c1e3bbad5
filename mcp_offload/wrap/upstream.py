"""What a wrapped server is to whoever talks to it, however it is reached."""

from __future__ import annotations

from typing import Protocol

from mcp_offload.wrap.cut import Oversized


class Listener(Protocol):
    """Who hears what a server says. Called from the server's own thread, one call at a time."""

    def on_line(self, line: bytes | Oversized) -> None:
        """A message of the server's, without its line end. Blocking holds the server up."""
        ...

    def on_end(self, reason: str) -> None:
        """It has ended, and ``reason`` says how: called once, last, unless :meth:`Upstream.close` was."""
        ...


class Upstream(Protocol):
    """One life of a wrapped server. Thread-safe."""

    @property
    def last_words(self) -> str:
        """The end of what it printed to standard error."""
        ...

    def start(self, listener: Listener) -> None:
        """Start it, or connect to it.

        Raises:
            UpstreamError: it cannot be started.
        """
        ...

    def send(self, line: bytes) -> bool:
        """Hand it a message, without line end; False where it has not taken earlier ones for too long."""
        ...

    def close(self) -> None:
        """Have it end; it may take a while to, out of sight."""
        ...


class UpstreamError(Exception):
    """A wrapped server cannot be started."""
