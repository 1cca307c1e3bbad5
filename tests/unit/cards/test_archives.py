"""Archives: what is listed, what is refused, and that members come out as they went in."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile

import pytest

from mcp_offload.cards import archives, packed, tars, zips
from mcp_offload.cards.build import open_member
from mcp_offload.cards.detect import HEAD_BYTES, format_of
from mcp_offload.cards.model import Card, Entry
from mcp_offload.errors import MemberUnreadableError
from mcp_offload.handle import BytesSelector, SymbolSelector
from mcp_offload.models import SilentMonitor
from tests.unit.cards.samples import FILES, Bytes, card, make_ar, make_tar, make_zip


def member(data: bytes, name: str, file_name: str, ordinal: int = 1) -> bytes | None:
    key = format_of(file_name, data[:HEAD_BYTES], binary=True)
    assert key is not None
    pieces = open_member(Bytes(data), key, name, ordinal, file_name, SilentMonitor())
    return None if pieces is None else b"".join(pieces)


def names(made: Card) -> list[str]:
    return [entry.name for entry in made.entries if entry.kind == "member"]


PACKED_TARS = [
    ("a.tar", make_tar()),
    ("gnu.tar", make_tar(form=tarfile.GNU_FORMAT)),
    ("v7.tar", make_tar(form=tarfile.USTAR_FORMAT)),
    ("a.tgz", gzip.compress(make_tar(), mtime=0)),
    ("a.tbz2", bz2.compress(make_tar())),
    ("a.txz", lzma.compress(make_tar())),
]


@pytest.mark.parametrize(("name", "data"), PACKED_TARS, ids=[name for name, _ in PACKED_TARS])
def test_a_tar_lists_files_with_sizes_and_links_with_targets(name: str, data: bytes) -> None:
    made = card(data, name, binary=True)
    assert names(made) == list(FILES)
    assert made.facts["members"] == 3
    assert made.facts["unpacked_bytes"] == sum(map(len, FILES.values()))
    assert Entry("link", "latest", "-> README", "README") in made.entries
    assert {name_: member(data, name_, name) for name_ in FILES} == FILES
    assert member(data, "latest", name) is None
    assert member(data, "pkg", name) is None


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_zip_lists_files_and_gives_them_back(method: int) -> None:
    data = make_zip(method=method)
    made = card(data, "lib-1.0-py3-none-any.whl", binary=True)
    assert made.format == "wheel"
    assert names(made) == list(FILES)
    assert made.summary == "3 members, 622 B unpacked"
    assert {name: member(data, name, "a.zip") for name in FILES} == FILES


@pytest.mark.parametrize(
    ("name", "kind"), [("a.jar", "jar"), ("a.apk", "apk"), ("a.zip", "zip"), ("a", "zip")]
)
def test_what_a_zip_is_called_says_what_it_is(name: str, kind: str) -> None:
    assert card(make_zip(), name, binary=True).format == kind


def test_bytes_before_a_zip_do_not_matter() -> None:
    data = b"PK\x03\x04" + b"launcher" * 100 + make_zip()
    assert member(data, "pkg/mod.py", "a.zip") == FILES["pkg/mod.py"]


def test_members_of_one_name_are_told_apart() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a", b"one")
        archive.writestr("a", b"two")
    data = out.getvalue()
    selectors = [entry.selector for entry in card(data, "a.zip", binary=True).entries]
    assert selectors == [SymbolSelector(("a",)), SymbolSelector(("a",), ordinal=2)]
    assert [member(data, "a", "a.zip", rank) for rank in (1, 2, 3)] == [b"one", b"two", None]


def test_names_stay_on_one_line_and_resolve() -> None:
    data = make_zip({"a\nb\x1b[31m.txt": b"x"})
    (entry,) = card(data, "a.zip", binary=True).entries
    assert entry.name == "a\ufffdb\ufffd[31m.txt"
    assert member(data, entry.name, "a.zip") == b"x"


def test_an_encrypted_member_is_listed_and_refused() -> None:
    data = bytearray(make_zip({"secret": b"x" * 50}))
    central, local = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x03\x04")
    data[central + 8] |= 1
    data[local + 6] |= 1
    made = card(bytes(data), "a.zip", binary=True)
    assert made.facts["encrypted"] == 1
    assert made.notes == ("1 member encrypted: listed, not readable.",)
    assert made.entries[0].detail == "50 B encrypted"
    with pytest.raises(MemberUnreadableError, match="secret cannot be read: it is encrypted"):
        member(bytes(data), "secret", "a.zip")


def test_an_unknown_method_is_named() -> None:
    data = bytearray(make_zip({"a": b"x" * 50}))
    struct.pack_into("<H", data, data.rindex(b"PK\x01\x02") + 10, 93)
    assert card(bytes(data), "a.zip", binary=True).entries[0].detail == "50 B zstd"
    with pytest.raises(MemberUnreadableError, match="packed with zstd"):
        member(bytes(data), "a", "a.zip")


def test_a_wrong_checksum_is_found() -> None:
    data = make_zip({"a": b"content"}, zipfile.ZIP_STORED).replace(b"content", b"CONTENT")
    with pytest.raises(MemberUnreadableError, match="checksum is wrong"):
        member(data, "a", "a.zip")


def test_a_member_larger_than_stated_is_stopped() -> None:
    data = bytearray(make_zip({"a": b"x" * 100_000}))
    struct.pack_into("<L", data, data.rindex(b"PK\x01\x02") + 24, 10)
    with pytest.raises(MemberUnreadableError, match="more than its directory states"):
        member(bytes(data), "a", "a.zip")


def test_a_bomb_is_named_and_not_unpacked() -> None:
    data = bytearray(make_zip({"a": b"x" * 100}))
    struct.pack_into("<L", data, data.rindex(b"PK\x01\x02") + 24, 0xFFFFFFF0)
    made = card(bytes(data), "a.zip", binary=True)
    assert any("do not unpack it" in note for note in made.notes)
    with pytest.raises(MemberUnreadableError, match="more than 256 MiB"):
        member(bytes(data), "a", "a.zip")


def test_a_high_ratio_is_refused_before_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "RATIO_BYTES", 1 << 20)
    monkeypatch.setattr(zips, "MAX_RATIO", 100)
    with pytest.raises(MemberUnreadableError, match="100 times its size"):
        member(make_zip({"a": b"\0" * (4 << 20)}), "a", "a.zip")


def test_unpacking_to_list_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LISTED_BYTES", 1_000_000)
    files = {f"f{n}": b"\0" * 600_000 for n in range(4)}
    data = gzip.compress(make_tar(files=files), mtime=0)
    made = card(data, "a.tgz", binary=True)
    assert made.notes == ("Not all of it was looked at: it unpacks to more than the limit.",)
    assert names(made)[:1] == ["f0"]


def test_a_packed_file_has_a_limit_when_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MEMBER_BYTES", 1_000)
    data = gzip.compress(b"\x00\x01" * 5_000, mtime=0)
    with pytest.raises(MemberUnreadableError, match="more than the limit"):
        member(data, "blob", "blob.gz")


def test_the_number_of_members_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "MAX_HEADERS", 2)
    monkeypatch.setattr(tars, "MAX_HEADERS", 2)
    for name, data in (("a.zip", make_zip()), ("a.tar", make_tar())):
        (note,) = card(data, name, binary=True).notes
        assert "more than 2 members" in note


def test_an_extended_header_of_any_size_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = b"L", 3 << 30
    made = card(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048, "a.tar", binary=True)
    assert "too large to be one" in made.notes[0]


def test_long_and_foreign_names_in_tars() -> None:
    files = {"d/" * 80 + "ünï.txt": b"1", "x" * 150: b"2"}
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        assert names(card(make_tar(form=form, files=files), "a.tar", binary=True)) == list(files)


def test_one_packed_file_is_a_member_named_after_it() -> None:
    content = bytes(range(256)) * 4
    data = gzip.compress(content[:500], mtime=0) + gzip.compress(content[500:], mtime=0) + b"\0" * 8
    made = card(data, "dir/core.bin.gz", binary=True)
    assert made.format == "gzip"
    assert [(entry.name, entry.detail) for entry in made.entries] == [("core.bin", "1.0 kB")]
    assert member(data, "core.bin", "dir/core.bin.gz") == content
    assert member(data, "other", "dir/core.bin.gz") is None


def test_a_static_library_lists_its_objects_by_their_bytes() -> None:
    data = make_ar()
    made = card(data, "liba.a", binary=True)
    assert [entry.name for entry in made.entries] == ["a.o", "a_name_longer_than_the_field.o"]
    selectors = [entry.selector for entry in made.entries]
    spans = [(s.start, s.end) for s in selectors if isinstance(s, BytesSelector)]
    assert [data[start:end] for start, end in spans] == [b"AAAAA", b"BB"]


def test_streams_are_read_in_small_pieces() -> None:
    source = packed.unpacked(_bounded(gzip.compress(b"a" * (3 << 20), mtime=0)), "gzip", 4 << 20)
    sizes = list(map(len, source))
    assert sum(sizes) == 3 << 20
    assert max(sizes) <= packed.CHUNK_BYTES


def _bounded(data: bytes) -> packed.Bounded:
    return packed.Bounded(Bytes(data), SilentMonitor())
