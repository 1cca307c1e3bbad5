"""Editing by handle: the file follows, nothing around the edit changes, conflicts write nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_offload.errors import (
    ConflictError,
    InvalidArgumentError,
    NotEditableError,
    NotTextError,
    PathNotAllowedError,
    SourceError,
    SymbolNotFoundError,
)
from mcp_offload.models import EditResult
from mcp_offload.service import OffloadService, Session

SOURCE = b"def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.fixture
def app(project: Path) -> Path:
    path = project / "app.py"
    path.write_bytes(SOURCE)
    return path


def text_of(service: OffloadService, handle: str) -> str:
    return service.read([handle])[0].text


def test_replacing_a_symbol_writes_the_file_and_a_version(service: OffloadService, app: Path) -> None:
    app.chmod(0o640)
    result = service.edit("app.py#two", "def two():\n    return 22\n")
    assert isinstance(result, EditResult)
    assert app.read_bytes() == SOURCE.replace(b"return 2\n", b"return 22\n")
    assert stat.S_IMODE(app.stat().st_mode) == 0o640
    assert (result.handle, result.base, result.start_line, result.end_line) == ("f1@2#two", "f1@1", 5, 6)
    assert text_of(service, "f1@1#two").endswith("return 2")
    assert text_of(service, "f1#two").endswith("return 22")
    assert os.listdir(app.parent) == ["app.py"]


def test_lines_can_be_replaced_inserted_and_deleted(service: OffloadService, app: Path) -> None:
    service.edit("app.py#L2", "    return 11\n")
    service.edit("app.py#one", "# first\n", op="before")
    service.edit("app.py#two", "\n\ndef three():\n    return 3\n", op="after")
    assert app.read_bytes() == (
        b"# first\ndef one():\n    return 11\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
    )
    service.edit("app.py#L1", "")
    assert app.read_bytes().startswith(b"def one()")


def test_a_symbol_edited_twice_in_a_session_needs_no_version(service: OffloadService, app: Path) -> None:
    session = Session()
    service.read(["app.py#one"], session=session)
    service.edit("f1#one", "def one():\n    return 10\n", session=session)
    service.edit("f1#one", "def one():\n    return 100\n", session=session)
    assert b"return 100" in app.read_bytes()


def test_a_file_that_changed_since_is_a_conflict_naming_both(service: OffloadService, app: Path) -> None:
    session = Session()
    service.read(["app.py#two"], session=session)
    theirs = b"# theirs\n" + SOURCE
    app.write_bytes(theirs)
    with pytest.raises(ConflictError) as caught:
        service.edit("f1#two", "def two():\n    return 0\n", session=session)
    assert (caught.value.expected, caught.value.actual) == ("f1@1", "f1@2")
    assert app.read_bytes() == theirs
    service.edit("f1@2#two", "def two():\n    return 0\n", session=session)
    assert app.read_bytes() == theirs.replace(b"return 2", b"return 0")


def test_a_path_is_edited_as_it_was_shown(service: OffloadService, app: Path) -> None:
    session = Session()
    service.read(["app.py#two"], session=session)
    app.write_bytes(b"# theirs\n" + SOURCE)
    with pytest.raises(ConflictError):
        service.edit("app.py#two", "def two():\n    return 0\n", session=session)


def test_a_stale_version_is_a_conflict(service: OffloadService, app: Path) -> None:
    service.edit("app.py#two", "def two():\n    return 22\n")
    with pytest.raises(ConflictError, match="f1@2"):
        service.edit("f1@1#two", "def two():\n    return 0\n")


def test_a_deleted_file_is_a_conflict(service: OffloadService, app: Path) -> None:
    service.store("app.py")
    app.unlink()
    with pytest.raises(ConflictError) as caught:
        service.edit("f1#two", "def two():\n    return 0\n")
    assert caught.value.actual is None
    assert not app.exists()


def test_a_store_only_edit_leaves_the_file_and_blocks_a_blind_write(
    service: OffloadService, app: Path
) -> None:
    result = service.edit("app.py#two", "def two():\n    return 22\n", write=False)
    assert (result.path, result.version) == (None, 2)
    assert app.read_bytes() == SOURCE
    assert text_of(service, "f1#two").endswith("return 22")
    with pytest.raises(ConflictError):
        service.edit("f1#two", "def two():\n    return 222\n")
    assert app.read_bytes() == SOURCE
    service.edit("f1@2#two", "def two():\n    return 222\n", write=False)
    assert text_of(service, "f1@3#two").endswith("return 222")


def test_content_without_a_path_is_edited_in_the_store(service: OffloadService) -> None:
    service.store(content="def one():\n    return 1\n", name="snippet.py")
    result = service.edit("f1#one", "def one():\n    return 2\n")
    assert (result.path, result.version) == (None, 2)


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "latin-1"])
def test_encoding_mark_and_line_endings_are_kept(service: OffloadService, project: Path, codec: str) -> None:
    source = (
        "# ein längerer Kommentar mit Umlauten: äöüß, damit man ihn erkennt\r\ndef f():\r\n    return 'ä'\r\n"
    )
    path = project / "w.py"
    path.write_bytes(source.encode(codec))
    service.edit("w.py#f", "def f():\n    return 'ö'\n")
    assert path.read_bytes() == source.replace("'ä'", "'ö'").encode(codec)


def test_a_character_the_encoding_lacks_is_refused(service: OffloadService, project: Path) -> None:
    path = project / "w.py"
    text = "# ein längerer Kommentar mit Umlauten: äöüß, damit man ihn erkennt\ndef f():\n    return 'ä'\n"
    data = text.encode("latin-1")
    path.write_bytes(data)
    with pytest.raises(NotEditableError):
        service.edit("w.py#f", "def f():\n    return '東'\n")
    assert path.read_bytes() == data


def test_stray_bytes_around_an_edit_survive(service: OffloadService, project: Path) -> None:
    path = project / "s.py"
    path.write_bytes(b"A = 1  # \xff stray\n\n\ndef f():\n    return 1\n")
    service.edit("s.py#f", "def f():\n    return 2\n")
    assert path.read_bytes() == b"A = 1  # \xff stray\n\n\ndef f():\n    return 2\n"


def test_a_missing_final_newline_stays_missing(service: OffloadService, project: Path) -> None:
    path = project / "n.py"
    path.write_bytes(b"def f():\n    return 1")
    service.edit("n.py#f", "def f():\n    return 2\n")
    assert path.read_bytes() == b"def f():\n    return 2"


def test_white_space_at_the_end_of_a_definition_makes_no_line_of_its_own(
    service: OffloadService, project: Path
) -> None:
    path = project / "t.py"
    path.write_bytes(b"def f():\n    return 1 \t\n\n\ndef g():\n    return 2  \n")
    service.edit("t.py#f", "def f():\n    return 11\n")
    assert path.read_bytes() == b"def f():\n    return 11 \t\n\n\ndef g():\n    return 2  \n"
    service.edit("t.py#g", "")
    assert path.read_bytes() == b"def f():\n    return 11 \t\n\n\n"


def test_a_broken_edit_is_made_and_said(service: OffloadService, app: Path) -> None:
    result = service.edit("app.py#one", "def one(:\n    return 1\n")
    assert result.syntax_error_line is not None
    assert service.edit("app.py#L1", "def one():\n").syntax_error_line is None


def test_what_cannot_be_edited_says_why(service: OffloadService, project: Path, app: Path) -> None:
    (project / "x.bin").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(NotTextError):
        service.edit("x.bin", "text")
    with pytest.raises(SymbolNotFoundError):
        service.edit("app.py#nope", "text")
    with pytest.raises(InvalidArgumentError):
        service.edit("app.py#~return", "text")
    with pytest.raises(InvalidArgumentError):
        service.edit("app.py#one", "text", op="append")
    (project / "link.py").symlink_to("app.py")
    with pytest.raises(PathNotAllowedError, match="symbolic link"):
        service.edit("link.py#one", "def one():\n    return 7\n")
    assert app.read_bytes() == SOURCE


def test_exporting_refuses_to_overwrite_and_to_leave_the_roots(
    service: OffloadService, app: Path, tmp_path: Path
) -> None:
    service.store("app.py")
    result = service.export("f1#two", "two.py")
    assert (app.parent / "two.py").read_bytes() == b"def two():\n    return 2"
    assert result.bytes == 23
    with pytest.raises(SourceError, match="exists"):
        service.export("f1", "two.py")
    service.export("f1", "two.py", overwrite=True)
    assert (app.parent / "two.py").read_bytes() == SOURCE
    with pytest.raises(PathNotAllowedError):
        service.export("f1", str(tmp_path / "out.py"))
