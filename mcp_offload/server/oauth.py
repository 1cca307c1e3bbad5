"""OAuth: takes the tokens of one authorization server, and tells clients where to get them.

Source: MCP 2025-11-25 and 2026-07-28, authorization; RFC 9728 (metadata), RFC 9068 (JWT access tokens).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import httpx2
import jwt
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from mcp_offload.settings import OAuthSettings
from mcp_offload.wire.admission import is_secure

if TYPE_CHECKING:
    from pydantic import AnyHttpUrl

#: Signatures that need no secret of ours. Source: RFC 7518, section 3.1; RFC 8037.
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
LEEWAY_SECONDS: Final = 30
FETCH_SECONDS: Final = 10.0
MOST_FETCHED_BYTES: Final = 1 << 20
#: How long keys are taken for current, so that a withdrawn one is not for ever.
KEYS_TTL_SECONDS: Final = 3_600.0
#: A token with an unknown key makes them fetched anew, but not more often than this.
REFETCH_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


class KeysUnavailableError(Exception):
    """The authorization server's keys could not be fetched; the text says why."""


class IssuerKeys:
    """The public keys of an authorization server, fetched when they are first needed."""

    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._clock = clock
        self._fetching = anyio.Lock()
        self._keys: tuple[jwt.PyJWK, ...] = ()
        self._fetched_at: float | None = None
        self._tried_at: float | None = None

    async def matching(self, header: dict[str, Any]) -> list[jwt.PyJWK]:
        """The keys that may have signed a token with this header, fetching them anew where none has.

        Raises:
            KeysUnavailableError: there are none yet, and they could not be fetched.
        """
        async with self._fetching:
            found = self._matching(header)
            if self._must_fetch(known=bool(found)):
                await self._refresh()
                found = self._matching(header)
            return found

    def _matching(self, header: dict[str, Any]) -> list[jwt.PyJWK]:
        kid, algorithm = header.get("kid"), header.get("alg")
        named = [key for key in self._keys if kid is None or key.key_id == kid]
        return [
            key for key in named if key.algorithm_name == algorithm and key.public_key_use in (None, "sig")
        ]

    def _must_fetch(self, *, known: bool) -> bool:
        now = self._clock()
        fresh = self._fetched_at is not None and now - self._fetched_at < KEYS_TTL_SECONDS
        return not (known and fresh) and (self._tried_at is None or now - self._tried_at >= REFETCH_SECONDS)

    async def _refresh(self) -> None:
        self._tried_at = self._clock()
        try:
            async with httpx2.AsyncClient(timeout=FETCH_SECONDS) as client:
                keys = await _json(client, await self._keys_url(client))
            self._keys = tuple(jwt.PyJWKSet.from_dict(keys).keys)
        except (httpx2.HTTPError, httpx2.InvalidURL, jwt.PyJWTError, ValueError) as exc:
            _log.warning("the keys of %s could not be fetched: %s", self._issuer, exc)
            if not self._keys:
                # There is nothing to refuse a token by, so the next one tries again.
                self._tried_at = None
                raise KeysUnavailableError(str(exc)) from None
            return
        self._fetched_at = self._clock()

    async def _keys_url(self, client: httpx2.AsyncClient) -> str:
        """Source: RFC 8414, section 3; OpenID Connect Discovery 1.0, section 4."""
        reason = "it has no metadata"
        for url in build_oauth_authorization_server_metadata_discovery_urls(self._issuer, self._issuer):
            try:
                metadata = await _json(client, url)
            except httpx2.HTTPStatusError as exc:
                reason = str(exc)
                continue
            if metadata.get("issuer") != self._issuer:
                raise ValueError(f"{url} is the metadata of another issuer: {metadata.get('issuer')!r}")
            keys_url = metadata.get("jwks_uri")
            if not isinstance(keys_url, str) or not is_secure(keys_url):
                raise ValueError(f"{url} names no jwks_uri with https")
            return keys_url
        raise ValueError(reason)


async def _json(client: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    async with client.stream("GET", url) as answer:
        answer.raise_for_status()
        body = bytearray()
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > MOST_FETCHED_BYTES:
                raise ValueError(f"{url} has more than {MOST_FETCHED_BYTES} bytes")
    found: object = json.loads(body)
    if isinstance(found, dict):
        return cast("dict[str, Any]", found)
    raise ValueError(f"{url} is no JSON object")


class JwtVerifier:
    """The SDK's ``TokenVerifier`` for signed JWTs."""

    def __init__(self, oauth: OAuthSettings, keys: IssuerKeys) -> None:
        self._oauth = oauth
        self._keys = keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """What a token says, or None where it is not one for this server.

        Raises:
            KeysUnavailableError: there is nothing to check it by.
        """
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            return None
        if header.get("alg") not in ALGORITHMS:
            return None
        for key in await self._keys.matching(header):
            claims = self._claims(token, key)
            if claims is not None:
                return self._access(token, claims)
        return None

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any] | None:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._oauth.issuer,
                audience=self._oauth.audience or self._oauth.resource,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as exc:
            _log.info("a token was refused: %s", exc)
            return None

    def _access(self, token: str, claims: dict[str, Any]) -> AccessToken:
        subject = str(claims["sub"])
        return AccessToken(
            token=token,
            client_id=str(claims.get("client_id") or claims.get("azp") or subject),
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]) + LEEWAY_SECONDS,
            resource=self._oauth.resource,
            subject=subject,
            claims=claims,
        )


def _scopes(claims: dict[str, Any]) -> list[str]:
    """Source: RFC 8693, section 4.2 (a string); ``scp`` as a list or a string is what others send."""
    found: object = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    return [str(one) for one in cast("Sequence[object]", found)] if isinstance(found, list) else []


class ResourceServer:
    """The SDK's resource server: who comes with a token, and what answers those who come without."""

    def __init__(self, oauth: OAuthSettings, keys: IssuerKeys | None = None) -> None:
        # The SDK's own settings leave URLs as they are written: issuers are compared letter by letter.
        auth = AuthSettings.model_validate(
            {
                "issuer_url": oauth.issuer,
                "resource_server_url": oauth.resource,
                "validate_token_resource": False,
            }
        )
        resource = cast("AnyHttpUrl", auth.resource_server_url)
        self._issuer = oauth.issuer
        self._scopes = list(oauth.scopes)
        self._backend = BearerAuthBackend(JwtVerifier(oauth, keys or IssuerKeys(oauth.issuer)))
        # It is reached by requests it refuses alone.
        self._refusal = RequireAuthMiddleware(
            Response(status_code=500), self._scopes, build_resource_metadata_url(resource)
        )
        self.routes: list[Route] = create_protected_resource_routes(
            resource, [auth.issuer_url], self._scopes or None, resource_name="mcp-offload"
        )

    @property
    def public_paths(self) -> frozenset[str]:
        """Where it is told who issues tokens."""
        return frozenset(route.path for route in self.routes)

    async def principal(self, scope: Scope) -> str | ASGIApp:
        """The principal of a request, by issuer and subject, or what answers a request that has none."""
        try:
            found = await self._backend.authenticate(HTTPConnection(scope))
        except KeysUnavailableError as exc:
            text = f"The keys of {self._issuer} cannot be fetched, so no token can be checked: {exc}\n"
            return Response(text, 503, {"Retry-After": "5"})
        if found is None:
            return self._refusal
        scope["auth"], scope["user"] = found
        if not set(self._scopes) <= set(found[0].scopes):
            return self._refusal
        # No name in a token file has a space, so none is taken for one of these.
        return f"{self._issuer} {found[1].access_token.subject}"
