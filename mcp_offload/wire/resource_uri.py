"""Resource URIs: ``offload://{workspace}/{artifact}{?v,sel,part}``, and handles in that form. Pure.

``workspace`` is a slug, or ``here`` for the workspace of whoever is asked. ``artifact`` is an issued
handle without version (``f12``) or the name of a fixed page; ``v`` a version, ``sel`` what stands
after ``#`` in a handle, ``part`` what stands after ``:`` there.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from mcp_offload.errors import InvalidHandleError
from mcp_offload.handle import (
    ArtifactRef,
    FailureSelector,
    Selector,
    SymbolSelector,
    format_handle,
    format_selector,
    parse_handle,
)

SCHEME: Final = "offload"
URI_TEMPLATE: Final = "offload://{workspace}/{artifact}{?v,sel,part}"
HERE: Final = "here"
_SLUG_CHARS: Final = 20
_KEYS: Final = ("v", "sel", "part")
_ARTIFACT: Final = re.compile(r"[fltb][1-9][0-9]{0,14}\Z")
_PAGE: Final = re.compile(r"[a-z][a-z-]{1,30}\Z")


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """What a URI names: a fixed ``page``, or the bytes of ``handle``.

    ``fixed`` is True where the handle states its version, so that its bytes never change.
    """

    workspace: str
    page: str | None = None
    handle: str = ""
    fixed: bool = False


def workspace_slug(workspace: str) -> str:
    """A short stable name of a workspace key: its last folder and six hex digits of its hash."""
    digest = hashlib.blake2s(workspace.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    folder = re.sub(r"[^a-z0-9]+", "-", workspace.rstrip("/").rsplit("/", 1)[-1].lower()).strip("-")
    return f"{folder[:_SLUG_CHARS].rstrip('-') or 'w'}-{digest}"


def format_uri(slug: str, handle: str) -> str:
    """The URI of what a printed handle names.

    Raises:
        InvalidHandleError: it names a path, which has no URI until it is stored.
    """
    parsed = parse_handle(handle)
    artifact = parsed.artifact
    if not isinstance(artifact, ArtifactRef):
        raise InvalidHandleError(f"{handle} is a path; store it first.")
    selector, part = _without_part(parsed.selector)
    values = (
        None if artifact.version is None else str(artifact.version),
        None if selector is None else format_selector(selector),
        part,
    )
    stated = [(key, value) for key, value in zip(_KEYS, values, strict=True) if value is not None]
    query = "&".join(f"{key}={quote(value, safe='')}" for key, value in stated)
    bare = format_handle(replace(parsed, artifact=replace(artifact, version=None), selector=None))
    return f"{SCHEME}://{slug}/{bare}" + (f"?{query}" if query else "")


def parse_uri(uri: str) -> ResourceRef:
    """Read a URI of :data:`URI_TEMPLATE`, its query in any order.

    Raises:
        InvalidHandleError: it is none, or the handle that it spells is malformed.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise InvalidHandleError(f"Not a resource of this server; the form is {URI_TEMPLATE}.") from None
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme != SCHEME or not parts.netloc or parts.fragment:
        raise InvalidHandleError(f"Not a resource of this server; the form is {URI_TEMPLATE}.")
    query = _query(parts.query)
    if _ARTIFACT.match(name):
        handle = _spelled(name, query)
        parse_handle(handle)
        return ResourceRef(parts.netloc, handle=handle, fixed="v" in query)
    if _PAGE.match(name) and not query:
        return ResourceRef(parts.netloc, page=name)
    raise InvalidHandleError("A resource names an artifact by its handle alone, such as f12.")


def _query(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in filter(None, text.split("&")):
        key, _, value = pair.partition("=")
        if key not in _KEYS or key in found:
            raise InvalidHandleError(f"A resource's query has v, sel and part, once each; not {key[:20]!r}.")
        if value:
            found[key] = unquote(value)
    return found


def _spelled(artifact: str, query: dict[str, str]) -> str:
    if "part" in query and "sel" not in query:
        raise InvalidHandleError("part belongs to a symbol or failure; name it with sel.")
    version = f"@{query['v']}" if "v" in query else ""
    if version and not re.fullmatch(r"@[1-9][0-9]{0,8}", version):
        raise InvalidHandleError("v is the number of a version.")
    selector = f"#{query['sel']}" if "sel" in query else ""
    part = f":{query['part']}" if "part" in query else ""
    return f"{artifact}{version}{selector}{part}"


def _without_part(selector: Selector | None) -> tuple[Selector | None, str | None]:
    if isinstance(selector, SymbolSelector | FailureSelector):
        return replace(selector, part=None), selector.part
    return selector, None
