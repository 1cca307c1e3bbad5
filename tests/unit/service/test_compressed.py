"""Compressed logs: searched and digested like plain ones, stored and exported as they are."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import NotEditableError
from mcp_offload.models import StoreResult
from mcp_offload.service import OffloadService
from mcp_offload.service.compressed import decompress, inner_name

TEXT = b"".join(b"compile unit %d ok\n" % i for i in range(3000)) + b"make: *** [all] Error 2\n"


def test_a_compressed_log_is_read_searched_and_exported(service: OffloadService, project: Path) -> None:
    packed = gzip.compress(TEXT)
    (project / "build.log.gz").write_bytes(packed)
    result = service.store("build.log.gz")
    assert isinstance(result, StoreResult)
    assert (result.kind, result.binary, result.bytes, result.lines) == ("l", False, len(packed), 3001)
    assert result.digest is not None
    assert result.digest.verdict == "failed"
    assert service.read(["l1#L2999-3000"])[0].text == "compile unit 2998 ok\ncompile unit 2999 ok\n"
    assert [hit.handle for hit in service.search("unit 1234 ").hits] == ["l1#L1235"]
    service.export("l1", "copy.gz")
    assert (project / "copy.gz").read_bytes() == packed
    with pytest.raises(NotEditableError):
        service.edit("l1#L1", "x")


def test_compressed_binaries_stay_binary(service: OffloadService, project: Path) -> None:
    (project / "image.gz").write_bytes(gzip.compress(bytes(range(256)) * 100))
    result = service.store("image.gz")
    assert isinstance(result, StoreResult)
    assert result.binary


@given(st.lists(st.binary(max_size=400), max_size=4), st.integers(1, 64))
def test_members_in_any_pieces_give_what_was_packed(members: list[bytes], piece: int) -> None:
    packed = b"".join(gzip.compress(member) for member in members)
    pieces = [packed[i : i + piece] for i in range(0, len(packed), piece)]
    assert b"".join(decompress(pieces, 10_000)) == b"".join(members)


@given(st.binary(max_size=300), st.integers(0, 400))
def test_damage_never_raises_and_limits_hold(tail: bytes, limit: int) -> None:
    packed = gzip.compress(TEXT)[:120] + tail
    assert sum(map(len, decompress([packed], limit))) <= limit


def test_a_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    pieces = list(decompress([bomb], 3_000_000))
    assert sum(map(len, pieces)) == 3_000_000
    assert max(map(len, pieces)) <= 1 << 20


@pytest.mark.parametrize(
    ("name", "inner"), [("a.log.gz", "a.log"), ("A.LOG.GZ", "A.LOG"), ("a.gzip", "a.gzip")]
)
def test_names(name: str, inner: str) -> None:
    assert inner_name(name) == inner
