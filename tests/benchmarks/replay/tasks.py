"""The tasks: their inputs, their questions, and the answers known beforehand.

Those of :func:`own_tasks` work on what is committed beside this module, those of :func:`corpus_tasks` on real
logs, sources and results of MCP servers in the corpus, whose descriptions hold the answers.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.benchmarks.replay.agent import Task

DATA = Path(__file__).resolve().parent / "data"
LOGS = (
    "th_asan_8904",
    "tp_django32_runner",
    "pt_gha_error_log_4767",
    "tp_flask012_272_failures_one_cause",
    "am_msbuild_11_errors",
)
SOURCES = ("pep701_test_fstring.py", "cpp_nlohmann_json.hpp")
#: Name of the tool that gives the result, and of the file that holds it.
RESULTS = {"directory_tree": "fs_directory_tree.json", "git_log": "git_log_60.json"}


def own_tasks() -> list[Task]:
    """On a small project, two runs of its tests, and a listing of jobs."""
    return [
        Task(
            "failing test",
            "A test FAILED in the pytest log runs/after.log. Which one (its name), in which file and line, "
            "and which assert did not hold?",
            ("test_reduced_rate_abroad", "tests/test_checkout.py", "35", "assert 165.4 == 111.4"),
        ),
        Task(
            "compare two runs",
            "runs/before.log and runs/after.log are two runs of the same tests. Which test FAILED only in "
            "the second, and which only in the first?",
            (
                "tests/test_checkout.py::test_reduced_rate_abroad",
                "tests/test_pricing.py::test_refund[14-50.0]",
            ),
        ),
        Task(
            "field of a result",
            "list_jobs gives the jobs of a pipeline (its result is also in results/list_jobs.json). One has "
            "the status failed: what are its name, its runner's name, and its exit_code?",
            ("unit-187", "runner-46-a", "137"),
        ),
        Task(
            "through three files",
            "In tests/test_checkout.py the test test_reduced_rate_abroad fails: the total is too high. "
            "Follow it through the sources in shop (checkout.py, pricing.py, rates.py). Which function adds "
            "the tax, which one looks the rate up, and which constant of which value is it?",
            ("gross", "rate_of", "REDUCED_PT", "0.60"),
        ),
        Task(
            "body of a function",
            "What does the def of the function instalments in shop/pricing.py say, and what does it return?",
            (
                "def instalments(total: float, months: int) -> list[float]:",
                "[part] * (months - 1) + [round(total - part * (months - 1), 2)]",
            ),
        ),
    ]


def _expected(corpus: Path, log: str) -> dict[str, Any]:
    described = json.loads((corpus / "logs" / f"{log}.json").read_bytes())
    expected: dict[str, Any] = described["expected"]
    return expected


def corpus_tasks(corpus: Path) -> list[Task]:
    """On real logs, sources and results; a log's answers are those of its description."""
    asan, django, gha, flask, msbuild = (_expected(corpus, log)["failures"][0] for log in LOGS)
    return [
        Task(
            "sanitizer",
            "The job of the CI log logs/th_asan_8904.log ended with an ERROR of AddressSanitizer. Of what "
            "kind, and where in toolkit/components (which file, which line)?",
            (asan["name"], asan["file"], str(asan["line"])),
        ),
        Task(
            "error among names",
            "Of the tests in logs/tp_django32_runner.log one ended with an ERROR (not a FAIL). Which one, in "
            "which line of its test's file, and with which ValueError?",
            (django["name"].split()[0], str(django["line"]), django["message"]),
        ),
        Task(
            "root cause",
            "The job of the log logs/pt_gha_error_log_4767.log failed by an exception of Python, the last of "
            "a chain. Of which type is it, and what does it say?",
            (gha["name"], gha["message"].removeprefix(f"{gha['name']}: ")),
        ),
        Task(
            "one cause of many",
            "Most of 272 failures in the pytest log logs/tp_flask012_272_failures_one_cause.log have one "
            "cause, an AttributeError. What does it say, in which file and line?",
            (flask["message"].removeprefix("AttributeError: "), flask["file"], "744"),
        ),
        Task(
            "build errors",
            "Of what code are the errors (error MSB...) in the MSBuild log logs/am_msbuild_11_errors.log, "
            "and which line of Microsoft.Common.targets reports them?",
            (msbuild["name"], str(msbuild["line"])),
        ),
        Task(
            "tree of a result",
            "directory_tree gives a tree (its result is also in results/directory_tree.json). Which files "
            "are in the directory with the name geoip2, after __init__.py?",
            ("base.py", "resources.py"),
        ),
        Task(
            "commit",
            "git_log gives 60 commits (its result is also in results/git_log.json). Which Commit has the "
            "Message: Release v2.1.0, and of which Date is it?",
            ("14d61e6e75e3f3c74551d757ad936e8e88014464", "2023-10-19 00:26:39+01:00"),
        ),
        Task(
            "method",
            "What does the def of assertAllRaise in pep701_test_fstring.py say, and what stands in its "
            "innermost line?",
            ("def assertAllRaise(self, exception_type, regex, error_strings):", "eval(str)"),
        ),
        Task(
            "C++ method",
            "In cpp_nlohmann_json.hpp, how is the method unflatten() const of basic_json declared, and what "
            "does it return?",
            ("basic_json unflatten() const", "json_pointer::unflatten(*this)"),
        ),
    ]


def prepare(folder: Path, corpus: Path | None) -> list[Task]:
    """Put the inputs where an agent works, and return the tasks on them."""
    shutil.copytree(
        DATA / "project", folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )
    for part in ("runs", "results"):
        shutil.copytree(DATA / part, folder / part)
    if corpus is None:
        return own_tasks()
    (folder / "logs").mkdir()
    for log in LOGS:
        shutil.copy(corpus / "logs" / f"{log}.log", folder / "logs")
    for source in SOURCES:
        shutil.copy(corpus / "src" / source, folder)
    for tool, file in RESULTS.items():
        shutil.copy(corpus / "mcp" / file, folder / "results" / f"{tool}.json")
    return own_tasks() + corpus_tasks(corpus)
