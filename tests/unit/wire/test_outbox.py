"""Lines leave whole and in order; a slow or absent reader blocks nobody else."""

from __future__ import annotations

import os
import threading

from mcp_offload.wire.outbox import FULL_BYTES, Outbox


def _read_all(fd: int) -> bytes:
    parts: list[bytes] = []
    while chunk := os.read(fd, 65_536):
        parts.append(chunk)
    return b"".join(parts)


def test_lines_arrive_in_order_and_drain_says_so() -> None:
    read_fd, write_fd = os.pipe()
    outbox = Outbox(write_fd, lambda: None)
    outbox.start()
    for number in range(100):
        outbox.put(b"%d\n" % number)
    assert outbox.drain(5)
    os.close(write_fd)
    assert _read_all(read_fd) == b"".join(b"%d\n" % number for number in range(100))
    os.close(read_fd)


def test_a_short_line_leaves_at_once_where_nothing_waits() -> None:
    read_fd, write_fd = os.pipe()
    outbox = Outbox(write_fd, lambda: None)  # its thread is not started
    outbox.put(b"short\n")
    assert os.read(read_fd, 100) == b"short\n"
    outbox.put(b"x" * 5000 + b"\n")
    outbox.put(b"later\n")  # never before the one that waits
    outbox.start()
    assert outbox.drain(30)
    os.close(write_fd)
    assert _read_all(read_fd) == b"x" * 5000 + b"\nlater\n"
    os.close(read_fd)


def test_a_reader_that_does_not_read_makes_it_full_and_blocks_no_producer() -> None:
    read_fd, write_fd = os.pipe()
    outbox = Outbox(write_fd, lambda: None)
    outbox.start()
    line = b"x" * (FULL_BYTES // 4) + b"\n"
    for _ in range(5):
        outbox.put(line)
    assert outbox.full
    assert not outbox.wait_for_room(0.01)
    assert not outbox.drain(0.01)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(_read_all(read_fd)))
    reader.start()
    assert outbox.wait_for_room(30)
    assert outbox.drain(30)
    os.close(write_fd)
    reader.join(30)
    assert received == [line * 5]
    os.close(read_fd)


def test_a_descriptor_that_does_not_block_loses_nothing() -> None:
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    gone = threading.Event()
    outbox = Outbox(write_fd, gone.set)
    outbox.start()
    line = b"x" * 1_000_000 + b"\n"
    outbox.put(line)
    assert not outbox.drain(0.01)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(_read_all(read_fd)))
    reader.start()
    assert outbox.drain(30)
    os.close(write_fd)
    reader.join(30)
    assert received == [line]
    assert not gone.is_set()
    os.close(read_fd)


def test_a_reader_that_is_gone_is_told_once_and_later_lines_are_dropped() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    gone = threading.Event()
    outbox = Outbox(write_fd, gone.set)
    outbox.start()
    outbox.put(b"lost\n")
    assert gone.wait(5)
    outbox.put(b"dropped\n")
    assert outbox.drain(5)
    os.close(write_fd)
