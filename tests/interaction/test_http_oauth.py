"""OAuth over HTTP: the SDK's client gets a token and comes in; other tokens stay out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from mcp_offload.server.http import MCP_PATH
from mcp_offload.settings import OAuthSettings, Settings
from tests.interaction.authorization import Issuer, Key, issuing
from tests.interaction.harness import MODES, Mode, call, fail, settings_in
from tests.interaction.http_harness import ANN, bearer, free_port, plain, serving, tokens_in
from tests.interaction.requirements import covers

pytestmark = pytest.mark.anyio
EACH_MODE = pytest.mark.parametrize("mode", MODES)
REDIRECT = "http://127.0.0.1:1/callback"
METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@dataclass
class Kept:
    """The client's storage: registrations and tokens."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    visited: list[str] = field(default_factory=list)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@asynccontextmanager
async def guarded(
    settings: Settings,
    issuer: Issuer,
    audience: str | None = None,
    scopes: tuple[str, ...] = (),
    **changes: Any,
) -> AsyncIterator[str]:
    """A server that takes the issuer's tokens; its base URL."""
    port = free_port()
    resource = f"http://127.0.0.1:{port}{MCP_PATH}"
    oauth = OAuthSettings(issuer=issuer.url, resource=resource, audience=audience, scopes=scopes)
    async with serving(settings, port=port, oauth=oauth, **changes) as base:
        yield base


@asynccontextmanager
async def logging_in(base: str, mode: Mode, kept: Kept) -> AsyncIterator[Client]:
    """The SDK's client, whose user's browser follows redirects at once."""
    answers: list[str] = []

    async def visit(url: str) -> None:
        kept.visited.append(url)
        async with httpx2.AsyncClient() as browser:
            answers.append((await browser.get(url)).headers["location"])

    async def answer() -> AuthorizationCodeResult:
        found = parse_qs(urlsplit(answers.pop()).query)
        return AuthorizationCodeResult(code=found["code"][0], state=found["state"][0])

    metadata = OAuthClientMetadata.model_validate({"client_name": "test", "redirect_uris": [REDIRECT]})
    auth = OAuthClientProvider(f"{base}{MCP_PATH}", metadata, kept, visit, answer)
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(auth=auth, timeout=30))
        transport = streamable_http_client(f"{base}{MCP_PATH}", http_client=http)
        yield await stack.enter_async_context(Client(transport, mode=mode))


@covers("http-oauth")
@EACH_MODE
async def test_a_client_registers_logs_in_and_works(settings: Settings, mode: Mode) -> None:
    async with issuing(["offload"]) as issuer, guarded(settings, issuer, scopes=("offload",)) as base:
        kept = Kept()
        async with logging_in(base, mode, kept) as client:
            await call(client, "store_artifact", content="a note\n", name="note.txt")
            assert "a note" in await call(client, "read_handle", handles=["f1"])
        assert len(kept.visited) == 1
        assert kept.tokens is not None
        assert kept.tokens.scope == "offload"
        async with plain(base, kept.tokens.access_token) as beside:
            assert (await beside.get("/artifacts/f1")).content == b"a note\n"


@covers("http-oauth")
@EACH_MODE
async def test_each_subject_has_a_workspace_of_its_own(settings: Settings, mode: Mode) -> None:
    async with issuing() as issuer, guarded(settings, issuer) as base:
        async with logging_in(base, mode, Kept()) as ann:
            await call(ann, "store_artifact", content="a secret\n", name="note.txt")
        issuer.subject = "bob"
        async with logging_in(base, mode, Kept()) as bob:
            assert "note.txt" not in await call(bob, "list_artifacts")
            await fail(bob, "read_handle", handles=["f1"])
        issuer.subject = "ann"
        async with logging_in(base, mode, Kept()) as again:
            assert "note.txt" in await call(again, "list_artifacts")


@covers("http-oauth")
async def test_a_connection_belongs_to_the_token_that_opened_it(settings: Settings) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    accept = {"Accept": "application/json, text/event-stream"}
    async with issuing() as issuer, guarded(settings, issuer) as base:
        mine = issuer.token(f"{base}/mcp", client_id="one")
        others = issuer.token(f"{base}/mcp", client_id="another")
        async with plain(base) as http:
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            opened = await http.post("/mcp", json=body, headers={**accept, **bearer(mine)})
            session = {"mcp-session-id": opened.headers["mcp-session-id"]}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            for token, status in ((mine, 200), (others, 404)):
                headers = {**accept, **bearer(token), **session}
                assert (await http.post("/mcp", json=ping, headers=headers)).status_code == status


