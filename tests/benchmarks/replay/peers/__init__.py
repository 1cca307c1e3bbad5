"""The peers that the replay is run with, each pinned in a file under ``data``, installed in ``.venvs``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.benchmarks.replay.systems import UPSTREAM, Server
from tests.clients import environments, node

DATA = Path(__file__).resolve().parent / "data"


def context_mode(_folder: Path, _home: Path) -> list[Server]:
    """Installed without the scripts of its dependencies; ``server.bundle.mjs`` needs none of them."""
    environment = node.prepare("context-mode", DATA)
    bundle = environment.package("context-mode") / "server.bundle.mjs"
    # It looks on its path for a Python to run the programs with that it is given.
    places = [environment.node.parent, Path(sys.executable).parent, os.environ["PATH"]]
    return [Server([str(environment.node), str(bundle)], {"PATH": os.pathsep.join(map(str, places))})]


def ctxtual(folder: Path, _home: Path) -> list[Server]:
    """In front of the same server as ours."""
    return [Server([*ctxtual_wrap(), *UPSTREAM, str(folder)], {})]


def ctxtual_wrap() -> list[str]:
    """The command that stands before a server's, with ctxtual's own defaults."""
    environment = environments.prepare("ctxtual", DATA / "ctxtual.txt")
    return [str(environment.folder / "bin" / "ctxtual"), "wrap", "--"]
