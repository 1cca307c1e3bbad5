"""The new text of an edit, from a file or standard input."""

from __future__ import annotations

import os
from typing import Final

from mcp_offload.cli.console import Console
from mcp_offload.errors import ArtifactTooLargeError, NotTextError
from mcp_offload.paths import Roots
from mcp_offload.settings import MIB, Settings

_LARGEST_BYTES: Final = 64 * MIB


def read_text(source: str, settings: Settings, console: Console) -> str:
    """The text in the file ``source``, or on standard input where it is ``-``.

    A file must lie inside the roots, like every other path on the command line: where an agent may run
    this command and nothing else, it must not become a way to read what the roots keep from it.

    Raises:
        PathNotAllowedError, SourceUnreadableError: the file is not one that may be read.
        NotTextError: not UTF-8.
        ArtifactTooLargeError: over 64 MiB.
    """
    data = b"".join(console.chunks()) if source == "-" else _file_bytes(source, settings)
    if len(data) > _LARGEST_BYTES:
        raise ArtifactTooLargeError("The new text is over 64 MiB; store it as a file instead.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise NotTextError(f"The new text is not UTF-8 at byte {exc.start}; convert it first.") from None


def _file_bytes(source: str, settings: Settings) -> bytes:
    roots = Roots(settings.roots, settings.base_dir)
    with os.fdopen(roots.open_file(roots.confine(source)), "rb") as file:
        return file.read(_LARGEST_BYTES + 1)
