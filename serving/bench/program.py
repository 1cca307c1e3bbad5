"""A program of ours that runs beside the engine and says what it does, a JSON object a line."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from serving.errors import EngineError
from serving.process.child import Child

_LAST_LINES: Final = 12
_GRACE_SECONDS: Final = 5.0


class LogFile:
    """Where a process' output goes."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")

    def write(self, text: bytes) -> None:
        """Append it."""
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        """Nothing more comes."""
        self._file.close()


class Program:
    """A process under a keeper, so that it ends with this one.

    Args:
        name: for messages.
        child: that runs.
        log: where its output goes, but for what it tells.
        mark: what lines begin with that tell something.
    """

    def __init__(self, name: str, child: Child, log: Path, mark: str) -> None:
        self._name = name
        self._child = child
        self._log = log
        self._mark = mark
        self._told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(
        cls, name: str, argv: Sequence[str], environment: Mapping[str, str], log: Path, mark: str = "@@"
    ) -> Program:
        """Start it; its first words are not waited for."""
        child = await Child.start(argv, environment, grace_seconds=_GRACE_SECONDS)
        return cls(name, child, log, mark)

    async def told(self) -> dict[str, Any]:
        """What it tells next.

        Raises:
            EngineError: it ended instead; the message has its last lines.
        """
        value = await self._told.get()
        if value is None:
            self._told.put_nowait(None)
            said = "\n".join(self._last) or "nothing"
            raise EngineError(f"{self._name} ended; its log is {self._log}. It said last:\n{said}")
        return value

    async def end(self) -> None:
        """End it, politely first; cancelled, at once."""
        try:
            await self._child.end()
            await self._reading
        finally:
            self._child.kill()
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        rest = ""
        log = LogFile(self._log)
        try:
            async for chunk in self._child.chunks():
                log.write(chunk)
                *lines, rest = (rest + chunk.decode("utf-8", "replace")).split("\n")
                for line in lines:
                    self._take(line)
        finally:
            log.close()
            self._told.put_nowait(None)

    def _take(self, line: str) -> None:
        if line.startswith(self._mark):
            try:
                self._told.put_nowait(json.loads(line.removeprefix("@@")))
                return
            except ValueError:
                pass
        if line.strip():
            self._last.append(line.rstrip()[-300:])
