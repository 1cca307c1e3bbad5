"""What is right does not rest on a model: compilers, and a comparison with a reference."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .desk import Desk
from .operations import Operation, check_program

HEADER = Path(__file__).with_name("host.h")
FAILURE_TOKENS = 300


@dataclass(frozen=True, slots=True)
class Checked:
    """What compilers and the check said of a kernel.

    Attributes:
        compiler: the first that was asked.
        compiled: every compiler took it.
        correct: its results equal the reference's; None where it did not run.
        failure: what was said against it, exactly; empty where nothing was.
    """

    compiler: str
    compiled: bool
    correct: bool | None
    failure: str


class NoCompiler(Exception):
    """There is no C compiler to check with."""


@dataclass(frozen=True, slots=True)
class Compilers:
    """The compilers of this machine; without nvcc the C compiler alone decides."""

    c: str
    nvcc: str | None

    @property
    def commands(self) -> tuple[str, ...]:
        """What the server must be allowed to run."""
        return tuple(command for command in (self.c, self.nvcc) if command)


def compilers() -> Compilers:
    """Those that are on the path.

    Raises:
        NoCompiler: There is no C compiler.
    """
    c = shutil.which("gcc") or shutil.which("cc")
    if c is None:
        raise NoCompiler("gcc: command not found; install a C compiler")
    return Compilers(c, shutil.which("nvcc"))


async def check(desk: Desk, tools: Compilers, folder: Path, operation: Operation) -> Checked:
    """Compile kernel.cu of a folder with nvcc where it is there, then run it on the CPU and compare."""
    first = "nvcc" if tools.nvcc else Path(tools.c).name
    if tools.nvcc:
        ran = await desk.run(folder, tools.nvcc, "-c", "kernel.cu", "-o", "kernel.o")
        if not ran.ok:
            return Checked(first, False, None, await desk.failure(ran, FAILURE_TOKENS))
    (folder / "check.c").write_text(check_program(operation), encoding="utf-8")
    ran = await desk.run(
        folder, tools.c, "-std=gnu11", "-O1", "-Werror=incompatible-pointer-types", "-include", str(HEADER),
        "check.c", "-lm", "-o", "check",
    )  # fmt: skip
    if not ran.ok:
        return Checked(first, False, None, await desk.failure(ran, FAILURE_TOKENS))
    ran = await desk.run(folder, str(folder / "check"))
    return Checked(first, True, ran.ok, "" if ran.ok else await desk.failure(ran, FAILURE_TOKENS))
