"""Python frameworks, each in an environment of its own under ``.venvs``, because their pins conflict.

A framework is an example ``examples/frameworks/with_NAME.py`` that names what it needs in its head; what
that means exactly stands in ``data/frameworks/NAME.txt``, and its environment is ``.venvs/NAME``.

    environment = prepare("pydantic-ai")           # seconds where it is there already
    environment.version("pydantic-ai-slim")
    subprocess.run([environment.python, example("pydantic-ai"), LOG], ...)

After a change of an example's head, or for newer releases, write the pins anew and commit both::

    python -m tests.clients.environments pin NAME

``python -m tests.clients.environments prepare [NAME...]`` prepares environments, by default all.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "frameworks"
PINS = Path(__file__).resolve().parent / "data" / "frameworks"
ENVIRONMENTS = ROOT / ".venvs"
STAMP = ".stamp"
INSTALL_SECONDS = 600
#: More would wait for the same two cores.
AT_A_TIME = 2


@dataclass(frozen=True)
class Environment:
    """One framework, installed.

    Attributes:
        folder: the virtual environment.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def version(self, package: str) -> str:
        """The version of an installed package, as its own metadata tell it.

        Raises:
            LookupError: it is not installed.
        """
        for site in self.folder.glob("lib/python*/site-packages"):
            for found in distributions(name=package, path=[str(site)]):
                return found.version
        raise LookupError(f"{package} is not in {self.folder}")


def example(name: str) -> Path:
    """The example of a framework."""
    return EXAMPLES / f"with_{name.replace('-', '_')}.py"


def pins(name: str) -> Path:
    """The file that says what is installed for a framework."""
    return PINS / f"{name}.txt"


def frameworks() -> list[str]:
    """The names of all that have pins."""
    return sorted(path.stem for path in PINS.glob("*.txt"))


def prepare(name: str, pinned: Path | None = None) -> Environment:
    """Install a framework where it is not there as its pins say; safe to call from several processes.

    ``pinned``: the file with the pins of something else than a framework.

    Raises:
        RuntimeError: uv failed; the text holds what it said.
    """
    folder = ENVIRONMENTS / name
    pinned = pinned or pins(name)
    stamp = hashlib.sha256(pinned.read_bytes() + sys.version.encode()).hexdigest()
    with _locked(name):
        mark = folder / STAMP
        if mark.is_file() and mark.read_text(encoding="utf-8") == stamp:
            return Environment(folder)
        _uv("venv", "--clear", "--python", sys.executable, str(folder))
        _uv("pip", "sync", "--python", str(folder), str(pinned))
        mark.write_text(stamp, encoding="utf-8")
    return Environment(folder)


_FINDING = threading.Lock()


@contextmanager
def preparing(names: Iterable[str]) -> Iterator[dict[str, Future[Environment]]]:
    """Prepare several in the background, in this order, while the first are already used."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        try:
            yield {name: pool.submit(prepare, name) for name in names}
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Others that want the same environment wait until it is there."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    with (ENVIRONMENTS / f"{name}.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _uv(*arguments: str) -> None:
    with _FINDING:  # the table it reads, sysconfig fills while another thread sees it half full
        command = [find_uv_bin(), *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}".strip()[-4000:]
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {said}")


def _pin(name: str) -> None:
    """Write the newest versions that the example's head allows, for every platform and Python."""
    source, target = (str(path.relative_to(ROOT)) for path in (example(name), pins(name)))
    told = f"python -m tests.clients.environments pin {name}"
    options = ["--upgrade", "--universal", "--python-version=3.11", "--no-annotate"]
    _uv("pip", "compile", *options, f"--custom-compile-command={told}", f"--output-file={target}", source)


def main(arguments: list[str]) -> int:
    """Write pins, or prepare environments."""
    match arguments:
        case ["pin", *names] if names:
            for name in names:
                _pin(name)
        case ["prepare", *names]:
            with preparing(names or frameworks()) as under_way:
                for future in under_way.values():
                    sys.stdout.write(f"{future.result().folder}\n")
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