@covers("http-oauth")
async def test_whoever_comes_without_a_token_is_told_where_to_get_one(settings: Settings) -> None:
    async with (
        issuing() as issuer,
        guarded(settings, issuer, scopes=("offload",)) as base,
        plain(base) as http,
    ):
        for method, path in (("POST", "/mcp"), ("GET", "/artifacts/f1"), ("PUT", "/artifacts?name=x")):
            answer = await http.request(method, path)
            assert answer.status_code == 401
            assert f'resource_metadata="{base}{METADATA_PATH}"' in answer.headers["www-authenticate"]
        page = {"Origin": "https://page.example"}
        told = await http.get(METADATA_PATH, headers=page)
        assert told.headers["access-control-allow-origin"] in ("*", page["Origin"])
        assert told.json() == {
            "resource": f"{base}/mcp",
            "authorization_servers": [issuer.url],
            "scopes_supported": ["offload"],
            "bearer_methods_supported": ["header"],
            "resource_name": "mcp-offload",
        }
        assert (await http.get(METADATA_PATH, headers={"Host": "evil.example"})).status_code == 421
        assert (await http.get("/healthz")).status_code == 200
        assert issuer.fetched == 0


@covers("http-oauth")
@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"iss": "http://127.0.0.1:2"},
        {"aud": "http://127.0.0.1:2/mcp"},
        {"aud": None},
        {"nbf": 9_999_999_999},
    ],
    ids=str,
)
async def test_a_token_for_something_else_stays_out(settings: Settings, claims: dict[str, Any]) -> None:
    async with issuing() as issuer, guarded(settings, issuer) as base:
        good = {"aud": f"{base}/mcp"}
        for changes, status in (({}, 404), (claims, 401)):
            token = issuer.token(None, **{**good, **changes})
            async with plain(base, token) as http:
                assert (await http.get("/artifacts/f9")).status_code == status


@covers("http-oauth")
async def test_a_token_that_the_issuer_did_not_sign_stays_out(settings: Settings) -> None:
    async with issuing() as issuer, guarded(settings, issuer) as base:
        audience = f"{base}/mcp"
        good = issuer.token(audience)
        claims = jwt.decode(good, options={"verify_signature": False})
        public = issuer.key.public
        forged = {
            "another key": issuer.token(audience, key=Key("first", "RS256")),
            "an unknown key": issuer.token(audience, key=Key("other", "RS256")),
            "no signature": jwt.encode(claims, None, "none"),
            "the public key as a secret": jwt.encode(claims, public["n"], "HS256", headers={"kid": "first"}),
            "cut": good[:-4],
            "not a token": "a.b.c",
            "one word": "x",
        }
        async with plain(base) as http:
            for what, token in forged.items():
                answer = await http.get("/artifacts/f9", headers=bearer(token))
                assert answer.status_code == 401, what
                assert 'error="invalid_token"' in answer.headers["www-authenticate"]
            assert (await http.get("/artifacts/f9", headers=bearer(good))).status_code == 404
        # Unknown keys do not have them fetched for each token.
        assert issuer.fetched == 1


@covers("http-oauth")
async def test_a_token_needs_every_scope(settings: Settings) -> None:
    async with issuing() as issuer, guarded(settings, issuer, scopes=("read", "write")) as base:
        for claims, status in (
            ({"scope": "read"}, 403),
            ({}, 403),
            ({"scope": "write read x"}, 404),
            ({"scp": ["read", "write"]}, 404),
            ({"scope": 7}, 403),
        ):
            async with plain(base, issuer.token(f"{base}/mcp", **claims)) as http:
                answer = await http.get("/artifacts/f9")
                assert answer.status_code == status, claims
                assert status == 404 or 'error="insufficient_scope"' in answer.headers["www-authenticate"]


@covers("http-oauth")
async def test_an_audience_may_have_a_name(settings: Settings) -> None:
    async with issuing() as issuer, guarded(settings, issuer, audience="api://offload") as base:
        for audience, status in (("api://offload", 404), (["x", "api://offload"], 404), (f"{base}/mcp", 401)):
            async with plain(base, issuer.token(None, aud=audience)) as http:
                assert (await http.get("/artifacts/f9")).status_code == status, audience


@covers("http-oauth")
async def test_keys_may_be_of_any_public_kind(settings: Settings) -> None:
    async with issuing() as issuer:
        issuer.key = Key("curve", "ES256")
        issuer.published = [Key("old", "RS256"), issuer.key]
        async with guarded(settings, issuer) as base, plain(base, issuer.token(f"{base}/mcp")) as http:
            assert (await http.get("/artifacts/f9")).status_code == 404


@covers("http-oauth")
async def test_without_keys_nobody_is_refused_for_good(settings: Settings) -> None:
    async with issuing() as issuer, guarded(settings, issuer) as base:
        issuer.down = True
        async with plain(base, issuer.token(f"{base}/mcp")) as http:
            answer = await http.get("/artifacts/f9")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert issuer.url in answer.text
            issuer.down = False
            assert (await http.get("/artifacts/f9")).status_code == 404


@covers("http-oauth")
async def test_tokens_of_a_file_are_taken_besides(settings: Settings, tmp_path: Path) -> None:
    async with (
        issuing() as issuer,
        guarded(settings, issuer, token_file=tokens_in(tmp_path)) as base,
        plain(base, ANN) as by_file,
        plain(base, issuer.token(f"{base}/mcp")) as by_issuer,
    ):
        assert (await by_file.put("/artifacts?name=a.txt", content=b"mine\n")).status_code == 201
        # Both are called ann, by different authorities.
        assert (await by_issuer.get("/artifacts/f1")).status_code == 404
        assert (await by_file.get("/artifacts/f1")).status_code == 200
