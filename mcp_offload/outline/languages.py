"""Which language a file is written in, told from its name and its first bytes.

A language id is lower case ASCII (``python``, ``cpp``). Ids of languages that have no parser here
exist all the same, so that a reply can say which language it could not outline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from mcp_offload.outline import language_content as content
from mcp_offload.outline.language_names import (
    EXTENSIONS,
    FILE_NAMES,
    INTERPRETERS,
    LANGUAGE_IDS,
    MODELINE_NAMES,
    TEMPLATE_SUFFIXES,
)

_SNIFF_BYTES: Final = 64 * 1024
_MODELINE_LINES: Final = 5
_MODELINE_BYTES: Final = 400
# Extensions of text that is not in any language, whatever it looks like inside.
_PROSE: Final = frozenset(["txt", "text", "log", "out", "err", "stdout", "stderr", "lst"])

_BY_CONTENT: Final[Mapping[str, Callable[[bytes], str | None]]] = {
    "h": content.c_header,
    "sql": content.sql_dialect,
    "pck": content.by_content,
    "config": content.by_content,
    "ts": content.dot_ts,
    "m": content.dot_m,
    "conf": content.dot_conf,
    "cfg": content.dot_conf,
    "cnf": content.dot_conf,
    "rc": content.dot_conf,
}

_SHEBANG: Final = re.compile(rb"#!\s*(\S+)(?:[ \t]+([^\r\n]*))?")
_EMACS: Final = re.compile(rb"-\*-[ \t]*([^\r\n]{0,200}?)[ \t]*-\*-")
_EMACS_MODE: Final = re.compile(rb"(?:\A|;)[ \t]*mode[ \t]*:[ \t]*([\w+#-]+)", re.I)
_VIM: Final = re.compile(
    rb"(?:^|[ \t])(?:vi|vim|ex):[^\r\n]*?\b(?:ft|filetype|syntax)[ \t]*=[ \t]*([\w+#-]+)", re.M
)


def detect(name: str, head: bytes) -> str | None:
    """The language id of a file, or None where it is unknown or plain text.

    Args:
        name: file name or path, as far as known; may be empty.
        head: first bytes of the view, or of the file; 64 KiB are enough, any cut is fine.
    """
    head = _as_ascii(head[:_SNIFF_BYTES])
    base = _base_name(name)
    known = FILE_NAMES.get(base)
    if known is not None:
        return known
    extension = _language_suffix(base)
    if extension in _BY_CONTENT:
        return _by_modeline(head) or _BY_CONTENT[extension](head)
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    return _by_first_line(head) or _by_modeline(head) or _family(base) or _unnamed(base, extension, head)


def extension_of(name: str) -> str:
    """The last extension of a file name, lower case with its dot (``.zig``), or ``""``."""
    _, _, extension = _base_name(name).lstrip(".").rpartition(".")
    return "." + extension if extension and "." in _base_name(name).lstrip(".") else ""


def _base_name(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].strip().lower()


def _language_suffix(base: str) -> str:
    """The extension that tells the language: ``py`` of ``setup.py.in``."""
    parts = base.split(".")[1:]
    while len(parts) > 1 and parts[-1] in TEMPLATE_SUFFIXES:
        parts.pop()
    return parts[-1] if parts else ""


def _family(base: str) -> str | None:
    """Names with an open end: ``Dockerfile.dev``, ``.env.local``, ``Makefile.am``."""
    for stem, language in (
        ("dockerfile", "dockerfile"),
        ("makefile", "make"),
        (".env", "ini"),
        ("jenkinsfile", "groovy"),
    ):
        if base.startswith((stem + ".", stem + "-", stem + "_")):
            return language
    return None


def _unnamed(base: str, extension: str, head: bytes) -> str | None:
    if extension in _PROSE or (extension.isdigit() and any(part in _PROSE for part in base.split("."))):
        return None
    # Binary content may hold text of any language.
    return None if b"\x00" in head else content.by_content(head)


def _by_first_line(head: bytes) -> str | None:
    found = _SHEBANG.match(head)
    if found is None:
        return None
    words = [found[1], *(found[2] or b"").split()]
    for word in words:
        program = word.decode("latin-1").rpartition("/")[2].lower()
        if program == "env" or program.startswith("-") or "=" in program:
            continue
        return INTERPRETERS.get(program) or INTERPRETERS.get(program.rstrip("0123456789.")) or None
    return None


def _by_modeline(head: bytes) -> str | None:
    edges = head.split(b"\n", _MODELINE_LINES)
    if len(edges) > _MODELINE_LINES:
        edges += edges.pop().rsplit(b"\n", _MODELINE_LINES)[-_MODELINE_LINES:]
    for line in (edge[:_MODELINE_BYTES] for edge in edges):
        mode = _emacs_mode(line)
        if mode is None and (found := _VIM.search(line)) is not None:
            mode = found[1]
        if mode is not None and (language := _mode_language(mode)) is not None:
            return language
    return None


def _emacs_mode(line: bytes) -> bytes | None:
    found = _EMACS.search(line)
    if found is None:
        return None
    if b":" not in found[1]:
        return found[1]
    mode = _EMACS_MODE.search(found[1])
    return mode[1] if mode else None


def _mode_language(mode: bytes) -> str | None:
    name = mode.decode("latin-1").lower()
    name = MODELINE_NAMES.get(name, name)
    return name if name in LANGUAGE_IDS else None


def _as_ascii(head: bytes) -> bytes:
    """``head`` without a byte order mark; UTF-16 thinned to its ASCII letters, enough for the rules."""
    if head.startswith(b"\xef\xbb\xbf"):
        return head[3:]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[2:].replace(b"\x00", b"")
    return head
