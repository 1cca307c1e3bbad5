"""Programs from npm, each set of them in an environment of its own under ``.venvs/node``.

A set is a folder ``tests/clients/data/node/NAME`` with a ``package.json`` that pins exact versions and a
``package-lock.json``; its environment is ``.venvs/node/NAME``. Sets are apart so that changing one leaves
the others standing. The set ``runtime`` holds Node itself, whose version the others need.

    environment = prepare("protocol")              # seconds where it is there already
    environment.version("@modelcontextprotocol/inspector")
    subprocess.run(environment.command("mcp-inspector", "--cli", ...), env=environment.variables(home))

Install scripts never run on their own. A package that needs its own is named in the ``package.json`` of
the set, as a script that Node runs in that package's folder once everything is there::

    "afterInstall": ["some-package/install.cjs"]

After a change of a ``package.json`` write its lock anew and commit both; it names no registry::

    python -m tests.clients.node lock NAME

``python -m tests.clients.node prepare [NAME...]`` prepares sets, by default all.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).resolve().parent / "data" / "node"
ENVIRONMENTS = ROOT / ".venvs" / "node"
RUNTIME = "runtime"
STAMP = ".stamp"
INSTALL_SECONDS = 600
#: Locks name no registry, so that any will do.
QUIET = ("--omit-lockfile-registry-resolved", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error")


@dataclass(frozen=True)
class NodeEnvironment:
    """One set of packages, installed.

    Attributes:
        folder: where ``node_modules`` is.
        node: the program that runs its scripts.
    """

    folder: Path
    node: Path

    def package(self, name: str) -> Path:
        """The folder of an installed package."""
        return self.folder / "node_modules" / name

    def manifest(self, name: str) -> dict[str, Any]:
        """The ``package.json`` of an installed package."""
        text = (self.package(name) / "package.json").read_text(encoding="utf-8")
        manifest: dict[str, Any] = json.loads(text)
        return manifest

    def version(self, name: str) -> str:
        """The version of an installed package."""
        version: str = self.manifest(name)["version"]
        return version

    def program(self, name: str) -> Path:
        """The script or binary that ``node_modules/.bin/NAME`` stands for."""
        return (self.folder / "node_modules" / ".bin" / name).resolve(strict=True)

    def command(self, name: str, *arguments: str) -> list[str]:
        """The command line of a program: by Node where it is a script, by itself where it is a binary."""
        program = self.program(name)
        with program.open("rb") as file:
            script = not file.read(4).startswith(b"\x7fELF")
        return [*([str(self.node)] if script else []), str(program), *arguments]

    def variables(self, home: Path, **more: str) -> dict[str, str]:
        """An environment with nothing of the caller's: a home of its own, and Node first on the path."""
        return {
            "HOME": str(home),
            "PATH": os.pathsep.join([str(self.node.parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "CI": "1",
            **more,
        }


def prepare(name: str, data: Path = DATA) -> NodeEnvironment:
    """Install a set where it is not there as its lock says; safe to call from several processes.

    ``data``: where the folder of the set is, if not among those of the tests of clients.

    Raises:
        RuntimeError: npm is missing or failed; the text holds what it said.
    """
    return NodeEnvironment(_installed(name, data), node_program())


def node_program() -> Path:
    """Node of the version that the programs need, installed where it is not there.

    Raises:
        RuntimeError: as :func:`prepare`.
    """
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    return _installed(RUNTIME) / "node_modules" / f"node-{sys.platform}-{machine}" / "bin" / "node"


def sets() -> list[str]:
    """The names of all sets."""
    return sorted(folder.parent.name for folder in DATA.glob("*/package.json"))


def _installed(name: str, data: Path = DATA) -> Path:
    """The folder of a set, installed as its lock says."""
    files = {file: (data / name / file).read_bytes() for file in ("package.json", "package-lock.json")}
    stamp = hashlib.sha256(b"\0".join(files.values())).hexdigest()
    folder = ENVIRONMENTS / name
    with _locked(name):
        mark = folder / STAMP
        if mark.is_file() and mark.read_text(encoding="utf-8") == stamp:
            return folder
        folder.mkdir(exist_ok=True)
        mark.unlink(missing_ok=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        # Not `npm ci`, which refuses a lock without an optional package that a registry does not have.
        _npm(folder, "install", "--ignore-scripts", *QUIET)
        if json.loads((folder / "package-lock.json").read_bytes()) != json.loads(files["package-lock.json"]):
            raise RuntimeError(f"the lock of {name} does not fit: python -m tests.clients.node lock {name}")
        for script in json.loads(files["package.json"]).get("afterInstall", []):
            _after(folder, script)
        mark.write_text(stamp, encoding="utf-8")
    return folder


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Others that want the same set wait until it is there."""
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    with (ENVIRONMENTS / f"{name}.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _after(folder: Path, script: str) -> None:
    """Run an install script by Node, in the folder of its package."""
    path = folder / "node_modules" / script
    package = next(parent for parent in path.parents if (parent / "package.json").is_file())
    _run([str(node_program()), str(path)], package, {**os.environ, "PATH": _path_with_node()})


def _path_with_node() -> str:
    return os.pathsep.join([str(node_program().parent), os.environ.get("PATH", os.defpath)])


def _npm(folder: Path, *arguments: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is not on the PATH; on Debian and Ubuntu: apt install npm")
    _run([npm, *arguments], folder, os.environ)


def _run(command: list[str], folder: Path, variables: Mapping[str, str]) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}".strip()[-4000:]
        raise RuntimeError(f"{' '.join(command)} in {folder} ended with {done.returncode}: {said}")


def main(arguments: list[str]) -> int:
    """Write a lock, or prepare sets."""
    match arguments:
        case ["lock", name]:
            _npm(
                DATA / name,
                *("install", "--package-lock-only", "--ignore-scripts", *QUIET),
            )
        case ["prepare", *names]:
            for name in names or sets():
                sys.stdout.write(f"{prepare(name).folder}\n")
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
