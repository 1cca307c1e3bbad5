r"""Makes invisible and dangerous characters visible. Pure; the last step before anything is sent.

Text that a client shows may be written by whoever wrote a log or a source file: escape sequences can
rewrite a terminal, bidirectional controls can reorder a line, tag characters can carry instructions
nobody sees, and one lone surrogate ends the session because it has no UTF-8.

What is shown instead: C0 controls and DEL as their picture (ESC is ``␛``), bytes that were not UTF-8
and C1 controls as ``\x9b``, everything else as ``\u202e`` or ``\U000e0041``. Tab and line feed stay,
and so do joiners inside words and emoji. CR LF becomes LF.
"""

from __future__ import annotations

import re
from typing import Final, cast

# Lone surrogates; C0 but TAB and LF, DEL, C1; bidirectional controls; zero-width and invisible
# operators; line and paragraph separators; BOM; interlinear marks; tags; supplementary variation
# selectors. Source: Unicode 17 general categories Cc, Cf, Cs, and UTS #39 on invisible characters.
_HIDDEN: Final = re.compile(
    "[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_PICTURES: Final = 0x2400
_DEL: Final = 0x7F
_DEL_PICTURE: Final = "\u2421"


def _visible(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x20:
        return chr(_PICTURES + point)
    if point == _DEL:
        return _DEL_PICTURE
    if point < 0x100:
        return f"\\x{point:02x}"
    if 0xDC80 <= point <= 0xDCFF:  # a byte that was not UTF-8, smuggled by "surrogateescape"
        return f"\\x{point - 0xDC00:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def scrub_text(text: str) -> str:
    """Return ``text`` with every hidden character made visible and CR LF as LF."""
    if _HIDDEN.search(text) is None:
        return text
    return _HIDDEN.sub(_visible, text.replace("\r\n", "\n"))


def scrub_surrogates(text: str) -> str:
    """Return ``text`` with lone surrogates alone made visible: all that JSON itself cannot carry."""
    return text if text.isascii() else _SURROGATES.sub(_visible, text)


def replace_surrogates(value: object) -> object:
    """Return a parsed JSON value with U+FFFD for each lone surrogate, in keys too."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {_SURROGATES.sub("\ufffd", key): replace_surrogates(item) for key, item in items}
    if isinstance(value, list):
        return [replace_surrogates(item) for item in cast("list[object]", value)]
    return value


def scrub_message(value: object, *, machine: bool = False) -> object:
    """Return an outgoing message with its strings scrubbed, keys too.

    What stands under ``_meta`` is for programs: there only lone surrogates are replaced, so that a
    program still gets the text as it is.
    """
    if isinstance(value, str):
        return scrub_surrogates(value) if machine else scrub_text(value)
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {
            scrub_surrogates(key): scrub_message(item, machine=machine or key == "_meta")
            for key, item in items
        }
    if isinstance(value, list | tuple):
        return [scrub_message(item, machine=machine) for item in cast("list[object]", value)]
    return value
