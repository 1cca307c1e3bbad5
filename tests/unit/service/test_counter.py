"""Counting in the parser process: the same counts as here, and here where the process cannot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload.parsing import ParserWorker
from mcp_offload.service.counter import WorkerCounter
from mcp_offload.service.tally import Tally
from mcp_offload.tokens import TokenCounter, fits_surely

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
LOCAL = TokenCounter()
TEXTS = [
    "",
    "hello world",
    "größe = 'ß🧠'\n" * 300,
    "a\ud800b",
    "x " * 60_000,
    b"\xff\xe2\x82",
    b"def f(): pass\n",
]


@pytest.fixture(scope="module")
def worker() -> Iterator[ParserWorker]:
    with ParserWorker() as worker:
        worker.start()
        yield worker


def test_counts_are_those_of_the_vocabulary_here(worker: ParserWorker) -> None:
    counter = WorkerCounter(worker)
    expected = [LOCAL.count(text) for text in TEXTS]
    assert counter.count_many(TEXTS) == expected
    assert [counter.count(text) for text in TEXTS] == expected
    chunks = ["größe".encode()[:3], "größe".encode()[3:], b"\n" * 9]
    assert counter.count_stream(chunks) == LOCAL.count("größe" + "\n" * 9)


@pytest.mark.parametrize("budget", [-1, 0, 4, 30, 500, 100_000])
def test_what_fits_is_what_fits_here(worker: ParserWorker, budget: int) -> None:
    counter = WorkerCounter(worker)
    for text in (text for text in TEXTS if isinstance(text, str)):
        length = counter.fit(text, budget)
        assert length == LOCAL.fit(text, budget)
        assert counter.count(text[:length]) == LOCAL.count(text[:length])


def _loaded(steps: str) -> str:
    """What steps print in a process of their own, and then whether it has loaded the vocabulary."""
    code = (
        "import sys\n"
        "from mcp_offload.parsing import ParserWorker\n"
        "from mcp_offload.service.counter import WorkerCounter\n"
        "worker = ParserWorker()\n"
        "counter = WorkerCounter(worker)\n"
        f"{steps}\n"
        "print('toktok' in sys.modules)\n"
        "worker.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_vocabulary_is_not_loaded_here_while_the_process_counts() -> None:
    steps = "worker.start()\nprint(counter.count('hello world'), counter.fit('hello world ' * 9, 4))"
    assert _loaded(steps).split() == ["2", str(LOCAL.fit("hello world " * 9, 4)), "False"]


@pytest.mark.parametrize(
    "before",
    ["pass", "worker.start(); worker.kill()", "worker.start(); counter.count('a'); worker.kill()"],
    ids=["not started", "killed while it starts", "killed"],
)
def test_without_the_process_the_vocabulary_is_loaded_here(before: str) -> None:
    steps = f"{before}\nprint(counter.count('hello world'), counter.fit('hello world ' * 9, 4))"
    assert _loaded(steps).split() == ["2", str(LOCAL.fit("hello world " * 9, 4)), "True"]


def test_bytes_prove_that_a_text_fits() -> None:
    assert fits_surely("abc", 3)
    assert not fits_surely("abcd", 3)
    assert not fits_surely("ä☃", 4)
    assert fits_surely("\ud800", 3)


class Counting(TokenCounter):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def count_many(self, texts: object) -> list[int]:
        self.asked += 1
        return super().count_many(texts)  # type: ignore[arg-type]


def _taken_singly(lines: list[str], budget: int) -> list[str]:
    taken: list[str] = []
    for line in lines:
        tokens = LOCAL.count(line)
        if tokens <= budget:
            budget -= tokens
            taken.append(line)
    return taken


@pytest.mark.parametrize("budget", [0, 5, 40, 100, 399, 400, 5000])
def test_a_tally_takes_what_counting_each_would_and_counts_less(budget: int) -> None:
    lines = [f"f{n}#Invoice.größe m L{n}-{n + 7} 180t\n" for n in range(30)]
    counter = Counting()
    tally = Tally(counter, budget)
    taken = [line for line in lines if tally.take(line)]
    assert taken == _taken_singly(lines, budget)
    assert tally.left == budget - sum(LOCAL.count(line) for line in taken)
    if budget == 5000:
        assert counter.asked == 1
