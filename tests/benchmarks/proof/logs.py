"""Logs of runs that really were: two builds, and a CI job. Only the durations in them vary."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.proof.inputs import MODULES, NOUNS, VERBS

CONFTEST = """import pytest


class ManifestMissing(Exception):
    pass


class StorageUnavailable(Exception):
    pass


def _manifest(bucket):
    raise ManifestMissing(f"no manifest in bucket {bucket}")


@pytest.fixture
def storage():
    try:
        return _manifest("eu-tax-2031")
    except ManifestMissing as error:
        raise StorageUnavailable("storage of rates cannot be opened") from error
"""


CASES = """import pytest


@pytest.mark.parametrize("case", range({count}))
def test_{name}(case):
    assert {holds}
"""
#: Which case of a test fails in the builds that are compared.
BUILDS = {"before": {"fold_batch": 3}, "after": {"clear_claim": 7, "bound_charge": 11}}
BUILD_CASES = 60
JOB_CASES = 38
#: Where nobody's settings are found.
PYTEST = (
    "-m", "pytest", "-vv", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null",
)  # fmt: skip


def write_logs(folder: Path) -> None:
    """Run suites that are written for it and removed again; their logs are left in the folder ``logs``."""
    suite, logs = folder / "suite", folder / "logs"
    suite.mkdir()
    logs.mkdir()
    (suite / "conftest.py").write_text(CONFTEST)
    names = [f"{verb}_{noun}" for verb in VERBS[:6] for noun in NOUNS[:5]]
    for build, broken in BUILDS.items():
        _tests(suite, names, broken, BUILD_CASES)
        (logs / f"{build}.log").write_text(_pytest(folder, suite))
    _tests(suite, names, {}, JOB_CASES)
    (suite / "test_zz_storage.py").write_text("def test_rates_are_stored(storage):\n    assert storage\n")
    (logs / "ci.log").write_text(_as_job(_pytest(folder, suite)))
    shutil.rmtree(suite)


def _tests(suite: Path, names: list[str], broken: dict[str, int], count: int) -> None:
    for name in names:
        holds = f"case != {broken[name]}" if name in broken else "case >= 0"
        (suite / f"test_{name}.py").write_text(CASES.format(count=count, name=name, holds=holds))


def _pytest(folder: Path, suite: Path) -> str:
    done = subprocess.run(
        [sys.executable, *PYTEST, "--rootdir", str(folder), suite.name],
        cwd=folder, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    plain = done.stdout.replace(str(folder), "/home/runner/work/shop")
    return plain.replace(sys.executable, "/usr/bin/python")


def _as_job(log: str) -> str:
    """A log as a CI job shows it: with times, groups, and steps before and after."""
    before = [_group(f"Install {name}", f"Collecting {name}", f"Installing {name}") for name in MODULES]
    after = [_group(f"Clean up {noun}", f"Removing {noun}") for noun in NOUNS * 12]
    lines = "\n".join([*before, log, "##[error]Process completed with exit code 1.", *after]).split("\n")
    return "".join(f"{_time(at)} {line}\n" for at, line in enumerate(lines))


def _group(title: str, *lines: str) -> str:
    return "\n".join([f"##[group]{title}", *lines, "##[endgroup]"])


def _time(tenths: int) -> str:
    return f"2026-03-02T10:{tenths // 600 % 60:02d}:{tenths // 10 % 60:02d}.{tenths % 10}000000Z"
