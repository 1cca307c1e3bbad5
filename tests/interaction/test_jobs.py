"""The work itself, through the tools, in both eras."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.settings import Settings
from tests.interaction.harness import INVOICE, MODES, Mode, call, call_json, connected, fail, settings_in
from tests.interaction.requirements import covers

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path)
    (tmp_path / "work" / "billing.py").write_text(INVOICE, encoding="utf-8")
    return settings


@covers("job-store", "reply-text")
async def test_a_file_is_stored_and_read_back(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        stored = await call(client, "store_artifact", source="billing.py")
        assert stored.startswith("f1 billing.py ")
        text = await call(client, "read_handle", handles=["f1"])
        assert INVOICE.rstrip("\n") in text


@covers("job-store")
async def test_content_that_no_file_holds_is_stored(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        stored = await call(
            client, "store_artifact", content="make: *** [all] Error 2\n", name="build.log", kind="log"
        )
        assert stored.startswith("l1 build.log ")
        assert "Error 2" in await call(client, "read_handle", handles=["l1"])


@covers("job-outline")
async def test_a_path_is_outlined_without_storing_it_first(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        lines = (await call(client, "outline_handle", handle="billing.py")).split("\n")
        assert [line.split()[0] for line in lines[1:]] == [
            "f1#Invoice",
            "f1#Invoice.__init__",
            "f1#Invoice.total",
            "f1#report",
        ]
        one = await call(client, "read_handle", handles=["billing.py#Invoice.total"])
        assert "return sum(amount for _, amount in self.lines)" in one
        assert "def report" not in one


@covers("job-search")
async def test_text_and_symbols_are_found(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        hits = await call(client, "search_handles", pattern=r"self\.\w+ = ")
        assert "self.lines = lines" in hits
        literal = await call(client, "search_handles", pattern="sum(", handles=["f1"], literal=True)
        assert "return sum(" in literal
        symbols = await call(client, "search_handles", pattern="total", symbols=True)
        assert symbols.startswith("f1#Invoice.total ")
        assert "(" in await fail(client, "search_handles", pattern="(")


@covers("job-edit")
async def test_an_edit_reaches_the_disk_and_a_changed_file_is_refused(settings: Settings, mode: Mode) -> None:
    path = Path(settings.base_dir) / "billing.py"
    async with connected(settings, mode) as client:
        await call(client, "read_handle", handles=["billing.py"])
        new = "def report(invoices: list[Invoice]) -> str:\n    return str(len(invoices))\n"
        told = await call(client, "edit_handle", handle="f1#report", text=new)
        assert "wrote billing.py" in told
        assert path.read_text(encoding="utf-8") == INVOICE[: INVOICE.index("def report")] + new
        path.write_text("# someone else was here\n", encoding="utf-8")
        refused = await fail(client, "edit_handle", handle="f1#report", text=new)
        assert "f1" in refused
        assert path.read_text(encoding="utf-8") == "# someone else was here\n"


@covers("job-edit")
async def test_a_store_only_edit_leaves_the_file_alone(settings: Settings, mode: Mode) -> None:
    path = Path(settings.base_dir) / "billing.py"
    async with connected(settings, mode) as client:
        await call(client, "edit_handle", handle="billing.py#report", text="pass\n", op="before", write=False)
        assert path.read_text(encoding="utf-8") == INVOICE


@covers("job-diff")
async def test_versions_are_compared(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        await call(client, "edit_handle", handle="f1#report", text="def report() -> str:\n    return ''\n")
        diff = await call(client, "diff_handles", before="f1@1", after="f1@2")
        assert "+def report() -> str:" in diff
        assert "-def report(invoices: list[Invoice]) -> str:" in diff


@covers("job-export")
async def test_exact_bytes_are_exported(settings: Settings, mode: Mode) -> None:
    work = Path(settings.base_dir)
    raw = b"\xff\xfe\x00bin\r\n\x1b"
    (work / "raw.bin").write_bytes(raw)
    async with connected(settings, mode) as client:
        handle = (await call(client, "store_artifact", source="raw.bin")).split()[0]
        await call(client, "export_handle", handle=handle, path="copy.bin")
        assert (work / "copy.bin").read_bytes() == raw
        assert "copy.bin" in await fail(client, "export_handle", handle=handle, path="copy.bin")
        await call(client, "export_handle", handle=handle, path="copy.bin", overwrite=True)
        await fail(client, "export_handle", handle=handle, path="../outside.bin")
        assert not (work.parent / "outside.bin").exists()


@covers("job-manage")
async def test_artifacts_are_listed_pinned_and_released(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        assert await call(client, "release_handles", handles="f1", action="pin") == "pinned f1"
        assert "f1 billing.py" in await call(client, "list_artifacts")
        listed = await call_json(client, "list_artifacts", name="bill")
        assert [entry["pinned"] for entry in listed["artifacts"]] == [True]
        assert await call(client, "release_handles", handles=["f1"], action="unpin") == "unpinned f1"
        assert (await call(client, "release_handles", handles=["f1"])).startswith("released f1")
        assert "released" in await fail(client, "read_handle", handles=["f1"])


@covers("job-restart")
async def test_handles_survive_a_restart(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", content="kept\n", name="note.txt", kind="file")
    async with connected(settings, mode) as client:
        assert "kept" in await call(client, "read_handle", handles=["f1"])
