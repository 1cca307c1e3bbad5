"""The worker process: it answers, it is bounded, it is replaced, and it never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from mcp_offload.models import Outline
from mcp_offload.outline import outline
from mcp_offload.parsing import Limits, ParserWorker, WorkerUnavailableError
from mcp_offload.tokens import LARGE_BYTES, TokenCounter

pytestmark = pytest.mark.process

PYTHON = b"class A:\n    def m(self):\n        return 1\n"
# Enough text that no machine outlines it in the time allowed.
SLOW_JSON = b'{"a": [' + b'{"b": 1},' * 1_500_000 + b"1]}"
SLOW_CODE = b"f(x[y{z`'\"(\n" * 60_000


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@pytest.fixture
def before() -> set[int]:
    return children()


@pytest.fixture
def worker(before: set[int]) -> Iterator[ParserWorker]:
    with ParserWorker() as worker:
        yield worker


def started(before: set[int]) -> int:
    (pid,) = children() - before
    return pid


def with_tokens(found: Outline, view: bytes) -> Outline:
    """The outline as the worker has to give it: every symbol and the view counted."""
    count = TokenCounter().count
    symbols = (replace(s, tokens=count(view[s.span.start_byte : s.span.end_byte])) for s in found.symbols)
    return replace(found, symbols=tuple(symbols), tokens=count(view))


def test_it_answers_like_the_outline_itself(worker: ParserWorker) -> None:
    for view, language, name in (
        (PYTHON, "python", "a.py"),
        (b"{}", "json", ""),
        (b"x", None, "a.zig"),
        (b"", "c", ""),
    ):
        expected = with_tokens(outline(view, language, name), view)
        assert worker.outline(view, language, name) == expected


def test_it_starts_on_first_use_and_stays(before: set[int]) -> None:
    with ParserWorker() as worker:
        assert children() == before
        worker.outline(PYTHON, "python")
        pid = started(before)
        worker.outline(PYTHON, "python")
        assert started(before) == pid
    assert children() == before


def test_closing_twice_or_before_use_is_fine(before: set[int]) -> None:
    worker = ParserWorker()
    worker.close()
    worker.outline(PYTHON, "python")
    worker.close()
    worker.close()
    assert children() == before


def test_texts_larger_than_a_pipe_pass(worker: ParserWorker) -> None:
    view = b"".join(b"def f%d(a, b):\n    return a\n\n" % number for number in range(20_000))
    found = worker.outline(view, "python")
    assert len(found.symbols) == 20_000
    assert found.symbols[-1].end_line == view.count(b"\n") - 1


def test_a_parse_that_takes_too_long_is_stopped_and_the_next_is_fine(before: set[int]) -> None:
    with ParserWorker(Limits(seconds=0.3, seconds_per_mib=0, grace=1000)) as worker:
        worker.outline(PYTHON, "python")
        pid = started(before)
        found = worker.outline(SLOW_CODE, "java")
        assert (found.parsed, found.reason) == (False, "parser stopped after 0.3 s")
        assert found.symbols
        assert started(before) == pid
        assert worker.outline(PYTHON, "python").parsed


def test_a_worker_that_hangs_is_killed_and_replaced(before: set[int]) -> None:
    with ParserWorker(Limits(seconds=0.4, seconds_per_mib=0, grace=1)) as worker:
        found = worker.outline(SLOW_JSON, "json")
        assert (found.parsed, found.reason) == (False, "parser stopped after 0.4 s")
        assert found.symbols
    with ParserWorker(Limits(seconds=0.4, seconds_per_mib=0, grace=1)) as worker:
        worker.outline(SLOW_JSON, "json")
        assert worker.outline(b"{}", "json") == with_tokens(outline(b"{}", "json"), b"{}")


def test_a_worker_without_memory_is_replaced() -> None:
    with ParserWorker(Limits(memory_bytes=1 << 20, memory_per_byte=0)) as worker:
        found = worker.outline(SLOW_CODE, "python")
        assert (found.parsed, found.reason) == (False, "parser crashed")
        assert found.symbols


def test_a_worker_that_died_is_replaced(worker: ParserWorker, before: set[int]) -> None:
    worker.outline(PYTHON, "python")
    pid = started(before)
    os.kill(pid, signal.SIGKILL)
    psutil.Process(pid).wait(10) if psutil.pid_exists(pid) else None
    assert worker.outline(PYTHON, "python").parsed
    assert started(before) != pid


def test_a_view_above_the_limit_is_not_counted_unasked_but_its_symbols_are(worker: ParserWorker) -> None:
    view = b"# filler\n" * (LARGE_BYTES // 9) + b"def f():\n    return 1\n"
    found = worker.outline(view, "python")
    assert len(view) > LARGE_BYTES
    assert found.tokens is None
    assert found.symbols[-1].tokens == TokenCounter().count(b"def f():\n    return 1")


def test_it_starts_early_where_it_is_told_to(before: set[int]) -> None:
    with ParserWorker() as worker:
        assert not worker.started
        worker.start()
        pid = started(before)
        worker.start()
        assert worker.outline(PYTHON, "python").parsed
        assert started(before) == pid
    assert children() == before


def test_it_counts_and_fits_like_the_counter_itself(worker: ParserWorker) -> None:
    local = TokenCounter()
    texts = [b"", b"def f(): pass\n" * 9000, "größe ☃\n".encode() * 40, b"\xff\x00stray"]
    worker.start()
    assert worker.count(texts) == [local.count(text) for text in texts]
    assert worker.count([]) == []
    text = "".join(f"line {n} of größe\n" for n in range(900))
    for budget in (4, 17, 1000):
        length, tokens = worker.fit(text.encode(), budget)
        assert (length, tokens) == (local.fit(text, budget), local.count(text[:length]))


def test_counting_never_starts_the_process(worker: ParserWorker, before: set[int]) -> None:
    with pytest.raises(WorkerUnavailableError):
        worker.count([b"text"])
    assert children() == before


def test_counting_says_that_the_process_died_and_the_next_outline_replaces_it(worker: ParserWorker) -> None:
    worker.start()
    worker.kill()
    with pytest.raises(WorkerUnavailableError):
        worker.count([b"text" * 100])
    assert not worker.started
    assert worker.outline(PYTHON, "python").parsed
    assert worker.count([b"hello world"]) == [2]


def test_killing_ends_a_call_that_waits(worker: ParserWorker, before: set[int]) -> None:
    worker.outline(PYTHON, "python")
    answers: list[Outline] = []
    thread = threading.Thread(target=lambda: answers.append(worker.outline(SLOW_JSON * 4, "json")))
    thread.start()
    process = psutil.Process(started(before))
    while process.cpu_percent(0.01) < 50:
        assert thread.is_alive()
    worker.kill()
    thread.join(30)
    assert [answer.reason for answer in answers] == ["parser crashed"]


def test_callers_in_several_threads_get_their_own_answers(worker: ParserWorker) -> None:
    answers: dict[int, Outline] = {}

    def ask(number: int) -> None:
        answers[number] = worker.outline(b"def f%d(): pass\n" % number, "python")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: found.symbols[0].path for number, found in answers.items()} == {
        number: (f"f{number}",) for number in range(16)
    }


def test_the_extra_grammars_are_refused_a_folder_others_can_write_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with ParserWorker(grammar_cache=tmp_path) as worker:
        found = worker.outline(b"fun main() {}\n", "kotlin", "a.kt")
    assert (found.parsed, found.reason) == (False, "no parser for .kt")
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import os, sys, psutil
from mcp_offload.parsing import ParserWorker
worker = ParserWorker()
print(worker.outline(b"def f(): pass", "python").symbols[0].path[0])
print(psutil.Process().children()[0].pid, flush=True)
"""


def test_nothing_of_the_current_directory_is_imported_and_stdout_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the current directory')\n")
    script = tmp_path / "folder" / "script.py"
    script.parent.mkdir()
    script.write_text(SCRIPT + "worker.close()\n")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] == "f"
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)"])
def test_it_ends_with_its_parent(tmp_path: Path, end: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + end + "\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    pid = int(done.stdout.splitlines()[1])
    try:
        psutil.Process(pid).wait(10)
    except psutil.NoSuchProcess:
        return
    assert not psutil.pid_exists(pid)


def test_it_ends_with_a_parent_that_is_killed_while_it_parses(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT.replace(
            "ParserWorker()", "ParserWorker(Limits(seconds=0.5, seconds_per_mib=0, grace=1))"
        ).replace("import ParserWorker", "import Limits, ParserWorker")
        + "import threading\n"
        + "threading.Thread(target=worker.outline, args=(b'[1,' * 400_000, 'json'), daemon=True).start()\n"
        + "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    pid = int(done.stdout.splitlines()[1])
    try:
        psutil.Process(pid).wait(10)
    except psutil.NoSuchProcess:
        return
    assert not psutil.pid_exists(pid)
