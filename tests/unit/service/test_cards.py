"""Build artifacts through the service: cards, members by handle, listings that overflow, differences."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from mcp_offload.errors import MemberUnreadableError, NotTextError, SymbolNotFoundError
from mcp_offload.models import DiffResult, OutlineResult, StoreResult
from mcp_offload.service import OffloadService
from mcp_offload.service.jsonable import to_json
from mcp_offload.service.render import diff_text, outline_text, store_text
from tests.unit.cards.samples import make_sqlite, make_tar


@pytest.fixture
def wheel(project: Path) -> Path:
    path = project / "dist" / "lib-1.0-py3-none-any.whl"
    path.parent.mkdir()
    write_zip(path, {"lib/mod.py": b"def f():\n    return 1\n", "lib/data.bin": bytes(range(256))})
    return path


def write_zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)


def store(service: OffloadService, path: str) -> StoreResult:
    result = service.store(path)
    assert isinstance(result, StoreResult)
    return result


def outline(service: OffloadService, handle: str, max_tokens: int | None = None) -> OutlineResult:
    result = service.outline(handle, max_tokens=max_tokens)
    assert isinstance(result, OutlineResult)
    return result


def test_a_stored_wheel_has_a_card(service: OffloadService, wheel: Path) -> None:
    result = store(service, "dist/lib-1.0-py3-none-any.whl")
    assert result.card is not None
    assert result.card.text == "wheel: 2 members, 278 B unpacked"
    assert store_text(result).split("\n")[1] == result.card.text
    written = json.loads(json.dumps(to_json(result)))["card"]
    assert written["format"] == "wheel"
    assert written["facts"]["members"] == 2


def test_an_outline_lists_members_that_can_be_read(service: OffloadService, wheel: Path) -> None:
    handle = store(service, str(wheel)).handle
    result = outline(service, handle)
    assert [entry.handle for entry in result.symbols] == [
        f"{handle}#`lib/mod.py`",
        f"{handle}#`lib/data.bin`",
    ]
    assert outline_text(result).split("\n")[2] == f"{handle}#`lib/mod.py` 22 B"
    (read,) = service.read([result.symbols[0].handle])
    assert read.text == "def f():\n    return 1\n"
    assert read.name == "dist/lib-1.0-py3-none-any.whl!lib/mod.py"


def test_a_member_is_an_artifact_with_symbols_of_its_own(service: OffloadService, wheel: Path) -> None:
    member = outline(service, f"{wheel}#`lib/mod.py`")
    assert [entry.name for entry in member.symbols] == ["f"]
    assert outline(service, f"{wheel}#lib/mod.py").handle == member.handle
    (read,) = service.read([member.symbols[0].handle])
    assert read.kind == "function"


def test_a_binary_member_is_exported_not_read(service: OffloadService, wheel: Path, project: Path) -> None:
    with pytest.raises(NotTextError):
        service.read([f"{wheel}#`lib/data.bin`"])
    service.export(f"{wheel}#`lib/data.bin`", "out.bin")
    assert (project / "out.bin").read_bytes() == bytes(range(256))


def test_a_member_that_is_not_there_names_those_that_are_close(service: OffloadService, wheel: Path) -> None:
    handle = store(service, str(wheel)).handle
    with pytest.raises(SymbolNotFoundError) as caught:
        service.read([f"{handle}#`mod.py`"])
    assert caught.value.near == (f"{handle}#`lib/mod.py`",)


def test_a_damaged_member_stores_nothing(service: OffloadService, wheel: Path, project: Path) -> None:
    data = bytearray(wheel.read_bytes())
    data[60] ^= 0xFF
    (project / "bad.zip").write_bytes(data)
    store(service, "bad.zip")
    with pytest.raises(MemberUnreadableError):
        service.read(["bad.zip#`lib/mod.py`"])
    assert [entry.name for entry in service.list_artifacts().artifacts] == ["bad.zip"]


def test_a_changed_archive_gives_new_members_and_keeps_the_old(service: OffloadService, wheel: Path) -> None:
    handle = store(service, str(wheel)).handle
    write_zip(wheel, {"lib/mod.py": b"def f():\n    return 2\n"})
    found = service.diff(f"{handle}#`lib/mod.py`")
    assert (found.added_lines, found.removed_lines) == (1, 1)
    new, old = service.read([f"{handle}#`lib/mod.py`", f"{handle}@1#`lib/mod.py`"])
    assert (new.text[-2], old.text[-2]) == ("2", "1")


def test_members_that_do_not_fit_are_stored_as_a_listing(service: OffloadService, project: Path) -> None:
    write_zip(project / "a.zip", {f"dir/file{n}.txt": b"x" * n for n in range(200)})
    result = outline(service, "a.zip", max_tokens=500)
    assert 0 < len(result.symbols) < 200
    assert len(result.symbols) + result.omitted == 200
    assert result.rest is not None
    (rest,) = service.read([result.rest], max_tokens=0)
    assert rest.text.count("\n") == result.omitted
    assert rest.text.startswith(f"{result.handle}#`dir/file{len(result.symbols)}.txt` ")


def test_a_table_of_a_database_reads_as_text(service: OffloadService, project: Path) -> None:
    make_sqlite(project / "app.db")
    handle = store(service, "app.db").handle
    assert [entry.name for entry in outline(service, handle).symbols] == ['odd "name', "users", "names"]
    (read,) = service.read([f"{handle}#users"])
    assert "1,ann,<2 bytes>\n" in read.text


def test_a_packed_tar_in_content_is_listed(service: OffloadService) -> None:
    result = service.store(content=gzip.compress(make_tar()), name="src.tar.gz")
    assert isinstance(result, StoreResult)
    assert result.card is not None
    assert result.card.format == "tar (gzip)"


def test_an_unknown_binary_has_its_size_and_hash(service: OffloadService) -> None:
    data = b"\x00\x01\x02\xff" * 100 + b"needle" + b"\x00" * 50
    result = service.store(content=data, name="firmware.img")
    assert isinstance(result, StoreResult)
    assert result.card is not None
    assert result.card.text == f"binary: unknown type, 456 bytes, blake3 {result.blake3}"
    (hit,) = service.search("needle", [result.handle]).hits
    assert hit.handle == f"{result.handle}#B400-406"
    with pytest.raises(NotTextError):
        service.read([hit.handle])


def test_lock_files_differ_by_packages_first(service: OffloadService, project: Path) -> None:
    (project / "a").mkdir()
    (project / "a" / "uv.lock").write_text('[[package]]\nname = "x"\nversion = "1"\n', encoding="utf-8")
    (project / "uv.lock").write_text(
        '[[package]]\nname = "x"\nversion = "2"\n[[package]]\nname = "y"\nversion = "1"\n', encoding="utf-8"
    )
    found = service.diff("a/uv.lock", "uv.lock")
    assert [(c.change, c.name, c.before, c.after) for c in found.changes] == [
        ("changed", "x", "1", "2"),
        ("added", "y", "", "1"),
    ]
    assert diff_text(found).split("\n")[1:4] == ["changed x 1 -> 2", "added y 1", "@@ -1,3 +1,6 @@"]


def test_archives_differ_by_members(service: OffloadService, wheel: Path, project: Path) -> None:
    write_zip(project / "lib-1.1-py3-none-any.whl", {"lib/mod.py": b"x = 1\n", "lib/new.py": b""})
    found: DiffResult = service.diff(str(wheel), "lib-1.1-py3-none-any.whl")
    assert not found.identical
    assert [(c.change, c.name) for c in found.changes] == [
        ("changed", "lib/mod.py"),
        ("added", "lib/new.py"),
        ("removed", "lib/data.bin"),
    ]
    assert service.diff(str(wheel), str(wheel)).changes == ()


def test_many_changes_are_cut_and_kept(service: OffloadService, project: Path) -> None:
    write_zip(project / "a.zip", {f"old{n}": b"" for n in range(150)})
    write_zip(project / "b.zip", {f"new{n}": b"" for n in range(150)})
    found = service.diff("a.zip", "b.zip", max_tokens=400)
    assert len(found.changes) == 300
    assert found.truncated
    assert found.rest is not None
    (rest,) = service.read([found.rest.handle], max_tokens=0)
    assert found.text.count("\n") + rest.text.count("\n") == 300


def test_source_has_no_card(service: OffloadService, project: Path) -> None:
    (project / "app.py").write_text("x = 1\n", encoding="utf-8")
    (project / "tsconfig.json").write_text('{"a": 1}\n', encoding="utf-8")
    assert store(service, "app.py").card is None
    assert store(service, "tsconfig.json").card is None
    assert outline(service, "tsconfig.json").card is None
