"""INI, properties and dotenv files: sections, keys, continuation lines."""

from __future__ import annotations

import pytest

from mcp_offload.outline.scanners.ini import scan
from tests.unit.outline.samples import listing
from tests.unit.outline.scanned import scanned

EXPECTED = {
    "ini/server.ini": [
        "root key 2-2",
        "server section 4-9",
        "server.port key 5-6",
        "server.hosts key 7-9",
        'remote "origin" section 11-12',
        'remote "origin".url key 12-12',
        "empty section 13-13",
    ],
    "ini/app.properties": [
        "app.name key 2-2",
        "app.path key 3-5",
        "escaped\\:key key 6-6",
    ],
    "ini/sample.env": [
        "A key 1-1",
        "TOKEN key 2-2",
        "LAST key 3-4",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_an_indented_key_is_a_key_of_its_own_after_one_as_deep() -> None:
    assert [s.path for s in scan(b"[core]\n\ta = 1\n\tb = 2\n")] == [("core", "a"), ("core", "b"), ("core",)]


def test_prose_has_no_keys() -> None:
    assert scan(b"Nothing is assigned here.\nNor here\n") == []
