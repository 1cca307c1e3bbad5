"""Programs get exact bytes: text as UTF-8, or stored bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.errors import HandleNotFoundError
from mcp_offload.service import OffloadService, Session

SOURCE = 'def f(x):\n    """Doc."""\n    return x\n\n\ndef g():\n    return 2\n'


def test_text_comes_as_utf8_and_raw_as_it_is_stored(service: OffloadService) -> None:
    stored = "Größe\n".encode("utf-16")
    service.store(content=stored, name="a.txt")
    with service.content("f1") as content:
        assert content.read() == "Größe\n".encode()
        assert (content.handle, content.name, content.binary) == ("f1", "a.txt", False)
        assert content.size_bytes == len("Größe\n".encode())
    with service.content("f1", raw=True) as content:
        assert b"".join(content.chunks()) == stored
        assert content.size_bytes == len(stored)


def test_a_part_is_its_bytes(service: OffloadService, project: Path) -> None:
    (project / "m.py").write_text(SOURCE)
    session = Session()
    with service.content("m.py#g", session=session) as content:
        assert content.read() == b"def g():\n    return 2"
        assert content.blake3 is None
        assert content.handle == "f1#g"
    with service.content("f1#L6") as content:
        assert content.read() == b"def g():\n"
    with service.content("f1#f:head") as content:
        assert content.read().startswith(b"def f(x):")
        assert b"return" not in content.read()


def test_a_whole_artifact_tells_its_hash_and_large_ones_come_in_pieces(service: OffloadService) -> None:
    data = bytes(range(256)) * 10_000
    stored = service.store(content=data, name="x.bin")
    with service.content("b1" if service.complete_handle("b").values else "f1") as content:
        assert content.binary
        assert content.blake3 == getattr(stored, "blake3", None)
        sizes = [len(chunk) for chunk in content.chunks()]
        assert sizes == [1 << 20, 1 << 20, len(data) - (2 << 20)]
        assert b"".join(content.chunks()) == data


def test_nothing_there_is_said_before_anything_is_read(service: OffloadService) -> None:
    with pytest.raises(HandleNotFoundError), service.content("f9"):
        pytest.fail("opened what is not there")
