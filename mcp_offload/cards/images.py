"""Cards of images: type and dimensions from their headers, nothing decoded.

Source: PNG specification 11.2.2; GIF89a 18; ITU-T T.81 B.2.2 (JPEG); RFC 9649 (WebP); BITMAPINFOHEADER.
"""

from __future__ import annotations

from typing import Final

from mcp_offload.cards.model import DamagedError, Draft
from mcp_offload.cards.source import Bounded

_PNG_COLOURS: Final = {0: "grey", 2: "RGB", 3: "palette", 4: "grey with alpha", 6: "RGB with alpha"}
_JPEG_COLOURS: Final = {1: "grey", 3: "colour", 4: "CMYK"}
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE: Final = frozenset((0x01, *range(0xD0, 0xD9)))
_MAX_SEGMENTS: Final = 10_000


def image_type(head: bytes) -> str | None:
    """PNG, GIF, JPEG, WebP or BMP by the first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WebP"
    return "BMP" if head.startswith(b"BM") and head[6:10] == b"\x00\x00\x00\x00" else None


def read_image(source: Bounded, name: str, draft: Draft) -> None:
    """Type, width and height in pixels, and the colour format as stated."""
    del name
    head = source.read(0, 64)
    kind = image_type(head) or "image"
    draft.format = "image"
    draft.facts["type"] = kind
    draft.summary = kind
    read = {"PNG": _png, "GIF": _gif, "JPEG": _jpeg, "WebP": _webp}.get(kind, _bmp)
    width, height, bits, colours = read(source, head)
    draft.facts.update(width=width, height=height, bits=bits)
    draft.summary = f"{kind}, {width} x {height} pixels" + (f", {colours}" if colours else "")


_Shape = tuple[int, int, int, str]


def _need(head: bytes, size: int) -> None:
    if len(head) < size:
        raise DamagedError("its header is cut off")


def _png(source: Bounded, head: bytes) -> _Shape:
    del source
    _need(head, 33)
    if head[12:16] != b"IHDR":
        raise DamagedError("its first chunk is not IHDR")
    colours = _PNG_COLOURS.get(head[25], "unknown colours")
    return _big(head[16:20]), _big(head[20:24]), head[24], f"{head[24]}-bit {colours}"


def _gif(source: Bounded, head: bytes) -> _Shape:
    del source
    _need(head, 13)
    return _little(head[6:8]), _little(head[8:10]), (head[10] & 7) + 1, ""


def _bmp(source: Bounded, head: bytes) -> _Shape:
    del source
    _need(head, 30)
    if _little(head[14:18]) == 12:
        return _little(head[18:20]), _little(head[20:22]), _little(head[24:26]), ""
    height = abs(int.from_bytes(head[22:26], "little", signed=True))
    bits = _little(head[28:30])
    return _little(head[18:22]), height, bits, f"{bits} bits a pixel"


def _webp(source: Bounded, head: bytes) -> _Shape:
    del source
    _need(head, 30)
    match head[12:16]:
        case b"VP8X":
            return _little(head[24:27]) + 1, _little(head[27:30]) + 1, 8, "extended"
        case b"VP8L":
            packed = _little(head[21:25])
            return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1, 8, "lossless"
        case b"VP8 ":
            return _little(head[26:28]) & 0x3FFF, _little(head[28:30]) & 0x3FFF, 8, "lossy"
        case _:
            raise DamagedError("its first chunk is not one of VP8, VP8L and VP8X")


def _jpeg(source: Bounded, head: bytes) -> _Shape:
    del head
    at = 2
    for _ in range(_MAX_SEGMENTS):
        marker = source.exactly(at, 4)
        if marker[0] != 0xFF:
            raise DamagedError(f"no segment starts at byte {at}")
        if marker[1] == 0xFF or marker[1] in _ALONE:
            at += 1 if marker[1] == 0xFF else 2
            continue
        if marker[1] in _FRAMES:
            frame = source.exactly(at + 4, 6)
            colours = _JPEG_COLOURS.get(frame[5], f"{frame[5]} channels")
            return _big(frame[3:5]), _big(frame[1:3]), frame[0], colours
        at += 2 + _big(marker[2:4])
    raise DamagedError("it has no frame header")


def _big(field: bytes) -> int:
    return int.from_bytes(field, "big")


def _little(field: bytes) -> int:
    return int.from_bytes(field, "little")
