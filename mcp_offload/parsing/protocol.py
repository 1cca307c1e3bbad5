"""What travels over the pipes: a request is a header and a text, an answer is one payload.

All numbers are big-endian. Request: uint32 header length, uint64 text length, the header as JSON, the
text. Answer: uint64 payload length, the payload.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import Final

REQUEST_PREFIX: Final = struct.Struct(">IQ")
STOPPED: Final = "parser stopped after {:.3g} s"
ANSWER_PREFIX: Final = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Header:
    """What to parse a text as, and within what."""

    language: str | None
    name: str
    soft_seconds: float
    hard_seconds: float
    address_space_bytes: int


def request(header: Header, view: bytes) -> list[bytes]:
    """A request in pieces to be written one after the other."""
    described = json.dumps(asdict(header)).encode("ascii")
    return [REQUEST_PREFIX.pack(len(described), len(view)) + described, view]


def header_of(described: bytes) -> Header:
    """The header that ``request`` packed."""
    return Header(**json.loads(described))


def answer(payload: bytes) -> bytes:
    """An answer as one piece."""
    return ANSWER_PREFIX.pack(len(payload)) + payload
