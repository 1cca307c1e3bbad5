"""Media types depend on the content's language or extension, and on nothing else."""

from __future__ import annotations

import pytest

from mcp_offload.wire.media import media_type


@pytest.mark.parametrize(
    ("name", "language", "binary", "expected"),
    [
        ("src/app.py", "python", False, "text/x-python"),
        ("data.json", "json", False, "application/json"),
        ("run.log", None, False, "text/plain"),
        ("a.zig", "zig", False, "text/plain"),
        ("logo.PNG", None, True, "image/png"),
        ("core", None, True, "application/octet-stream"),
        ("app.py", "python", True, "application/octet-stream"),
    ],
)
def test_media_types(name: str, language: str | None, binary: bool, expected: str) -> None:
    assert media_type(name, language, binary=binary) == expected
