"""What other tools got wrong, on inputs of our own: windows, searches, caps, hostile neighbours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import (
    ConflictError,
    HandleGoneError,
    NothingStoredError,
    QuotaExceededError,
    StoreError,
)
from mcp_offload.models import MapResult, OutlineResult, ReadResult, StoreManyResult, StoreResult
from mcp_offload.parsing import Limits, ParserWorker
from mcp_offload.service import OffloadService, Session, open_service
from mcp_offload.service.render import list_text, read_text, search_text, store_text
from mcp_offload.settings import Settings
from mcp_offload.store import Store, StoreConfig
from mcp_offload.tokens import TokenCounter


def stored(service: OffloadService, source: str | None = None, **content: str | bytes) -> StoreResult:
    result = service.store(source, **content)  # type: ignore[arg-type]
    assert isinstance(result, StoreResult)
    return result


def followed(service: OffloadService, handle: str, **options: int) -> list[ReadResult]:
    """A read and all that its markers name, as a client would go on."""
    parts: list[ReadResult] = []
    while handle:
        (part,) = service.read([handle], **options)
        parts.append(part)
        handle = part.rest.handle if part.rest else ""
        assert len(parts) < 500, "reading on comes to no end"
    return parts


# --- long and large content -------------------------------------------------------------------------


def test_a_log_of_two_hundred_thousand_lines_is_stored_whole(service: OffloadService, project: Path) -> None:
    with (project / "rows.log").open("w", encoding="utf-8") as log:
        log.writelines(f"row {number:06} settled\n" for number in range(200_000))
    result = stored(service, "rows.log")
    assert (result.lines, result.bytes) == (200_000, 200_000 * 19)
    for handle in ("rows.log#L200000", "rows.log#L-1"):
        assert service.read([handle])[0].text == "row 199999 settled\n"
    (hit,) = service.search("row 123456", [result.handle]).hits
    assert hit.line == 123_457


def test_a_few_very_long_lines_are_read_in_parts_that_continue_inside_them(
    service: OffloadService, project: Path
) -> None:
    text = "".join(f"{number} " + f"segment-{number} " * 1600 + "\n" for number in range(5))
    (project / "wide.txt").write_text(text, encoding="utf-8")
    parts = followed(service, "wide.txt#L1-5", max_tokens=2000)
    assert "".join(part.text for part in parts) == text
    assert len(parts) > 5
    assert all(part.tokens <= 2000 and len(part.text) <= 10_000 for part in parts)


def test_a_document_of_one_line_states_its_shape_and_is_read_by_bytes_and_by_key(
    service: OffloadService, project: Path
) -> None:
    document = {"orders": [{"id": number, "note": "süß " * 9} for number in range(2000)], "total": 2000}
    data = json.dumps(document, ensure_ascii=False).encode()
    assert len(data) > 100_000
    (project / "orders.json").write_bytes(data)
    assert " 1L " in store_text(stored(service, "orders.json"))
    assert "".join(part.text for part in followed(service, "orders.json")).encode() == data
    end = len(data)
    assert service.read([f"orders.json#B{end - 13}-{end}"])[0].text == '"total": 2000'[1:] + "}"
    assert service.read(["orders.json#total"])[0].text.endswith("2000")
    service.export("f1", "copy.json")
    assert (project / "copy.json").read_bytes() == data


def test_a_large_document_is_changed_in_one_place_without_being_read(
    service: OffloadService, project: Path
) -> None:
    data = b"".join(b"## Section %d\n\n%s\n\n" % (n, b"words of it " * 30) for n in range(800))
    assert len(data) > 300_000
    (project / "book.md").write_bytes(data)
    service.edit("book.md#Section 400", "## Section 400\n\nWithdrawn.\n")
    service.export("f1", "next.md")
    old = b"## Section 400\n\n" + (b"words of it " * 30).rstrip()
    assert data.count(old) == 1
    assert (project / "next.md").read_bytes() == data.replace(old, b"## Section 400\n\nWithdrawn.")
    assert (project / "book.md").read_bytes() == (project / "next.md").read_bytes()


def test_a_giant_definition_gives_its_range_its_size_and_a_way_to_go_on(
    service: OffloadService, project: Path
) -> None:
    body = "".join(f"    mov r{number % 16}, {number:#x}\n" for number in range(20_000))
    source = f"def listing():\n    return '''\n{body}'''\n"
    (project / "listing.py").write_text(source, encoding="utf-8")
    (result,) = service.read(["listing.py#listing"])
    text = read_text([result])
    assert TokenCounter().count(text) <= 2000
    assert (result.start_line, result.truncated) == (1, True)
    assert result.rest is not None
    assert result.rest.tokens is not None and result.rest.tokens > 100_000
    (more,) = service.read([result.rest.handle])
    assert more.text.startswith(source.split("\n")[more.start_line - 1])
    assert more.start_line == result.end_line + 1
    (table,) = [service.outline("listing.py")]
    assert isinstance(table, OutlineResult)
    assert (table.symbols[0].start_line, table.symbols[0].end_line) == (1, 20_003)


@pytest.mark.parametrize(("max_tokens", "max_bytes"), [(300, 10_000), (2000, 900), (120, 700)])
def test_replies_keep_to_the_limits_that_are_set(
    settings: Settings, project: Path, max_tokens: int, max_bytes: int
) -> None:
    # Text that costs more tokens than its length suggests: the limit is one of tokens as counted.
    (project / "wide.txt").write_text("".join(f"{n} ᚠᛇᚻ᛫ᛒᛦᚦ 𒀭𒂗𒆤 ok\n" for n in range(3000)), encoding="utf-8")
    limited = replace(settings, max_tokens=max_tokens, max_reply_bytes=max_bytes)
    with open_service(limited) as service:
        texts = [
            read_text(service.read(["wide.txt"])),
            read_text(service.read(["wide.txt#L5-6", "wide.txt#L9-2000"])),
            search_text(service.search("ok")),
        ]
    for text in texts:
        assert TokenCounter().count(text) <= max_tokens
        assert len(text.encode()) <= max_bytes
        assert "\n... " in text


# --- searching ----------------------------------------------------------------------------------------

SEPARATORS = "a\rb\x0bc\x0cd\x1ce\x1df\x1eg\x85h\u2028i\u2029j"


@pytest.mark.parametrize("big", [False, True], ids=["small", "large"])
def test_a_hit_never_shows_the_text_of_another_line(
    service: OffloadService, project: Path, big: bool
) -> None:
    # So few of them that the content is still taken for text.
    odd = [SEPARATORS, *["plain words" * 5] * 9]
    lines = [f"{n}: {odd[n % 10]} {'hit' if n % 3 else 'miss'}" for n in range(4_000 if big else 40)]
    (project / "odd.txt").write_bytes("\n".join(lines).encode())
    hits = service.search("hit", ["odd.txt"], max_tokens=0).hits
    assert [(hit.line, hit.text) for hit in hits] == [
        (number, line) for number, line in enumerate(lines, 1) if line.endswith("hit")
    ]
    for hit in hits[:: 1 + len(hits) // 30]:
        (line,) = service.read([hit.handle])
        assert line.text.removesuffix("\n") == lines[hit.line - 1]
        assert (line.start_line, line.end_line) == (hit.line, hit.line)


def test_in_an_empty_workspace_a_search_says_that_nothing_is_stored(service: OffloadService) -> None:
    with pytest.raises(NothingStoredError, match="Nothing is stored"):
        service.search("timeout")
    with pytest.raises(NothingStoredError, match="Nothing is stored"):
        service.find_symbols("timeout")
    stored(service, content="quiet\n", name="a.log")
    result = service.search("timeout")
    assert (result.hits, search_text(result)) == ((), "no hits in 1 artifact")
    service.purge()
    with pytest.raises(NothingStoredError):
        service.search("timeout")


@pytest.mark.parametrize("lines", [1, 30, 600, 20_000])
def test_content_of_any_size_is_found_again(service: OffloadService, lines: int) -> None:
    """Equal names included: neither of two contents hides the other."""
    for word in ("needle", "other"):
        stored(service, content="".join(f"{word}-{n}\n" for n in range(lines)), name="output.log")
    for word, handle in (("needle", "l1"), ("other", "l2")):
        (hit,) = service.search(f"{word}-{lines - 1}$").hits
        assert (hit.handle, hit.text) == (f"{handle}#L{lines}", f"{word}-{lines - 1}")


# --- what stays, and for how long --------------------------------------------------------------------


def test_a_cap_is_kept_however_much_is_stored_and_the_dropped_say_so(settings: Settings) -> None:
    quota = 2_000_000
    handles: list[str] = []
    with open_service(replace(settings, quota_bytes=quota)) as service:
        for number in range(500):
            data = b"%05d" % number * 8_000
            handles.append(stored(service, content=data, name=f"{number}.bin", kind="build").handle)
            if number % 50 == 49:
                assert service.stats().stored_bytes <= quota
        assert len(set(handles)) == 500
        kept = service.list_artifacts(limit=1000)
        assert 45 <= kept.total <= 50
        with pytest.raises(HandleGoneError, match="evicted") as caught:
            service.read([handles[0]])
        assert caught.value.reason == "evicted"
        assert service.read([handles[-1] + "#B0-5"])[0].text == "00499"


def test_a_pinned_artifact_outlives_the_cap(settings: Settings) -> None:
    with open_service(replace(settings, quota_bytes=500_000)) as service:
        kept = stored(service, content=b"precious\n" * 10_000, name="a.log").handle
        service.pin([kept])
        for number in range(30):
            stored(service, content=b"%03d" % number * 30_000, name=f"{number}.log")
        assert service.read([f"{kept}#L10000"])[0].text == "precious\n"


def test_what_is_stored_is_read_although_a_changed_file_does_not_fit(
    settings: Settings, project: Path
) -> None:
    path = project / "a.log"
    path.write_bytes(b"old\n" * 20_000)
    with open_service(replace(settings, quota_bytes=100_000)) as service:
        service.pin([stored(service, "a.log").handle])
        path.write_bytes(b"new\n" * 20_000)
        for handle in ("l1#L20000", "l1@1#L20000"):
            (result,) = service.read([handle])
            assert result.text == "old\n"
            assert result.note == "source file has changed, but there is no room to store it"
        assert service.search("old", ["l1@1"], limit=1).hits
        with pytest.raises(QuotaExceededError):
            service.read(["a.log"])
        with pytest.raises(ConflictError, match="no room"):
            service.edit("l1#L1", "mine\n")
        assert path.read_bytes() == b"new\n" * 20_000


@pytest.mark.parametrize("step", ["commit.begun", "commit.rows", "commit.before"])
def test_an_edit_that_the_store_refuses_leaves_the_file_as_it_was(
    settings: Settings, project: Path, step: str
) -> None:
    path = project / "a.py"
    path.write_bytes(b"def one():\n    return 1\n")
    failing = replace(settings, failpoints=(f"{step}@2=eio",))
    with open_service(failing) as service:
        stored(service, "a.py")
        with pytest.raises(StoreError):
            service.edit("f1#one", "def one():\n    return 11\n")
        assert path.read_bytes() == b"def one():\n    return 1\n"
        assert [entry.name for entry in project.iterdir()] == ["a.py"]
        assert service.list_artifacts().artifacts[0].version == 1
        service.edit("f1#one", "def one():\n    return 11\n")
        assert path.read_bytes() == b"def one():\n    return 11\n"


def test_two_clients_of_one_workspace_each_get_the_text(service: OffloadService, project: Path) -> None:
    """Nobody gets a stub for what only somebody else was shown."""
    (project / "a.py").write_text("def alpha():\n    return 1\n", encoding="utf-8")
    first, second = Session(), Session()
    texts = [service.read(["a.py"], session=session)[0].text for session in (first, second, first)]
    assert texts == ["def alpha():\n    return 1\n"] * 3


# --- one bad file among others ------------------------------------------------------------------------


@pytest.fixture
def impatient(settings: Settings) -> Iterator[OffloadService]:
    """A service that gives the parser three tenths of a second."""
    with (
        Store.open(StoreConfig.from_settings(settings)) as store,
        ParserWorker(Limits(seconds=0.3, seconds_per_mib=0, grace=1)) as parser,
    ):
        yield OffloadService(settings, store, parser)


@pytest.mark.process
def test_a_file_that_defeats_the_parser_is_readable_and_spoils_no_other(
    impatient: OffloadService, project: Path
) -> None:
    bad = "f(x[y{z`'\"(\n" * 60_000
    (project / "bad.cpp").write_text(bad, encoding="utf-8")
    (project / "fine.cpp").write_text("int fine(void) { return 1; }\n", encoding="utf-8")
    table = impatient.outline("bad.cpp")
    assert isinstance(table, OutlineResult)
    assert (table.parsed, bool(table.symbols)) == (False, True)
    assert table.reason is not None and "parser" in table.reason
    assert impatient.read(["bad.cpp#L59999"])[0].text == "f(x[y{z`'\"(\n"
    # A child that was killed is started anew; however slow that is, the answer is the outline itself.
    for _ in range(50):
        fine = impatient.outline("fine.cpp")
        assert isinstance(fine, OutlineResult)
        if fine.parsed:
            break
    assert [entry.name for entry in fine.symbols] == ["fine"]


def test_a_language_without_a_parser_costs_the_others_nothing(service: OffloadService, project: Path) -> None:
    (project / "one.zig").write_text("pub fn main() void {}\n", encoding="utf-8")
    (project / "two.py").write_text("def two():\n    pass\n", encoding="utf-8")
    (project / "three.bin").write_bytes(bytes(range(256)))
    table = service.outline(".")
    assert isinstance(table, MapResult)
    assert {entry.name: entry.symbols for entry in table.files}["two.py"] == ("two",)
    assert len(table.files) == 3
    names = [entry.name for entry in service.find_symbols("two").symbols]
    assert names == ["two"]


# --- nothing is left out without a word -----------------------------------------------------------------


def test_a_long_list_of_stored_files_names_how_to_see_the_rest(
    service: OffloadService, project: Path
) -> None:
    for number in range(53):
        (project / f"part_{number:02}.txt").write_text(f"{number}\n", encoding="utf-8")
    result = service.store(".")
    assert isinstance(result, StoreManyResult)
    shown = store_text(result).split("\n")
    assert shown[0] == "53 files stored"
    assert shown[-1] == "... f21 and 32 more; outline the directory"
    assert service.read(["f21"])[0].text == "20\n"
    table = service.outline(".", max_tokens=0)
    assert isinstance(table, MapResult)
    assert (len(table.files), table.omitted) == (53, 0)
    listed = list_text(service.list_artifacts(limit=50))
    assert listed.endswith("\n... 3 more artifacts")
