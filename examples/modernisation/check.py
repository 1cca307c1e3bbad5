"""What is right does not rest on a model: compilers, the COBOL program itself, and a comparison of bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .desk import Desk, Refused, Run

SPRING = ("core", "beans", "context", "aop", "expression")
JARS = Path("/usr/share/java")


class LegacyFailed(Exception):
    """The legacy program itself cannot be built or run, so that there is nothing to compare with."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are: the legacy sources and inputs, which are only read, and the output folder."""

    legacy: Path
    inputs: tuple[Path, ...]
    folder: Path

    @property
    def java(self) -> Path:
        """Where the sources of the package bank go."""
        return self.folder / "java" / "bank"

    @property
    def classes(self) -> Path:
        """Where compiled classes go."""
        return self.folder / "classes"

    def expected(self, data: Path) -> Path:
        """The statement that the COBOL program writes for an input."""
        return self.folder / "expected" / f"{data.stem}.txt"

    def actual(self, data: Path, by: str) -> Path:
        """The statement that a Java program writes for it."""
        return self.folder / by / f"{data.stem}.txt"


async def run_legacy(desk: Desk, layout: Layout, program: Path) -> None:
    """Compile the COBOL program and have it write what the Java must equal.

    Raises:
        LegacyFailed: It does not compile or does not run.
    """
    binary = layout.folder / "legacy" / program.stem.lower()
    for path in (binary, *(layout.expected(data) for data in layout.inputs)):
        path.parent.mkdir(parents=True, exist_ok=True)
    commands = [("cobc", "-x", "-I", str(layout.legacy), "-o", str(binary), str(program))]
    commands += [(str(binary), str(data), str(layout.expected(data))) for data in layout.inputs]
    for command in commands:
        try:
            run = await desk.run(*command)
        except Refused as error:
            raise LegacyFailed(f"{command[0]} cannot be run: {error}") from error
        if not run.ok:
            raise LegacyFailed(f"the legacy program fails:\n{run.text}")


async def compiles(desk: Desk, layout: Layout, *sources: Path, jars: tuple[Path, ...] = ()) -> str | None:
    """What javac says against the sources, or None."""
    layout.classes.mkdir(parents=True, exist_ok=True)
    run = await desk.run(
        "javac", "--release", "8", "-Xlint:-options", "-d", str(layout.classes),
        "-cp", _path(layout.classes, *jars), *map(str, sources),
    )  # fmt: skip
    return _complaint(run)


async def equals(desk: Desk, layout: Layout, main: str, by: str, jars: tuple[Path, ...] = ()) -> str | None:
    """What differs between the statements of a Java program and the COBOL program's, or None.

    Files are compared byte by byte; the agent sees the first lines that differ.
    """
    for data in layout.inputs:
        actual = layout.actual(data, by)
        actual.parent.mkdir(parents=True, exist_ok=True)
        actual.unlink(missing_ok=True)
        run = await desk.run(
            "java", "--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp", _path(layout.classes, *jars),
            f"-Dbilling.input={data}", f"-Dbilling.output={actual}", main, str(data), str(actual),
        )  # fmt: skip
        if not run.ok:
            return _complaint(run)
        if not actual.is_file():
            return f"{main} ended without an error and wrote no statement for {data.name}"
        if actual.read_bytes() != layout.expected(data).read_bytes():
            return f"{data.name}: - the COBOL program, + {main}\n" + await desk.difference(
                layout.expected(data), actual
            )
    return None


async def passes(desk: Desk, layout: Layout, tests: str, jars: tuple[Path, ...]) -> str | None:
    """What the tests say against the classes, or None."""
    run = await desk.run("java", "-cp", _path(layout.classes, *jars), "org.junit.runner.JUnitCore", tests)
    return _complaint(run)


def spring_jars() -> tuple[Path, ...]:
    """Spring's jars as Debian's package libspring-context-java installs them; empty where it is not."""
    return _all([JARS / f"spring3-{part}.jar" for part in SPRING] + [JARS / "commons-logging.jar"])


def junit_jars() -> tuple[Path, ...]:
    """JUnit's jars as Debian's package junit4 installs them; empty where it is not."""
    return _all([JARS / "junit4.jar", JARS / "hamcrest-core.jar"])


def _all(jars: list[Path]) -> tuple[Path, ...]:
    return tuple(jars) if all(jar.is_file() for jar in jars) else ()


def _path(*parts: Path) -> str:
    return os.pathsep.join(map(str, parts))


def _complaint(run: Run) -> str | None:
    return None if run.ok else run.text
