"""Encodings older than UTF-8, told from the bytes and from what the file says of itself."""

from __future__ import annotations

import codecs
import re
from typing import Final

# Escape sequences that enter Japanese sets. Source: RFC 1468.
ISO_2022_JP: Final = re.compile(rb"\x1b\$[@B]")

# Source: PEP 263 (first two lines only); XML 1.0, section 2.8; HTML, section 4.2.5.
_COOKIE: Final = re.compile(rb"\A(?:[^\r\n]*\r?\n)?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
_XML_DECLARATION: Final = re.compile(rb"\A\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([-\w.]+)[\"']")
_HTML_CHARSET: Final = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s*=\s*[\"']?\s*([-\w.]+)", re.I)

# Codecs that a file may name: character sets with ASCII in its place, nothing that runs or unpacks.
_TRUSTED: Final = re.compile(
    r"(?:iso8859-\d+|cp(?:125\d|437|7\d\d|8\d\d|932|936|949|950|1006)|koi8-[rut]|mac-[a-z]+|latin-?1|shift_jis\w*|euc_\w+"
    r"|big5\w*|gb2312|gbk|gb18030|johab|hz|iso2022_\w+|ptcp154|kz1048|tis-620)\Z"
)
_WINDOWS: Final = "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 iso8859-2 iso8859-7 iso8859-15 koi8-r"
_EAST_ASIAN: Final = "shift_jis cp932 euc_jp gb18030 gbk gb2312 big5 euc_kr cp949"
_COMMON: Final = frozenset(f"{_WINDOWS} {_EAST_ASIAN}".split())
_SEQUENCE: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH_RUN: Final = re.compile(rb"[\x80-\xff]+")
# Letters and signs of Western text in ISO 8859-1, and of cp1252 in its columns 8 and 9.
# Letters C0-FF, and of the signs those in use; in columns 8 and 9 of cp1252 quotes, dashes, euro, Œ, Š, Ž, Ÿ.
_WESTERN: Final = frozenset(range(0xC0, 0x100)) | frozenset(
    bytes.fromhex("a0 a1 a3 a7 a8 a9 aa ab ad ae b0 b1 b2 b3 b4 b5 b7 b9 ba bb bc bd be bf")
    + bytes.fromhex("80 82 84 85 86 8a 8b 8c 8e 91 92 93 94 95 96 97 99 9a 9b 9c 9e 9f")
)
_WESTERN_UPPER: Final = frozenset(range(0xC0, 0xDF))
_LATIN1: Final = "latin-1"
_SAMPLE_BYTES: Final = 16 * 1024
# Beyond this share of high bytes text is hardly Western.
_WESTERN_SHARE: Final = 0.2
# Stray bytes: so few that they say nothing about the encoding.
_STRAY_SHARE: Final = 0.0005


def mostly_utf8(head: bytes) -> bool:
    """True for UTF-8 with a few invalid sequences: more good sequences than bad bytes.

    Text with hardly any high bytes at all counts too, unless they stand like letters in words.
    """
    rest = _SEQUENCE.sub(b"", head)
    good = (len(head) - len(rest)) // 2
    bad = len(rest) - len(rest.translate(None, bytes(range(0x80, 0x100))))
    if good > bad:
        return True
    return bad <= len(head) * _STRAY_SHARE and good == 0 and not _high_bytes_in_words(head)


def guess(head: bytes, *, whole: bool) -> str | None:
    """Codec of text that is not UTF-8, or None where no codec makes text of it.

    What the file declares comes first where it decodes, then Western text, then statistics.
    """
    declared = _declared(head)
    if declared is not None and _decodes(head, declared, whole):
        return declared
    western = _western(head)
    if western is not None:
        return western
    by_statistics = _by_statistics(head)
    if by_statistics is not None and _decodes(head, by_statistics, whole):
        return by_statistics
    return _LATIN1 if _plausible_latin1(head) else None


def _declared(head: bytes) -> str | None:
    found = _COOKIE.match(head) or _XML_DECLARATION.match(head) or _HTML_CHARSET.search(head[:2048])
    if found is None:
        return None
    return _codec(found[1].decode("ascii", "replace"))


def _high_bytes_in_words(head: bytes) -> bool:
    """True where most runs of high bytes touch an ASCII letter: words of a legacy encoding."""
    runs = list(_HIGH_RUN.finditer(head[: 4 * _SAMPLE_BYTES]))
    inside = sum(
        _touches_letter(head, run.start(), run.end()) and run.end() - run.start() <= 2 for run in runs
    )
    return inside * 2 > len(runs)


def _touches_letter(head: bytes, start: int, end: int) -> bool:
    return head[max(0, start - 1) : start].isalpha() or head[end : end + 1].isalpha()


def _western(head: bytes) -> str | None:
    high = [byte for byte in head if byte >= 0x80]
    if len(high) > len(head) * _WESTERN_SHARE:
        return None
    if not high or sum(byte in _WESTERN for byte in high) * 10 < len(high) * 9:
        return None
    # Cyrillic and Greek 8-bit text read as Western is long runs of accented letters, many of them upper case.
    if sum(byte in _WESTERN_UPPER for byte in high) * 2 > len(high) + 2:
        return None
    longest = max(len(run[0]) for run in _HIGH_RUN.finditer(head))
    if longest > 3 and not _high_bytes_in_words(head):
        return None
    name = "cp1252" if any(byte < 0xA0 for byte in high) else _LATIN1
    return name if _decodes(head, name, whole=True) else None


def _by_statistics(head: bytes) -> str | None:
    # Imported here: it takes longer to load than most runs need it.
    from charset_normalizer import from_bytes

    matches = list(from_bytes(_sample(head), steps=4, chunk_size=512))
    if not matches:
        return None
    # Best first; a common encoding wins over a rare one that looks about as good.
    close = [match for match in matches if match.chaos <= matches[0].chaos + 0.02]
    names = [_codec(match.encoding) for match in close]
    return next((name for name in names if name in _COMMON), names[0])


def _codec(label: str) -> str | None:
    """Python's name of a codec that files may be read with."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    if name == "iso8859-1":
        return _LATIN1
    return name if _TRUSTED.match(name) else None


def _sample(head: bytes) -> bytes:
    """Lines that have high bytes, up to 16 KiB: the others say nothing."""
    lines: list[bytes] = []
    size = 0
    for line in head.split(b"\n"):
        if not line.isascii():
            lines.append(line[:2048])
            size += len(lines[-1]) + 1
        if size >= _SAMPLE_BYTES:
            break
    return b"\n".join(lines)


def _plausible_latin1(head: bytes) -> bool:
    """Not random: some structure of text, and C1 controls rare among the high bytes."""
    high = sum(byte >= 0x80 for byte in head)
    c1 = sum(0x80 <= byte < 0xA0 for byte in head)
    return high * 2 <= len(head) and c1 * 4 <= high


def _decodes(head: bytes, name: str, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(name)("strict").decode(head, final=whole)
    except (UnicodeError, LookupError):
        return False
    return True
