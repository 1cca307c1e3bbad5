"""What the agents are asked to do, and how it is told whether they have done it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.proof.inputs import CODES, OLD_FILLERS, RIGHT, USERS
from tests.benchmarks.replay.agent import Task

SYSTEM = (
    "You work on a repository with the tools you are given. Do what you are asked, check it, and give "
    "the answers."
)


@dataclass(frozen=True, slots=True)
class Work:
    """A task, and a check of what it left behind: why it is not done, or nothing."""

    task: Task
    check: Callable[[Path], str]


def _nothing(_folder: Path) -> str:
    return ""


def _tests_pass(*paths: str) -> Callable[[Path], str]:
    def check(folder: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *paths],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        return "" if done.returncode == 0 else done.stdout[-400:]

    return check


def _renamed(folder: Path) -> str:
    for path in (folder / "shop").glob("*.py"):
        if "net_of" in path.read_text(encoding="utf-8"):
            return f"{path.name} still says net_of"
    return _tests_pass("tests/test_uses.py")(folder)


def _migrated(folder: Path) -> str:
    text = (folder / "shop" / "ledger.py").read_text(encoding="utf-8")
    if "taxes.compute" in text:
        return "taxes.compute is still called"
    if text.count("\ndef ") != (OLD_FILLERS + 1) * len(CODES) + 10:
        return "functions are missing"
    return _tests_pass("tests/test_ledger.py")(folder)


def works() -> list[Work]:
    """The five tasks."""
    return [
        Work(
            Task(
                "root cause",
                "The CI job of logs/ci.log failed: one test ended with an ERROR in its fixture. Which test, "
                "which exception was raised (type: what it says), and what did the first exception of that "
                "chain (... Missing) say?",
                (
                    "test_rates_are_stored",
                    "StorageUnavailable: storage of rates cannot be opened",
                    "no manifest in bucket eu-tax-2031",
                ),
            ),
            _nothing,
        ),
        Work(
            Task(
                "fix a failing test",
                "test_reduced_rate_abroad in tests/test_checkout.py fails: a rate is wrong. Follow it "
                "through class Checkout in shop/checkout.py, shop/pricing.py and shop/rates.py, whose head "
                "states the right rates (PT: reduced). Correct the constant and run the tests of "
                "tests/test_checkout.py (python -m pytest -q) until all are passed. Which function adds the "
                "tax, which looks up the rate, and what is the right rate?",
                ("gross_of", "rate_of", RIGHT),
            ),
            _tests_pass("tests/test_checkout.py"),
        ),
        Work(
            Task(
                "rename across files",
                "Rename net_of of shop/pricing.py to net_amount, there and in all modules of the folder shop "
                "that import or call it, and run the tests of tests/test_uses.py (python -m pytest -q) until "
                "all are passed. How many were passed?",
                (str(len(USERS)),),
            ),
            _renamed,
        ),
        Work(
            Task(
                "compare two builds",
                "logs/before.log and logs/after.log are two runs of the same tests, each with a line for "
                "every test. Which tests are FAILED only in the second (two), and which only in the first?",
                (
                    "suite/test_bound_charge.py::test_bound_charge[11]",
                    "suite/test_clear_claim.py::test_clear_claim[7]",
                    "suite/test_fold_batch.py::test_fold_batch[3]",
                ),
            ),
            _nothing,
        ),
        Work(
            Task(
                "migrate a module",
                "shop/ledger.py calls taxes.compute(...), which is gone; docs/taxes.md says what to write "
                "instead. Migrate the module and run the tests of tests/test_ledger.py "
                "(python -m pytest -q) until all are passed. How many were passed?",
                (str(len(CODES)),),
            ),
            _migrated,
        ),
    ]
