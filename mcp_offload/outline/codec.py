"""Outlines as bytes, for the pipe to the worker and for the store's cache."""

from __future__ import annotations

import json
from typing import Any

from mcp_offload.models import Outline, Span, Symbol


def encode(outline: Outline) -> bytes:
    """The outline as compact JSON; ``decode`` is its exact inverse, token counts included."""
    rows = [
        [
            symbol.path,
            symbol.kind,
            _pair(symbol.span),
            [symbol.start_line, symbol.end_line],
            symbol.params,
            [int(symbol.overloaded), symbol.ordinal, int(symbol.near_error)],
            _pair(symbol.sig),
            _pair(symbol.doc),
            _pair(symbol.body),
            symbol.text_key,
            symbol.tokens,
        ]
        for symbol in outline.symbols
    ]
    table = [outline.language, int(outline.parsed), outline.reason, rows, outline.tokens]
    return json.dumps(table, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def decode(payload: bytes) -> Outline:
    """The outline that ``encode`` made the bytes of.

    Raises:
        ValueError: the payload is not one of ours.
    """
    try:
        language, parsed, reason, rows, tokens = json.loads(payload)
        return Outline(language, bool(parsed), reason, tuple(_symbol(row) for row in rows), tokens)
    except (TypeError, IndexError, KeyError) as exc:
        raise ValueError("not an encoded outline") from exc


def _pair(span: Span | None) -> list[int] | None:
    return None if span is None else [span.start_byte, span.end_byte]


def _span(pair: list[int] | None) -> Span | None:
    return None if pair is None else Span(pair[0], pair[1])


def _symbol(row: list[Any]) -> Symbol:
    path, kind, span, lines, params, marks, sig, doc, body, text_key, tokens = row
    return Symbol(
        path=tuple(path),
        kind=kind,
        span=Span(span[0], span[1]),
        start_line=lines[0],
        end_line=lines[1],
        params=params,
        overloaded=bool(marks[0]),
        ordinal=marks[1],
        near_error=bool(marks[2]),
        sig=_span(sig),
        doc=_span(doc),
        body=_span(body),
        text_key=text_key,
        tokens=tokens,
    )
