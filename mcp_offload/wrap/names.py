"""What a stored result is called, so that its language and its kind are told from the name. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mcp_offload.wrap.results import Piece

MOST_CHARS: Final = 80
#: A tool with such a word in its name gives the content of what it is given, not something about it.
_GIVES_CONTENT: Final = re.compile(
    r"(?:^|[^a-z])(?:read|get|cat|open|view|show|fetch|load|download)(?:[^a-z]|$)", re.IGNORECASE
)
_PATH_ARGUMENTS: Final = ("path", "file", "file_path", "filepath", "filename", "uri", "url")
_FILE_NAME: Final = re.compile(r"([^/\\?#*]+\.[A-Za-z0-9]{1,10})(?:[?#].*)?\Z")
_WORDS: Final = re.compile(r"[^\w.-]+")


def artifact_name(tool: str, arguments: Mapping[str, object], piece: Piece) -> str:
    """A display name: the tool, and the file that it read where it read one."""
    named = piece.name or _file_read(tool, arguments)
    label = _WORDS.sub("-", tool).strip("-") or "result"
    if named:
        return f"{label[:MOST_CHARS]}/{named[-MOST_CHARS:]}"
    # What is neither a file nor JSON is told as a log: what matters in it, its first and its last lines.
    return f"{label[:MOST_CHARS]}.{'json' if _looks_json(piece.text) else 'log'}"


def _looks_json(text: str | None) -> bool:
    ends = "" if text is None else text[:1_000].lstrip()[:1] + text[-1_000:].rstrip()[-1:]
    return ends in ("{}", "[]")


def _file_read(tool: str, arguments: Mapping[str, object]) -> str | None:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool)
    if _GIVES_CONTENT.search(spaced.replace("-", "_").replace(".", "_").replace("_", " ")) is None:
        return None
    for key in _PATH_ARGUMENTS:
        value = arguments.get(key)
        match = _FILE_NAME.search(value) if isinstance(value, str) else None
        if match is not None:
            return match[1]
    return None
