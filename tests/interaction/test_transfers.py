"""Uploads and downloads beside MCP: exact bytes, in pieces, or nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from mcp_offload.settings import Settings
from tests.interaction.harness import INVOICE, settings_in
from tests.interaction.http_harness import ANN, plain, serving, tokens_in
from tests.interaction.requirements import covers

pytestmark = pytest.mark.anyio

LARGE = bytes(range(256)) * 4_096 * 5 + b"the end"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path, max_artifact_bytes=8 << 20)
    (Path(settings.base_dir) / "billing.py").write_text(INVOICE, encoding="utf-8")
    return settings


async def _in_small_pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 50_000):
        yield data[start : start + 50_000]


@covers("http-transfer")
async def test_what_is_put_comes_back_byte_for_byte(settings: Settings) -> None:
    async with serving(settings) as base, plain(base) as client:
        put = await client.put("/artifacts?name=core.bin", content=_in_small_pieces(LARGE))
        assert put.status_code == 201, put.text
        result = put.json()
        assert (result["bytes"], result["name"], result["binary"]) == (len(LARGE), "core.bin", True)
        assert put.headers["location"] == f"/artifacts/{result['handle']}"
        got = await client.get(put.headers["location"])
        assert got.content == LARGE
        assert got.headers["etag"] == f'"{result["blake3"]}"'
        assert got.headers["content-type"] == "application/octet-stream"
        assert got.headers["content-length"] == str(len(LARGE))
        assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''core.bin"
        assert got.headers["x-content-type-options"] == "nosniff"
        again = await client.put("/artifacts?name=core.bin", content=LARGE)
        assert (again.status_code, again.json()["handle"]) == (200, result["handle"])


@covers("http-transfer")
async def test_parts_heads_ranges_and_unchanged_content(settings: Settings) -> None:
    async with serving(settings) as base, plain(base) as client:
        put = await client.put("/artifacts?name=billing.py", content=INVOICE.encode())
        assert put.json()["handle"] == "f1"
        got = await client.get("/artifacts/f1%23report")
        assert got.text.startswith("def report(")
        assert got.headers["content-type"].startswith("text/x-python")
        head = await client.head("/artifacts/f1")
        assert (head.content, head.headers["content-length"]) == (b"", str(len(INVOICE)))
        same = await client.get("/artifacts/f1", headers={"If-None-Match": head.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
        some = await client.get("/artifacts/f1", headers={"Range": "bytes=3-9"})
        assert (some.status_code, some.content) == (206, INVOICE.encode()[3:10])
        assert some.headers["content-range"] == f"bytes 3-9/{len(INVOICE)}"
        rest = await client.get("/artifacts/f1", headers={"Range": "bytes=30-"})
        assert rest.content == INVOICE.encode()[30:]
        past = await client.get("/artifacts/f1", headers={"Range": "bytes=99999-"})
        assert past.status_code == 416


@covers("http-transfer")
async def test_a_range_of_a_large_file_is_read_from_its_place(settings: Settings) -> None:
    async with serving(settings) as base, plain(base) as client:
        location = (await client.put("/artifacts?name=core.bin", content=LARGE)).headers["location"]
        got = await client.get(location, headers={"Range": f"bytes=2000001-{len(LARGE) - 1}"})
        assert got.content == LARGE[2_000_001:]


@covers("http-transfer")
@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/artifacts/f99", 404, "handle_not_found"),
        ("GET", "/artifacts/billing.py", 404, "handle_not_found"),
        ("GET", "/artifacts/f1%23Nothing", 404, "symbol_not_found"),
        ("GET", "/artifacts/f1%23L9-2", 400, "invalid_handle"),
        ("PUT", "/artifacts", 400, "invalid_argument"),
        ("PUT", "/artifacts?name=x&kind=odd", 400, "invalid_argument"),
    ],
)
async def test_what_is_refused_says_why(
    settings: Settings, method: str, path: str, status: int, kind: str
) -> None:
    async with serving(settings) as base, plain(base) as client:
        await client.put("/artifacts?name=billing.py", content=INVOICE.encode())
        answer = await client.request(method, path, content=b"x" if method == "PUT" else None)
        assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)


@covers("http-transfer")
async def test_released_content_is_gone(settings: Settings) -> None:
    async with serving(settings) as base, plain(base) as client:
        await client.put("/artifacts?name=a.txt", content=b"a\n")
        headers = {"Accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "release_handles", "arguments": {"handles": ["f1"]}, "_meta": meta}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers |= {"mcp-method": "tools/call", "mcp-name": "release_handles"}
        released = await client.post("/mcp", json=request, headers=headers)
        assert released.status_code == 200, released.text
        assert (await client.get("/artifacts/f1")).status_code == 410


@covers("http-transfer")
@pytest.mark.parametrize("announced", [True, False])
async def test_too_large_a_body_is_refused_and_leaves_nothing(settings: Settings, announced: bool) -> None:
    async with serving(settings) as base, plain(base) as client:
        data = LARGE * 2
        body = data if announced else _in_small_pieces(data)
        answer = await client.put("/artifacts?name=x", content=body)
        assert (answer.status_code, answer.json()["error"]["type"]) == (413, "artifact_too_large")
        assert (await client.get("/artifacts/f1")).status_code == 404


@covers("http-transfer", "http-quota")
async def test_an_upload_beyond_the_quota_is_refused(settings: Settings, tmp_path: Path) -> None:
    limits = {"token_file": tokens_in(tmp_path), "principal_bytes": 1_000}
    async with serving(settings, **limits) as base, plain(base, ANN) as client:
        answer = await client.put("/artifacts?name=x", content=b"x" * 2_000)
        assert (answer.status_code, answer.json()["error"]["type"]) == (507, "quota_exceeded")


@covers("http-transfer")
async def test_a_body_that_breaks_off_leaves_nothing(settings: Settings) -> None:
    async with serving(settings) as base:
        port = int(base.rsplit(":", 1)[1])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            head = "PUT /artifacts?name=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n"
            await stream.send(head.encode() + b"x" * 2_000_000)
        async with plain(base) as client:
            assert (await client.put("/artifacts?name=y", content=b"whole\n")).json()["handle"] == "f1"
            assert (await client.get("/artifacts/f2")).status_code == 404
