"""Resource links for what a tool has stored, where the operator asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mcp_types import ResourceLink

from mcp_offload.models import EditResult, StoreManyResult, StoreResult
from mcp_offload.tools.perform import Result
from mcp_offload.wire.media import media_type
from mcp_offload.wire.resource_uri import format_uri
from mcp_offload.wire.scrub import scrub_text

MOST_LINKS: Final = 8


def links_of(result: Result, slug: str) -> list[ResourceLink]:
    """Links to what was stored or edited, at most eight; the text alone names all of it."""
    match result:
        case StoreResult():
            return [_stored(result, slug)]
        case StoreManyResult():
            return _stored_many(result.stored[:MOST_LINKS], slug)
        case EditResult():
            return [ResourceLink(name=scrub_text(result.name), uri=format_uri(slug, result.handle))]
        case _:
            return []


def _stored_many(results: Sequence[StoreResult], slug: str) -> list[ResourceLink]:
    return [_stored(result, slug) for result in results]


def _stored(result: StoreResult, slug: str) -> ResourceLink:
    return ResourceLink(
        name=scrub_text(result.name),
        uri=format_uri(slug, result.handle),
        mime_type=media_type(result.name, result.language, binary=result.binary),
        size=result.bytes,
    )
