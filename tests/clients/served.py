"""A server over HTTP for clients that are processes themselves."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from tests.process.stdio.rig import ROOT


@contextmanager
def served(command: list[str], told_on: Literal["stdout", "stderr"] = "stderr") -> Iterator[str]:
    """Start a server and give the URL that its first line tells; it is killed at the end."""
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, told_on: subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, text=True, **pipes) as process:
        try:
            line = getattr(process, told_on).readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            yield found[0]
        finally:
            process.kill()
