from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload.errors import StoreBusyError
from mcp_offload.store.locks import FairLock, Gate, SessionLost, WriterLock, open_lock_file

SOON = 0.05


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_waiting_threads_are_served_in_the_order_of_asking() -> None:
    lock = FairLock()
    lock.acquire(1)
    order: list[int] = []
    threads: list[threading.Thread] = []

    def work(number: int) -> None:
        lock.acquire(30)
        order.append(number)
        lock.release()

    for number in range(5):
        thread = threading.Thread(target=work, args=(number,))
        threads.append(thread)
        thread.start()
        while len(lock._waiters) <= number:  # until it stands in the queue
            thread.join(0.001)
    lock.release()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_thread_that_gives_up_leaves_the_queue() -> None:
    lock = FairLock()
    lock.acquire(1)
    with pytest.raises(StoreBusyError):
        lock.acquire(SOON)
    lock.release()
    lock.acquire(SOON)


def held(directory: int, name: str, kind: int = fcntl.LOCK_EX) -> int:
    """What another process would hold: a lock of another open file description."""
    fd = open_lock_file(directory, name)
    fcntl.flock(fd, kind)
    return fd


def test_a_writer_in_another_process_keeps_us_out_until_it_ends(directory: int) -> None:
    lock = WriterLock(directory)
    fd = held(directory, "w.lock")
    with pytest.raises(StoreBusyError, match="did not finish in time"), lock.held(SOON):
        pass
    os.close(fd)
    with lock.held(SOON), pytest.raises(BlockingIOError):
        other = open_lock_file(directory, "w.lock")
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.close(1)


def test_a_wait_ends_when_the_other_process_lets_go(directory: int) -> None:
    lock = WriterLock(directory)
    fd = held(directory, "w.lock")
    entered = threading.Event()

    def work() -> None:
        with lock.held(30):
            entered.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert not entered.wait(SOON)
    os.close(fd)
    thread.join()
    assert entered.is_set()
    lock.close(1)


def test_a_wait_that_was_given_up_does_not_keep_the_lock_later(directory: int) -> None:
    lock = WriterLock(directory)
    fd = held(directory, "w.lock")
    with pytest.raises(StoreBusyError), lock.held(SOON):
        pass
    os.close(fd)  # the thread that still waits gets the lock now, and must drop it
    with lock.held(30):
        pass
    lock.close(1)


def test_a_closed_lock_says_that_the_session_is_lost(directory: int) -> None:
    lock = WriterLock(directory)
    lock.close(1)
    with pytest.raises(SessionLost), lock.held(SOON):
        pass


def test_readers_pass_together_and_a_checkpoint_waits_for_them(directory: int) -> None:
    one, two, writer = Gate(directory), Gate(directory), Gate(directory)
    with one.reading(SOON), two.reading(SOON), pytest.raises(StoreBusyError), writer.closed(SOON):
        pass
    with writer.closed(SOON), pytest.raises(StoreBusyError), one.reading(SOON):
        pass
    with one.reading(SOON):
        pass


def test_a_reader_that_comes_after_a_waiting_checkpoint_waits_behind_it(directory: int) -> None:
    early, late, writer = Gate(directory), Gate(directory), Gate(directory)
    order: list[str] = []
    turnstile = open_lock_file(directory, "turnstile.lock")

    def checkpoint() -> None:
        with writer.closed(30):
            order.append("checkpoint")

    def read() -> None:
        with late.reading(30):
            order.append("late reader")

    checkpointer, reader = threading.Thread(target=checkpoint), threading.Thread(target=read)
    with early.reading(1):
        checkpointer.start()
        while True:  # until the checkpoint holds the turnstile
            try:
                fcntl.flock(turnstile, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                break
            fcntl.flock(turnstile, fcntl.LOCK_UN)
        reader.start()
        reader.join(SOON)
        assert order == []
    checkpointer.join()
    reader.join()
    assert order == ["checkpoint", "late reader"]
    os.close(turnstile)


def test_a_lock_file_that_is_a_link_is_refused(directory: int, tmp_path: Path) -> None:
    (tmp_path / "w.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        open_lock_file(directory, "w.lock")
    assert not (tmp_path / "elsewhere").exists()
