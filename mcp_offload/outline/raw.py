"""A definition as a scanner or the walker finds it, and the one way to make a symbol of it."""

from __future__ import annotations

from mcp_offload.models import Span, Symbol


def raw(
    path: tuple[str, ...],
    kind: str,
    span: tuple[int, int],
    *,
    params: str | None = None,
    sig: tuple[int, int] | None = None,
    body: tuple[int, int] | None = None,
    doc: tuple[int, int] | None = None,
) -> Symbol:
    """A symbol whose lines, documentation and rank ``finish`` still has to fill in."""
    return Symbol(
        path=path,
        kind=kind,
        span=Span(*span),
        start_line=0,
        end_line=0,
        params=params,
        sig=Span(*sig) if sig else None,
        body=Span(*body) if body else None,
        doc=Span(*doc) if doc else None,
    )
