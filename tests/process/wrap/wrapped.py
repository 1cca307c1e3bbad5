"""The command lines of wrapped servers, and their wires."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.process.stdio.rig import ROOT, Rig

HERE = Path(__file__).resolve().parent
UPSTREAM = [sys.executable, str(HERE / "upstream_server.py")]
RAW = [sys.executable, str(HERE / "raw_upstream.py")]


def places(folder: Path) -> list[str]:
    """The options that keep a run within ``folder``."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    store, state = str(folder / "store"), str(folder / "state")
    return ["--store", store, "--state", state, "--root", str(work), "--workspace", str(work)]


def wrap_command(folder: Path, *options: str, server: list[str] | None = None) -> list[str]:
    """The command line that wraps a server, by default the one written by hand; without a lease."""
    lease = [] if "--lease" in options else ["--lease", "off"]
    wrap = [sys.executable, "-m", "mcp_offload", "wrap", *places(folder), *lease, *options]
    return wrap if "--url" in options else [*wrap, "--", *(RAW if server is None else server)]


def offload(folder: Path, *arguments: str) -> list[str]:
    """A command line of our own in the same workspace."""
    return [sys.executable, "-m", "mcp_offload", *places(folder), *arguments]


class RawRig(Rig):
    """A wire whose lines are also looked at as bytes."""

    def line(self) -> bytes:
        """The next line as it came."""
        line = self._lines.get(timeout=30)
        assert line is not None, self.errors()
        return line

    def call_result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        answer = self.answer(self.ask("tools/call", {"name": tool, "arguments": arguments}))
        result: dict[str, Any] = answer["result"]
        return result


__all__ = ["RAW", "ROOT", "UPSTREAM", "RawRig", "offload", "places", "wrap_command"]
