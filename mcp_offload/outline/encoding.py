"""How a file's bytes become text: recognising encodings, and the UTF-8 view of those that need one."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mcp_offload.errors import NotEditableError
from mcp_offload.outline import legacy

BINARY: Final = "binary"
_UTF8: Final = "utf-8"

# Source: the Unicode Standard, section 23.8. UTF-32 LE begins like UTF-16 LE, hence the order.
_BOMS: Final = (
    (codecs.BOM_UTF8, _UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Source: the formats' own specifications, as also listed by file(1): images, archives, objects, fonts, media.
_MAGIC: Final = re.compile(
    rb"\x89PNG\r\n|GIF8[79]a|\xff\xd8\xff|II\*\x00|MM\x00\*|RIFF....(?:WAVE|WEBP|AVI )|BM....\x00\x00\x00\x00"
    rb"|\x7fELF|MZ[\x00-\xff]{2}|\xca\xfe\xba\xbe|\xcf\xfa\xed\xfe|\xce\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf]|\x00asm"
    rb"|!<arch>\n|\xed\xab\xee\xdb|PK\x03\x04|PK\x05\x06|\x1f\x8b\x08|BZh[1-9]1AY|\xfd7zXZ\x00|\x28\xb5\x2f\xfd"
    rb"|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x04\x22\x4d\x18|%PDF-|SQLite format 3\x00|bplist0"
    rb"|wOF[F2]|\x00\x01\x00\x00\x00|OTTO\x00|OggS\x00|fLaC|ID3[\x02-\x04]|....ftyp|\x1aE\xdf\xa3|PAR1|ARROW1\x00\x00"
    rb"|\x93NUMPY|\x89HDF\r\n|\xd0\xcf\x11\xe0\xa1\xb1",
    re.DOTALL,
)
# Control characters that text does not have. Tab, LF, FF, CR, backspace, bell and ESC are common in logs.
_ODD_CONTROLS: Final = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27}) + b"\x7f"
_NO_NULS: Final = _ODD_CONTROLS.replace(b"\x00", b"")
# Share of odd control characters from which content is no text: random bytes have 10%, text next to none.
_MAX_CONTROL_SHARE: Final = 0.05
# One NUL in so many bytes may be an accident of a writer; binary formats have far more.
_TEXT_BYTES_PER_NUL: Final = 32
_WIDE_SAMPLE_BYTES: Final = 4096
_MIN_UNITS: Final = 16


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file's bytes are to be read.

    Attributes:
        name: Python codec name (without the byte order mark), or ``binary``.
        needs_view: True where lines and offsets need a UTF-8 transcription beside the stored bytes.
        bom_bytes: length of the byte order mark at the start of the stored bytes; part of the view of
            UTF-8 files, not part of a transcription.
    """

    name: str
    needs_view: bool = False
    bom_bytes: int = 0

    @property
    def binary(self) -> bool:
        """True where the content is not text."""
        return self.name == BINARY


def sniff(head: bytes, *, whole: bool) -> Encoding:
    """Recognise the encoding of a file from its first bytes.

    Args:
        head: the first 64 KiB, or everything where there is less; may end inside a character.
        whole: True where ``head`` is the whole file.
    """
    marked = _by_bom(head)
    if marked is not None:
        return marked
    if _MAGIC.match(head):
        return Encoding(BINARY)
    if b"\x00" in head:
        return _with_nuls(head, whole)
    if _control_share(head) > _MAX_CONTROL_SHARE:
        return Encoding(BINARY)
    if legacy.ISO_2022_JP.search(head) and _decodes(head, "iso2022_jp", whole):
        return Encoding("iso2022_jp", needs_view=True)
    if _decodes(head, _UTF8, whole) or legacy.mostly_utf8(head):
        return Encoding(_UTF8)
    name = legacy.guess(head, whole=whole)
    return Encoding(BINARY) if name is None else Encoding(name, needs_view=name != _UTF8)


