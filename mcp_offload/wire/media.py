"""Media types of what is stored. Pure; the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"

# Source: the IANA registry where it has the language, else the x- names in common use.
_BY_LANGUAGE: Final[Mapping[str, str]] = {
    "python": "text/x-python",
    "javascript": "text/javascript",
    "typescript": "text/x-typescript",
    "tsx": "text/x-typescript",
    "java": "text/x-java",
    "c": "text/x-c",
    "cpp": "text/x-c++",
    "csharp": "text/x-csharp",
    "go": "text/x-go",
    "rust": "text/x-rust",
    "ruby": "text/x-ruby",
    "bash": "text/x-shellscript",
    "cobol": "text/x-cobol",
    "plsql": "text/x-plsql",
    "sql": "application/sql",
    "json": "application/json",
    "notebook": "application/x-ipynb+json",
    "yaml": "application/yaml",
    "toml": "application/toml",
    "xml": "application/xml",
    "html": "text/html",
    "css": "text/css",
    "csv": "text/csv",
    "markdown": "text/markdown",
    "diff": "text/x-diff",
}
# Source: the IANA registry of media types.
_BY_EXTENSION: Final[Mapping[str, str]] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "ico": "image/vnd.microsoft.icon",
    "pdf": "application/pdf",
    "zip": "application/zip",
    "whl": "application/zip",
    "jar": "application/java-archive",
    "gz": "application/gzip",
    "tgz": "application/gzip",
    "tar": "application/x-tar",
    "xz": "application/x-xz",
    "bz2": "application/x-bzip2",
    "zst": "application/zstd",
    "wasm": "application/wasm",
    "sqlite": "application/vnd.sqlite3",
    "parquet": "application/vnd.apache.parquet",
}


def media_type(name: str, language: str | None, *, binary: bool) -> str:
    """The media type of content: by its extension where binary, by its language where text."""
    if binary:
        return _BY_EXTENSION.get(name.rsplit(".", 1)[-1].lower(), BINARY)
    return _BY_LANGUAGE.get(language or "", TEXT)
