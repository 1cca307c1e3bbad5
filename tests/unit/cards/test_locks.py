"""Lock files of every package manager: packages, versions and lines; and what two differ by."""

from __future__ import annotations

import pytest

from mcp_offload.cards.changes import card_changes
from mcp_offload.handle import LinesSelector
from tests.unit.cards.samples import card

NPM3 = b"""{
  "name": "app", "lockfileVersion": 3,
  "packages": {
    "": {"name": "app"},
    "node_modules/@types/node": {"version": "20.1.0"},
    "node_modules/a": {
      "version": "1.0.0"
    },
    "node_modules/a/node_modules/b": {"version": "2.0.0"},
    "packages/own": {"version": "0.0.1"}
  }
}
"""
NPM1 = b"""{
  "lockfileVersion": 1,
  "dependencies": {
    "a": {
      "version": "1.0.0",
      "dependencies": {
        "b": {"version": "2.0.0"}
      }
    }
  }
}
"""
PNPM9 = b"""lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      a: 1.0.0
packages:

  '@types/node@20.1.0':
    resolution: {integrity: x}

  a@1.0.0(react@18.0.0):
    resolution: {integrity: y}
snapshots:
  a@1.0.0: {}
"""
PNPM6 = b"packages:\n\n  /@types/node@20.1.0:\n    dev: true\n\n  /a@1.0.0(b@2):\n    dev: true\n"
YARN1 = b"""# yarn lockfile v1

"@types/node@*", "@types/node@^20.0.0":
  version "20.1.0"
  dependencies:
    version "^9"

a@^1.0.0:
  version "1.0.0"
"""
YARN4 = b"""__metadata:
  version: 8

"@types/node@npm:*":
  version: 20.1.0
  resolution: "@types/node@npm:20.1.0"

"a@npm:^1.0.0":
  version: 1.0.0
"""
POETRY = b"""[[package]]
name = "a"
version = "1.0.0"

[package.dependencies]
version = "no"

[[package]]
name = "types-node"
version = "20.1.0"

[metadata]
name = "none"
"""
CARGO = b"""version = 3

[[package]]
name = "a"
version = "1.0.0"
source = "registry+x"

[[package]]
name = "types-node"
version = "20.1.0"
"""
GO = b"a.org/a v1.0.0 h1:x=\na.org/a v1.0.0/go.mod h1:y=\na.org/b v2.0.0+incompatible/go.mod h1:z=\n"
PINS = (
    b"# pins\nA_b[extra]==1.0.0 \\\n    --hash=sha256:x\nc>=2\nd === 3 ; python_version > '3'\n-r other.txt\n"
)
COMPOSER = b"""{"packages": [
 {"name": "a/b", "version": "v1.0"}],
"packages-dev": [{"name": "c/d", "version": "2"}]}
"""


@pytest.mark.parametrize(
    ("name", "data", "pins"),
    [
        ("package-lock.json", NPM3, [("@types/node", "20.1.0", 5), ("a", "1.0.0", 6), ("b", "2.0.0", 9)]),
        ("package-lock.json", NPM1, [("a", "1.0.0", 4), ("b", "2.0.0", 7)]),
        ("pnpm-lock.yaml", PNPM9, [("@types/node", "20.1.0", 8), ("a", "1.0.0", 11)]),
        ("pnpm-lock.yaml", PNPM6, [("@types/node", "20.1.0", 3), ("a", "1.0.0", 6)]),
        ("yarn.lock", YARN1, [("@types/node", "20.1.0", 3), ("a", "1.0.0", 8)]),
        ("yarn.lock", YARN4, [("@types/node", "20.1.0", 4), ("a", "1.0.0", 8)]),
        ("poetry.lock", POETRY, [("a", "1.0.0", 1), ("types-node", "20.1.0", 8)]),
        ("uv.lock", CARGO, [("a", "1.0.0", 3), ("types-node", "20.1.0", 8)]),
        ("Cargo.lock", CARGO, [("a", "1.0.0", 3), ("types-node", "20.1.0", 8)]),
        ("go.sum", GO, [("a.org/a", "v1.0.0", 1)]),
        ("requirements-dev.txt", PINS, [("a-b", "1.0.0", 2), ("d", "3", 5)]),
        ("composer.lock", COMPOSER, [("a/b", "v1.0", 2), ("c/d", "2", 3)]),
    ],
)
def test_packages_versions_and_lines(name: str, data: bytes, pins: list[tuple[str, str, int]]) -> None:
    made = card(data, f"/src/{name}", binary=False)
    assert made.notes == ()
    assert [(e.name, e.value, e.selector) for e in made.entries] == [
        (package, version, LinesSelector(line, line)) for package, version, line in pins
    ]
    assert made.facts["packages"] == len(pins)


def test_two_lock_files_differ_by_their_packages() -> None:
    before = b'[[package]]\nname = "a"\nversion = "1"\n[[package]]\nname = "b"\nversion = "1"\n'
    after = b'[[package]]\nname = "c"\nversion = "3"\n[[package]]\nname = "a"\nversion = "2"\n'
    found = card_changes(card(before, "uv.lock", binary=False), card(after, "uv.lock", binary=False))
    assert [change[:5] for change in found] == [
        ("changed", "package", "a", "1", "2"),
        ("added", "package", "c", "", "3"),
        ("removed", "package", "b", "1", ""),
    ]


def test_several_versions_of_a_package_are_compared_together() -> None:
    def lock(*versions: str) -> bytes:
        return b"".join(b'[[package]]\nname = "a"\nversion = "%s"\n' % v.encode() for v in versions)

    same = card_changes(
        card(lock("1", "2"), "uv.lock", binary=False), card(lock("2", "1"), "uv.lock", binary=False)
    )
    assert same == []
    (change,) = card_changes(
        card(lock("1", "2"), "uv.lock", binary=False), card(lock("2"), "uv.lock", binary=False)
    )
    assert (change.change, change.before, change.after) == ("changed", "1 2", "2")


def test_a_lock_file_that_is_no_json_says_so() -> None:
    made = card(b'{"packages": ', "package-lock.json", binary=False)
    assert "damaged" in made.notes[0]
