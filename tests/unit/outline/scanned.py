"""Outlines of samples whose language is told by ``detect``, as for a stored file."""

from __future__ import annotations

from mcp_offload.models import Outline, Span, Symbol
from mcp_offload.outline import outline
from mcp_offload.outline.languages import detect
from tests.unit.outline.samples import sample


def scanned(path: str) -> Outline:
    view = sample(path)
    return outline(view, detect(path, view), path)


def text_of(view: bytes, span: Span | None) -> bytes:
    assert span is not None
    return view[span.start_byte : span.end_byte]


def named(symbols: list[Symbol] | tuple[Symbol, ...], *path: str) -> Symbol:
    """The one symbol with that path."""
    fitting = [symbol for symbol in symbols if symbol.path == path]
    assert len(fitting) == 1, f"{len(fitting)} symbols are called {path}"
    return fitting[0]
