"""One engine process under its keeper: started, read line by line, and ended."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from serving.process.keeper import kill_session

_KEEPER: Final = Path(__file__).with_name("keeper.py")
_READ_BYTES: Final = 1 << 16
_OVER_GRACE_SECONDS: Final = 15.0


class Child:
    """An engine that runs, with all the processes it starts.

    It ends with this process, however that ends: its keeper sees its end of the pipe close.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        output: asyncio.StreamReader,
        control: socket.socket,
        session: int | None,
        grace_seconds: float,
    ) -> None:
        self._process = process
        self._output = output
        self._control = control
        self._session = session
        self._grace_seconds = grace_seconds
        # asyncio's own wait lasts until nobody holds the output's pipe, which those left behind do.
        self._waiting = asyncio.ensure_future(asyncio.to_thread(process.wait))

    @classmethod
    async def start(
        cls, argv: Sequence[str], environment: Mapping[str, str], *, grace_seconds: float
    ) -> Child:
        """Start a program; both its streams are read as one.

        Args:
            argv: the program and its arguments.
            environment: every variable it gets.
            grace_seconds: between asking it to end and killing it.
        """
        loop = asyncio.get_running_loop()
        control, theirs = socket.socketpair()
        control.setblocking(False)
        keeper = [sys.executable, "-I", str(_KEEPER), str(theirs.fileno()), str(grace_seconds), *argv]
        with theirs:
            process = await asyncio.to_thread(_start, keeper, dict(environment), theirs.fileno())
        output = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), process.stdout)
        told = b""
        with suppress(ConnectionError):
            told = await loop.sock_recv(control, 32)
        return cls(process, output, control, int(told) if told else None, grace_seconds)

    @property
    def keeper_pid(self) -> int:
        """The keeper's process number."""
        return self._process.pid

    @property
    def engine_pid(self) -> int | None:
        """The engine's process number, which is also its session's; None where it could not be started."""
        return self._session

    async def chunks(self) -> AsyncIterator[bytes]:
        """What it prints as it comes, until nobody can print any more."""
        while chunk := await self._output.read(_READ_BYTES):
            yield chunk

    async def wait(self) -> int:
        """Wait for its end; the exit status, 128 and the signal where one ended it."""
        status = await asyncio.shield(self._waiting)
        if status < 0 and self._session is not None:  # the keeper was killed: what it kept may live on
            await asyncio.to_thread(kill_session, self._session)
        return status if status >= 0 else 128 - status

    def ask_to_end(self) -> None:
        """Ask the engine to end; a second time kills it."""
        with suppress(OSError):
            self._control.send(b"T")

    def kill(self) -> None:
        """Kill the engine and all it started."""
        self._control.close()

    async def end(self) -> int:
        """Ask it to end, kill it after its grace, and wait; cancelled, kill it at once."""
        self.ask_to_end()
        try:
            return await asyncio.wait_for(self.wait(), self._grace_seconds + _OVER_GRACE_SECONDS)
        except TimeoutError:  # the keeper does not answer
            with suppress(ProcessLookupError):
                self._process.kill()
            return await self.wait()
        finally:
            self.kill()


def _start(argv: list[str], environment: dict[str, str], control: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(control,),
        start_new_session=True,
    )
