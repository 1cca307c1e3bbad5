"""Storing what a command printed, and what is shown instead. The one part that loads the service."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_offload.models import StoreManyResult, StoreResult
    from mcp_offload.settings import Settings

PLAIN_TOKENS: Final = 600
"""So much is shown as it is where no tool is recognised, as by ``mcp-offload run``."""

_CHUNK_BYTES: Final = 1 << 20
_COUNTED_BYTES: Final = 8_000


def warm_up() -> None:
    """Load what storing needs, while a command still runs."""
    from mcp_offload.cli import parser, settings_from
    from mcp_offload.digest import digester
    from mcp_offload.service import open_service

    _ = parser, settings_from, digester, open_service


def digest_of(
    descriptor: int, name: str, options: Sequence[str], environ: Mapping[str, str], *, must: bool = False
) -> str | None:
    """Store what a descriptor holds and return what to show; None to show it as it is.

    ``options`` are global ones of the command line, such as ``--store``. ``must`` says that it cannot be
    shown as it is: where it is short, the text itself is returned.

    Raises:
        OffloadError: it cannot be stored.
    """
    from mcp_offload.service import open_service, render
    from mcp_offload.wire.scrub import scrub_text

    with open_service(settings_of(options, environ)) as service:
        size = os.fstat(descriptor).st_size
        text = os.pread(descriptor, size, 0).decode("utf-8", "replace") if size <= _COUNTED_BYTES else ""
        result = service.store(content=_chunks(descriptor), name=name, kind="log")
        told = scrub_text(render.store_text(result))
        if text and _is_short(result, service.count_tokens(text), service.count_tokens(told)):
            return scrub_text(text) if must else None
        return told


def _is_short(result: StoreResult | StoreManyResult, tokens: int, instead: int) -> bool:
    """Whether a text costs no more than what would be shown instead, or than any where no tool is known."""
    from mcp_offload.models import StoreResult

    known = isinstance(result, StoreResult) and result.digest is not None and result.digest.tools
    return tokens <= (instead if known else max(instead, PLAIN_TOKENS))


def settings_of(options: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """The settings by which a server in the same directory works.

    Raises:
        SettingsError: a variable or an option is malformed.
    """
    from mcp_offload.cli.parser import parse
    from mcp_offload.cli.settings_from import build_settings

    return build_settings(parse(["gc", *options]), environ, os.getcwd())


def _chunks(descriptor: int) -> Iterator[bytes]:
    offset = 0
    while chunk := os.pread(descriptor, _CHUNK_BYTES, offset):
        offset += len(chunk)
        yield chunk
