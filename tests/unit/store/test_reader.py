from __future__ import annotations

import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_offload.errors import CorruptBlobError, SpanOutOfRangeError, StoreError
from mcp_offload.models import Span
from mcp_offload.store import BlobReader, Store, StoreConfig
from mcp_offload.store.config import BLOCK_BYTES
from mcp_offload.store.newlines import NewlineCounter
from tests.unit.store.helpers import Put, blob_files


def reader(data: bytes) -> BlobReader:
    counter = NewlineCounter()
    counter.update(data)
    return BlobReader(
        blake3="0" * 64,
        size_bytes=len(data),
        newlines=counter.newlines,
        ends_with_newline=counter.ends_with_newline,
        counts=counter.packed(),
        data=data,
    )


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their LF, by LF only."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


SAMPLES = [
    pytest.param(b"one\ntwo\nthree\n", id="plain"),
    pytest.param(b"one\ntwo", id="no newline at the end"),
    pytest.param(b"\n", id="one empty line"),
    pytest.param(b"\n\n\n" * 200_000, id="blank lines over blocks"),
    pytest.param(b"x" * (3 * BLOCK_BYTES), id="one huge line"),
    pytest.param(b"x" * (BLOCK_BYTES - 1) + b"\n" + b"y\n", id="newline ends a block"),
    pytest.param(b"a\r\nb\rc\x0bd\x0ce\xc2\x85f\n", id="only LF ends a line"),
    pytest.param((b"z" * 1000 + b"\n") * 1000, id="several blocks"),
]


@pytest.mark.parametrize("data", SAMPLES)
def test_windows_are_the_lines_a_split_would_give(data: bytes) -> None:
    lines = lines_of(data)
    with reader(data) as blob:
        assert blob.line_count == len(lines)
        picks = sorted({1, 2, len(lines) // 2, len(lines) - 1, len(lines)} & set(range(1, len(lines) + 1)))
        for first in picks:
            for last in (n for n in picks if n >= first):
                span = blob.line_span(first, last)
                assert blob.read(span.start_byte, span.end_byte) == b"".join(lines[first - 1 : last])


@pytest.mark.parametrize("data", SAMPLES)
def test_an_offset_lies_in_the_line_whose_span_holds_it(data: bytes) -> None:
    with reader(data) as blob:
        for offset in {0, 1, len(data) // 2, len(data) - 1, BLOCK_BYTES - 1, BLOCK_BYTES} & set(
            range(len(data))
        ):
            line = blob.line_of(offset)
            span = blob.line_span(line, line)
            assert span.start_byte <= offset < span.end_byte


@given(st.lists(st.sampled_from([b"\n", b"a", b"bb\n", b"x" * 70_000, b"\n" * 3000]), max_size=12), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_window_of_anything(parts: list[bytes], data: st.DataObject) -> None:
    content = b"".join(parts)
    lines = lines_of(content)
    with reader(content) as blob:
        assert blob.line_count == len(lines)
        if lines:
            first = data.draw(st.integers(1, len(lines)))
            last = data.draw(st.integers(first, len(lines)))
            span = blob.line_span(first, last)
            assert content[span.start_byte : span.end_byte] == b"".join(lines[first - 1 : last])
            assert blob.line_of(span.start_byte) == first


def test_an_empty_blob_has_no_lines() -> None:
    with reader(b"") as blob:
        assert blob.line_count == 0
        assert blob.line_of(0) == 1
        assert list(blob.chunks()) == []
        with pytest.raises(SpanOutOfRangeError):
            blob.line_span(1, 1)


def test_the_end_lies_in_the_last_line() -> None:
    assert reader(b"a\nb\n").line_of(4) == 2
    assert reader(b"a\nb").line_of(3) == 2


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1), (1, 4), (4, 4), (-1, 2)])
def test_lines_that_are_not_there_are_refused(first: int, last: int) -> None:
    with reader(b"1\n2\n3\n") as blob, pytest.raises(SpanOutOfRangeError, match="3 lines"):
        blob.line_span(first, last)


@pytest.mark.parametrize(("start", "end"), [(0, 6), (2, 100), (6, 9), (9, 12), (4, 2), (-3, 2)])
def test_a_range_is_cut_to_the_bytes_there_are(start: int, end: int) -> None:
    with reader(b"1\n2\n3\n") as blob:
        assert blob.read(start, end) == b"1\n2\n3\n"[max(0, start) : end]


@pytest.mark.parametrize("offset", [-1, 7])
def test_an_offset_that_is_not_there_has_no_line(offset: int) -> None:
    with reader(b"1\n2\n3\n") as blob, pytest.raises(SpanOutOfRangeError):
        blob.line_of(offset)


def test_a_window_without_any_byte_is_empty() -> None:
    assert reader(b"abc").read(2, 2) == b""


def test_a_file_has_a_path_and_small_content_has_none(store: Store, put: Put) -> None:
    large = b"line\n" * 10_000
    with store.open_view(put(large)[1]) as blob:
        assert blob.path is not None
        with open(blob.path, "rb") as file:
            assert file.read() == large
    with store.open_view(put(b"small")[1]) as blob:
        assert blob.path is None


def test_a_reader_outlives_the_release_of_what_it_reads(store: Store, put: Put) -> None:
    data = b"line\n" * 10_000
    artifact, version, _ = put(data)
    with store.open_view(version) as blob:
        store.release("w", [artifact.number])
        assert b"".join(blob.chunks(7000)) == data
        assert blob.line_span(9_999, 10_000) == Span(49_990, 50_000)


def test_threads_read_one_reader(store: Store, put: Put) -> None:
    data = b"".join(b"%d\n" % n for n in range(200_000))
    found: list[bool] = []
    with store.open_view(put(data)[1]) as blob:

        def read(start: int) -> None:
            for line in range(start, 200_000, 997):
                span = blob.line_span(line, line)
                found.append(blob.read(span.start_byte, span.end_byte) == b"%d\n" % (line - 1))

        threads = [threading.Thread(target=read, args=(n + 1,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) > 1000
    assert all(found)


def test_a_file_cut_short_while_open_is_damage(store: Store, put: Put, config: StoreConfig) -> None:
    version = put(b"line\n" * 100_000)[1]
    with store.open_view(version) as blob:
        (file,) = blob_files(config)
        os.truncate(file, 1000)
        with pytest.raises(CorruptBlobError):
            blob.read(0, 5000)
        with pytest.raises(CorruptBlobError):
            blob.line_span(50_000, 50_001)
        assert blob.read(0, 5) == b"line\n"


def test_other_bytes_of_the_same_size_do_not_break_the_look_up(
    store: Store, put: Put, config: StoreConfig
) -> None:
    version = put(b"line\n" * 100_000)[1]
    (file,) = blob_files(config)
    file.write_bytes(b"x" * 500_000)
    with store.open_view(version) as blob, pytest.raises(CorruptBlobError):
        blob.line_span(50_000, 50_001)


def test_a_closed_reader_is_an_error_and_not_another_file(store: Store, put: Put) -> None:
    blob = store.open_view(put(b"line\n" * 10_000)[1])
    blob.close()
    blob.close()
    with pytest.raises(StoreError):
        blob.read(0, 1)
