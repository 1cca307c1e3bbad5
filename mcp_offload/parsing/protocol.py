"""What travels over the pipes: a request is a header and a text, an answer is one payload.

All numbers are big-endian. Request: uint32 header length, uint64 text length, the header as JSON, the
text. Answer: uint64 payload length, the payload: an encoded outline, or JSON.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import Final, Literal

REQUEST_PREFIX: Final = struct.Struct(">IQ")
STOPPED: Final = "parser stopped after {:.3g} s"
ANSWER_PREFIX: Final = struct.Struct(">Q")
_SHORT_BYTES: Final = 1 << 16

Task = Literal["outline", "count", "fit"]


@dataclass(frozen=True, slots=True)
class Header:
    """What to do with a text, and within what.

    Attributes:
        task: ``outline``: answer with the encoded outline, tokens counted. ``count``: the text is texts
            of ``sizes`` one after the other; answer with the list of their tokens. ``fit``: answer with
            the characters that fit ``max_tokens``, and the tokens of those.
        soft_seconds, hard_seconds: when to stop by itself, and when it is killed.
        address_space_bytes: RLIMIT_AS meanwhile.
        language, name: of an outline.
    """

    task: Task
    soft_seconds: float
    hard_seconds: float
    address_space_bytes: int
    language: str | None = None
    name: str = ""
    sizes: tuple[int, ...] = ()
    max_tokens: int = 0


def request(header: Header, text: bytes) -> list[bytes]:
    """A request in pieces to be written one after the other; a short one is one piece."""
    described = json.dumps(asdict(header)).encode("ascii")
    start = REQUEST_PREFIX.pack(len(described), len(text)) + described
    return [start, text] if len(text) > _SHORT_BYTES else [start + text]


def header_of(described: bytes) -> Header:
    """The header that ``request`` packed."""
    return Header(**json.loads(described))


def answer(payload: bytes) -> bytes:
    """An answer as one piece."""
    return ANSWER_PREFIX.pack(len(payload)) + payload
