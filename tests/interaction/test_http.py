"""Serving over HTTP: both eras, who may come, whose things are whose."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import MCPError

from mcp_offload.errors import SettingsError
from mcp_offload.server.http import make_app
from mcp_offload.settings import HttpSettings, Settings
from tests.interaction.harness import INVOICE, MODES, Mode, call, fail, settings_in
from tests.interaction.http_harness import ANN, BOB, client_of, plain, serving, tokens_in
from tests.interaction.requirements import covers

pytestmark = pytest.mark.anyio
EACH_MODE = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path)
    (Path(settings.base_dir) / "billing.py").write_text(INVOICE, encoding="utf-8")
    return settings


@covers("http-mcp")
@EACH_MODE
async def test_tools_resources_and_prompts_over_http(settings: Settings, mode: Mode) -> None:
    async with serving(settings) as base, client_of(base, mode) as client:
        assert "f1" in await call(client, "store_artifact", source="billing.py")
        assert "def report" in await call(client, "read_handle", handles=["f1#report"])
        assert "99" in await fail(client, "read_handle", handles=["f99"])
        (contents,) = (await client.read_resource("offload://here/f1")).contents
        assert getattr(contents, "text", None) == INVOICE
        assert len((await client.list_prompts()).prompts) == 3
        with pytest.raises(MCPError):
            await client.read_resource("offload://here/f99")


@covers("http-principals")
@EACH_MODE
async def test_each_principal_has_a_workspace_of_its_own(
    settings: Settings, mode: Mode, tmp_path: Path
) -> None:
    async with serving(settings, token_file=tokens_in(tmp_path)) as base:
        async with client_of(base, mode, ANN) as ann:
            await call(ann, "store_artifact", content="a secret\n", name="note.txt")
            assert "note.txt" in await call(ann, "list_artifacts")
        async with client_of(base, mode, BOB) as bob:
            assert "note.txt" not in await call(bob, "list_artifacts")
            await fail(bob, "read_handle", handles=["f1"])
            with pytest.raises(MCPError):
                await bob.read_resource("offload://here/f1")
        async with plain(base, BOB) as bob_plain:
            assert (await bob_plain.get("/artifacts/f1")).status_code == 404
        async with plain(base, ANN) as ann_plain:
            assert (await ann_plain.get("/artifacts/f1")).content == b"a secret\n"


@covers("http-principals")
async def test_a_connection_belongs_to_who_opened_it(settings: Settings, tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    accept = {"Accept": "application/json, text/event-stream"}
    async with serving(settings, token_file=tokens_in(tmp_path)) as base:
        async with plain(base, ANN) as ann:
            session = (await ann.post("/mcp", json=hello, headers=accept)).headers["mcp-session-id"]
            headers = {**accept, "mcp-session-id": session}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            assert (await ann.post("/mcp", json=ping, headers=headers)).status_code == 200
        async with plain(base, BOB) as bob:
            assert (await bob.post("/mcp", json=ping, headers=headers)).status_code == 404


@covers("http-principals")
async def test_connections_of_one_principal_are_shown_things_apart(settings: Settings) -> None:
    source = Path(settings.base_dir) / "billing.py"
    async with (
        serving(settings) as base,
        client_of(base, "legacy") as first,
        client_of(base, "legacy") as second,
    ):
        await call(first, "read_handle", handles=["billing.py#report"])
        source.write_text(INVOICE.replace("A line for", "One line for"), encoding="utf-8")
        assert "changed" not in await call(second, "read_handle", handles=["f1#report"])
        assert "changed" in await call(first, "read_handle", handles=["f1#report"])


@covers("http-admission")
@pytest.mark.parametrize("authorization", [None, "Bearer", "Bearer wrong", f"Basic {ANN}", f"Bearer {ANN}x"])
async def test_without_a_token_nothing_but_health_is_answered(
    settings: Settings, tmp_path: Path, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    async with serving(settings, token_file=tokens_in(tmp_path)) as base, plain(base) as client:
        for method, path in (("POST", "/mcp"), ("GET", "/artifacts/f1"), ("PUT", "/artifacts?name=x")):
            answer = await client.request(method, path, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        health = await client.get("/healthz")
        assert health.json()["status"] == "ok"


@covers("http-admission")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://localhost"}, 403),
        ({"Origin": "http://localhost:3000"}, 404),
        ({"Host": "localhost:1"}, 404),
        ({"Host": "box.example"}, 404),
    ],
)
async def test_pages_and_names_of_others_are_kept_out(
    settings: Settings, headers: dict[str, str], status: int
) -> None:
    async with serving(settings, allowed_hosts=("box.example",)) as base, plain(base) as client:
        assert (await client.get("/artifacts/f9", headers=headers)).status_code == status


@covers("http-admission")
async def test_too_many_requests_are_told_when_to_come_again(settings: Settings, tmp_path: Path) -> None:
    limits = {"requests_per_second": 0.001, "burst": 2, "token_file": tokens_in(tmp_path)}
    async with serving(settings, **limits) as base, plain(base, ANN) as ann, plain(base, BOB) as bob:
        statuses = [(await ann.get("/artifacts/f9")).status_code for _ in range(3)]
        assert statuses == [404, 404, 429]
        assert int((await ann.get("/artifacts/f9")).headers["retry-after"]) > 100
        assert (await bob.get("/artifacts/f9")).status_code == 404


@covers("http-admission")
@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "box.example"])
async def test_others_are_let_in_with_tokens_only(settings: Settings, tmp_path: Path, host: str) -> None:
    def never() -> object:
        raise AssertionError

    with pytest.raises(SettingsError, match="--token-file"):
        make_app(never, settings, HttpSettings(host=host, port=0))  # type: ignore[arg-type]
    with_tokens = HttpSettings(host=host, port=0, token_file=tokens_in(tmp_path))
    assert make_app(never, settings, with_tokens)  # type: ignore[arg-type]


@covers("http-quota")
@EACH_MODE
async def test_a_principal_keeps_to_its_quota(settings: Settings, mode: Mode, tmp_path: Path) -> None:
    async with serving(settings, token_file=tokens_in(tmp_path), principal_bytes=1_000) as base:
        async with client_of(base, mode, ANN) as ann:
            await call(ann, "store_artifact", content="x" * 900, name="a")
            assert "Release" in await fail(ann, "store_artifact", content="y" * 200, name="b")
            await call(ann, "release_handles", handles=["f1"])
            await call(ann, "store_artifact", content="y" * 200, name="b")
        async with client_of(base, mode, BOB) as bob:
            await call(bob, "store_artifact", content="z" * 900, name="a")
