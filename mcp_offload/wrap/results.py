"""What a tool result holds, as far as a model pays for it. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from mcp_offload.wire.messages import JsonObject, as_object
from mcp_offload.wrap.spans import find

#: Blocks that a client shows and that no text can stand for. They stay where they are.
SHOWN: Final = frozenset({"image", "audio"})
#: More blocks than this are kept as the one list that they are.
MOST_PIECES: Final = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """Something to store.

    Attributes:
        block: the block that it is all of, or None.
        data: its bytes, exactly.
        name: a file name that tells its language, or None.
        text: what a model would have read; None for what is not text.
    """

    data: bytes
    name: str | None
    text: str | None
    block: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A result, taken apart.

    Attributes:
        pieces: what a model pays for, each once: the text, the embedded resources, and the structured
            content where it does not repeat the text.
        shown: images and sounds, in order, as they are.
    """

    pieces: tuple[Piece, ...]
    shown: tuple[JsonObject, ...]


def read_result(line: str, result: JsonObject) -> Reading:
    """Take a result apart; ``line`` is the text of the message that it came in."""
    blocks = [block for block in map(as_object, _list(result.get("content"))) if block is not None]
    shown = tuple(block for block in blocks if block.get("type") in SHOWN)
    rest = [block for block in blocks if block.get("type") not in SHOWN]
    pieces = [_piece(block) for block in rest]
    if len(pieces) > MOST_PIECES:
        pieces = [_list_piece(line, rest, shown)]
    structured = result.get("structuredContent")
    texts = [piece.text for piece in pieces if piece.text is not None]
    if structured is not None and not _repeats(structured, texts):
        raw = find(line, "result", "structuredContent") or _dumped(structured)
        pieces.append(Piece(_encoded(raw), "structured.json", raw))
    return Reading(tuple(pieces), shown)


def _piece(block: JsonObject) -> Piece:
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str):
        return Piece(_encoded(text), None, text, block)
    if block.get("type") == "resource" and (resource := as_object(block.get("resource"))) is not None:
        return _resource(block, resource)
    return _whole(block)


def _resource(block: JsonObject, resource: JsonObject) -> Piece:
    name = _last_part(resource.get("uri"))
    text, blob = resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return Piece(_encoded(text), name, text)
    if isinstance(blob, str):
        try:
            return Piece(base64.b64decode(blob, validate=True), name, None)
        except binascii.Error:
            pass
    return _whole(block)


def _whole(block: JsonObject) -> Piece:
    """A block of a type that is not known here, as its JSON."""
    text = _dumped(block)
    return Piece(_encoded(text), f"{block.get('type', 'block')}.json", text)


def _list_piece(line: str, rest: list[JsonObject], shown: Sequence[JsonObject]) -> Piece:
    raw = None if shown else find(line, "result", "content")
    text = raw or _dumped(rest)
    return Piece(_encoded(text), "content.json", text)


def _repeats(structured: object, texts: Sequence[str]) -> bool:
    """Whether structured content says what a text says already: as its JSON, or as its only string."""
    said: list[object] = [structured]
    if (members := as_object(structured)) is not None and len(members) == 1:
        said += members.values()
    if len(texts) != 1:
        return list(texts) in said
    if texts[0] in said:
        return True
    try:
        parsed: object = json.loads(texts[0])
    except (ValueError, RecursionError):
        return False
    return parsed in said


def _last_part(uri: object) -> str | None:
    if not isinstance(uri, str):
        return None
    return uri.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2] or None


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