def transcode(chunks: Iterable[bytes], encoding: Encoding) -> Iterator[bytes]:
    """The text of ``chunks`` as UTF-8 without byte order mark, piece by piece.

    What the encoding cannot say becomes U+FFFD. Memory is bounded by the largest chunk.
    """
    decoder = codecs.getincrementaldecoder(_UTF8 if encoding.binary else encoding.name)("replace")
    skip = encoding.bom_bytes
    for chunk in chunks:
        body = chunk[skip:]
        skip -= len(chunk) - len(body)
        if piece := decoder.decode(body):
            yield piece.encode(_UTF8, "replace")
    if rest := decoder.decode(b"", final=True):
        yield rest.encode(_UTF8, "replace")


def encode_back(text_utf8: bytes, encoding: Encoding) -> bytes:
    """Bytes of the stored file for a piece of its view; no byte order mark is added.

    Raises:
        NotEditableError: the encoding cannot say the text exactly, or the text is no valid UTF-8.
    """
    if encoding.binary:
        raise NotEditableError(
            "Binary content cannot be edited as text; export it and store a new file instead."
        )
    if not encoding.needs_view:
        return text_utf8
    try:
        text = text_utf8.decode(_UTF8)
        stored = text.encode(encoding.name)
        exact = stored.decode(encoding.name) == text
    except UnicodeError:
        exact, stored = False, b""
    if not exact:
        raise NotEditableError(
            f"The file is kept in {encoding.name}, which cannot hold some characters of this text; "
            "use other characters, or export the file and convert it first."
        )
    return stored


def _by_bom(head: bytes) -> Encoding | None:
    for bom, name in _BOMS:
        if not head.startswith(bom):
            continue
        if name == _UTF8:
            return Encoding(_UTF8, bom_bytes=len(bom))
        if _decodes(head[len(bom) :], name, whole=False) or not name.startswith("utf-32"):
            return Encoding(name, needs_view=True, bom_bytes=len(bom))
    return None


def _with_nuls(head: bytes, whole: bool) -> Encoding:
    wide = _wide_by_pattern(head)
    if wide is not None:
        return Encoding(wide, needs_view=True)
    nuls = head.count(0)
    rare = nuls * _TEXT_BYTES_PER_NUL <= len(head)
    if rare and len(head.translate(None, _NO_NULS)) == len(head) and _decodes(head, _UTF8, whole):
        return Encoding(_UTF8)
    return Encoding(BINARY)


def _wide_by_pattern(head: bytes) -> str | None:
    """UTF-32 or UTF-16 without a mark: NULs stand in one lane only, and the units make printable text."""
    sample = head[: min(len(head), _WIDE_SAMPLE_BYTES) & ~3]
    if len(sample) >= 8:
        for name, lanes in (("utf-32-le", (2, 3)), ("utf-32-be", (0, 1))):
            if not any(any(sample[lane::4]) for lane in lanes) and _is_wide_text(sample, name):
                return name
    sample = head[: min(len(head), _WIDE_SAMPLE_BYTES) & ~1]
    for name, lane in (("utf-16-le", 1), ("utf-16-be", 0)):
        units = len(sample) // 2
        high, low = sample[lane::2].count(0), sample[1 - lane :: 2].count(0)
        # Other scripts than Latin have NULs in their spaces and line ends only, so they need a longer sample.
        enough = high * 2 >= units if units < _MIN_UNITS else high * 50 >= units
        if units >= 2 and high and enough and low * 50 <= units and _is_wide_text(sample, name):
            return name
    return None


def _is_wide_text(sample: bytes, name: str) -> bool:
    try:
        text = codecs.getincrementaldecoder(name)("strict").decode(sample)
    except UnicodeError:
        return False
    odd = sum(not (char.isprintable() or char in "\t\n\r\f\b\x1b\ufeff\xa0\xad\u3000") for char in text)
    return odd * 20 <= len(text)


def _control_share(head: bytes) -> float:
    return (len(head) - len(head.translate(None, _ODD_CONTROLS))) / max(1, len(head))


def _decodes(head: bytes, name: str, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(name)("strict").decode(head, final=whole)
    except UnicodeError:
        return False
    return True
