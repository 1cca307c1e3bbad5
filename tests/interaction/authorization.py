"""A small OAuth authorization server on loopback: registration, codes with PKCE, signed tokens, keys.

The endpoints are the SDK's; who may do what, and what a token says, is here. Everybody is let in at once,
as :attr:`Issuer.subject`.
"""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

TOKEN_SECONDS = 600


class Key:
    """A signing key and its public half as a JWK."""

    def __init__(self, kid: str, algorithm: str) -> None:
        self.kid = kid
        self.algorithm = algorithm
        if algorithm.startswith("RS"):
            self.private: Any = rsa.generate_private_key(65537, 2048)
            public = jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key())
        else:
            self.private = ec.generate_private_key(ec.SECP256R1())
            public = jwt.algorithms.ECAlgorithm.to_jwk(self.private.public_key())
        self.public = {**json.loads(public), "kid": kid, "alg": algorithm, "use": "sig"}


class Issuer:
    """The authorization server, as the SDK's provider.

    Attributes:
        url: its issuer.
        subject: who logs in next.
        key: what it signs with.
        published: the keys that it publishes.
        audience: whom tokens are for; by default the resource that the client named.
        fetched: how often its keys were asked for.
        down: answers 500 to whoever asks for its keys.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.subject = "ann"
        self.key = Key("first", "RS256")
        self.published = [self.key]
        self.audience: str | None = None
        self.fetched = 0
        self.down = False
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}

    def token(self, audience: str | None, *, key: Key | None = None, **changes: Any) -> str:
        """A token for the present subject; a change to None leaves a claim out."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": self.subject,
            "aud": audience,
            "iat": now,
            "exp": now + TOKEN_SECONDS,
            "client_id": "some client",
            **changes,
        }
        signer = key or self.key
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(
            kept, signer.private, signer.algorithm, headers={"kid": signer.kid, "typ": "at+jwt"}
        )

    # What the SDK asks of a provider.

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self._clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        assert client.client_id is not None
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=self.subject,
        )
        self._codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self._codes[authorization_code.code]
        scope = " ".join(authorization_code.scopes)
        audience = self.audience or authorization_code.resource
        token = self.token(
            audience, sub=authorization_code.subject, scope=scope, client_id=authorization_code.client_id
        )
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=TOKEN_SECONDS, scope=scope)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> None:
        return None

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        raise NotImplementedError

    async def exchange_identity_assertion(
        self, client: OAuthClientInformationFull, params: Any
    ) -> OAuthToken:
        raise NotImplementedError

    async def load_access_token(self, token: str) -> AccessToken | None:
        return None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise NotImplementedError


def _app(issuer: Issuer, scopes: list[str]) -> Starlette:
    auth = AuthSettings.model_validate({"issuer_url": issuer.url, "resource_server_url": None})
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=scopes, default_scopes=scopes)
    metadata = build_metadata(auth.issuer_url, None, registration, RevocationOptions())
    told = metadata.model_dump(mode="json", exclude_none=True) | {"jwks_uri": f"{issuer.url}/keys"}

    async def tell(request: Request) -> JSONResponse:
        return JSONResponse(told)

    async def keys(request: Request) -> JSONResponse:
        issuer.fetched += 1
        body = {"keys": [key.public for key in issuer.published]}
        return JSONResponse(body, 500 if issuer.down else 200)

    # The SDK's metadata names no keys, since its own servers look tokens up.
    routes = [Route("/.well-known/oauth-authorization-server", tell), Route("/keys", keys)]
    return Starlette(routes=[*routes, *create_auth_routes(issuer, auth.issuer_url, None, registration)])


@asynccontextmanager
async def issuing(scopes: list[str] | None = None) -> AsyncIterator[Issuer]:
    """An authorization server that is being served."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        issuer = Issuer(f"http://127.0.0.1:{sock.getsockname()[1]}")
        app = _app(issuer, scopes or [])
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", http="h11", lifespan="off"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [sock])
            try:
                yield issuer
            finally:
                server.should_exit = True
