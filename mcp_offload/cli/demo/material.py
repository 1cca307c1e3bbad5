"""What the demonstration works on: two releases of a package from the index and its own test suite.

The tests of the newer release fail on the sources of the older one for real reasons; the newer sources
hold the maintainers' own fixes.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PACKAGE: Final = "sqlparse"
BROKEN: Final = "0.5.0"
FIXED: Final = "0.5.1"
_PYTEST: Final = "pytest==9.0.2"
_TIMEOUT_SECONDS: Final = 300


class MaterialError(Exception):
    """The package could not be fetched or its tests could not be run; says why."""


@dataclass(frozen=True, slots=True)
class Material:
    """Where things are.

    Attributes:
        project: the checkout the agent works in: the older sources with the newer tests.
        fixed: the newer sources, which only the scripted agent's "knowledge" comes from.
        wheel: the older release's build artifact.
    """

    project: Path
    fixed: Path
    wheel: Path
    site: Path

    def run_tests(self) -> tuple[Path, int]:
        """Run the project's tests, writing its output to ``test.log``; returns that and the exit status."""
        log = self.project / "test.log"
        command = [sys.executable, "-m", "pytest", "-vv", "-p", "no:cacheprovider", "-c", "/dev/null"]
        command += ["--rootdir", ".", "tests"]
        with log.open("wb") as out:
            done = subprocess.run(
                command,
                cwd=self.project,
                env={
                    "PYTHONPATH": f"{self.site}:{self.project}",
                    "PATH": "/usr/bin:/bin",
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        return log, done.returncode


def prepare(folder: Path) -> Material:
    """Fetch both releases, build the older one's wheel and lay out the project.

    Raises:
        MaterialError: the package index cannot be reached, or a release is not what it was.
    """
    downloads = folder / "downloads"
    for version in (BROKEN, FIXED):
        _pip(
            "download", "--no-deps", "--no-binary", ":all:", "--dest", str(downloads), f"{PACKAGE}=={version}"
        )
    site = folder / "site"
    _pip("install", "--target", str(site), _PYTEST)
    for archive in sorted(downloads.glob(f"{PACKAGE}-*.tar.gz")):
        with tarfile.open(archive) as tar:
            tar.extractall(folder / "releases", filter="data")
    broken, fixed = (folder / "releases" / f"{PACKAGE}-{version}" for version in (BROKEN, FIXED))
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder / "project" / "dist"), str(broken))
    project = folder / "project"
    try:
        (broken / PACKAGE).rename(project / PACKAGE)
        (fixed / "tests").rename(project / "tests")
        (wheel,) = (project / "dist").glob("*.whl")
    except (OSError, ValueError) as exc:
        raise MaterialError(f"The releases of {PACKAGE} are not laid out as expected: {exc}") from exc
    return Material(project, fixed / PACKAGE, wheel, site)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False, encoding="utf-8"
        )
    except subprocess.TimeoutExpired as exc:
        raise MaterialError(f"pip {arguments[0]} did not end within {_TIMEOUT_SECONDS} s.") from exc
    if done.returncode:
        raise MaterialError(f"pip {' '.join(arguments[:2])} failed:\n{done.stderr.strip()[-2000:]}")
