"""Parameter lists of PL/SQL as overload keys: the types alone, as they are written."""

from __future__ import annotations

from typing import Final

from mcp_offload.models import Span
from mcp_offload.outline.scanners.sql_tokens import PLSQL, Token, tokens

_MODES: Final = frozenset(["IN", "OUT", "NOCOPY"])
_MAX_BYTES: Final = 16 * 1024


def parameter_types(view: bytes, span: Span) -> str:
    """The types of a parameter list, comma-separated, without names, modes, defaults or comments."""
    text = view[span.start_byte : min(span.end_byte, span.start_byte + _MAX_BYTES)]
    types: list[str] = []
    current: list[Token] = []
    depth = 0
    for token in tokens(PLSQL, text):
        if token.kind in ("comment", "command"):
            continue
        if token.text == "," and depth == 0:
            types.append(_type(text, current))
            current = []
            continue
        depth += (token.text == "(") - (token.text == ")")
        current.append(token)
    if current:
        types.append(_type(text, current))
    return ",".join(types)


def _type(text: bytes, parameter: list[Token]) -> str:
    """The type of one parameter: what stands between its name and modes and its default."""
    words: list[str] = []
    for token in parameter[1:]:
        written = text[token.start : token.end].decode("utf-8", "replace")
        if written == ":=" or token.text == "DEFAULT":
            break
        if token.text not in _MODES or words:
            words.append(written)
    return "".join(words)
