"""Packages that lock files pin, with the lines they stand on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcp_offload.cards.model import Draft, Entry, clean, count_text
from mcp_offload.cards.names import base_name
from mcp_offload.cards.source import Bounded
from mcp_offload.cards.text import KeyLines
from mcp_offload.handle import LinesSelector


class _Pin(NamedTuple):
    name: str
    version: str
    line: int


_LINE_KEY: Final = re.compile(rb"\s*(name|version)\s*=\s*\"([^\"]*)\"")
_REQUIREMENT: Final = re.compile(rb"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*===?\s*([^\s;#\\,]+)")
_PNPM_KEY: Final = re.compile(rb"  ['\"]?/?((?:@[^/'\"]+/)?[^/@'\"\s]+)[@/]([^'\"\s(_]+)[^'\"]*['\"]?:")
_YARN_NAME: Final = re.compile(rb"\"?((?:@[^/\"]+/)?[^@\"]+)@")
_YARN_VERSION: Final = re.compile(rb"  version:? \"?([^\"\s]+)")


def read_lock(source: Bounded, name: str, draft: Draft) -> None:
    """Every package with its version."""
    base = base_name(name).lower()
    draft.format = f"lock file ({base})"
    data = source.whole()
    count = 0
    try:
        for pin in _reader(base)(data):
            count += 1
            package, version = clean(pin.name), clean(pin.version)
            draft.add(Entry("package", package, version, version, LinesSelector(pin.line, pin.line)))
    finally:
        draft.facts["packages"] = count
        draft.summary = count_text(count, "package")


def _reader(base: str) -> Callable[[bytes], Iterator[_Pin]]:
    return _READERS.get(base, _requirements)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    return enumerate((line.rstrip(b"\r") for line in data.split(b"\n")), 1)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _toml(data: bytes) -> Iterator[_Pin]:
    """``[[package]]`` tables, whose first keys are name and version in every writer's order."""
    package, inside = _Pin("", "", 0), False
    for number, line in _lines(data):
        if line.startswith(b"["):
            if inside and package.name:
                yield package
            inside = line.strip() == b"[[package]]"
            package = _Pin("", "", number)
        elif inside and (found := _LINE_KEY.match(line)):
            package = package._replace(**{_text(found[1]): _text(found[2])})
    if inside and package.name:
        yield package


def _go_sum(data: bytes) -> Iterator[_Pin]:
    for number, line in _lines(data):
        fields = line.split()
        if len(fields) == 3 and not fields[1].endswith(b"/go.mod"):
            yield _Pin(_text(fields[0]), _text(fields[1]), number)


def _requirements(data: bytes) -> Iterator[_Pin]:
    for number, line in _lines(data):
        if found := _REQUIREMENT.match(line):
            yield _Pin(_text(found[1]).lower().replace("_", "-"), _text(found[2]), number)


def _pnpm(data: bytes) -> Iterator[_Pin]:
    inside = False
    for number, line in _lines(data):
        if line[:1].strip():
            inside = line.startswith(b"packages:")
        elif inside and (found := _PNPM_KEY.match(line)):
            yield _Pin(_text(found[1]), _text(found[2]), number)


def _yarn(data: bytes) -> Iterator[_Pin]:
    name, line_of_name = "", 0
    for number, line in _lines(data):
        if line[:1].strip() and not line.startswith((b"#", b"__metadata")):
            found = _YARN_NAME.match(line)
            name, line_of_name = (_text(found[1]) if found else ""), number
        elif name and (version := _YARN_VERSION.match(line)):
            yield _Pin(name, _text(version[1]), line_of_name)
            name = ""


def _npm(data: bytes) -> Iterator[_Pin]:
    root = _object(json.loads(data))
    lines = KeyLines(data)
    packages = _object(root.get("packages"))
    for path, entry in packages.items():
        if "node_modules/" not in path:
            continue
        version = _object(entry).get("version")
        name = path.rpartition("node_modules/")[2]
        yield _Pin(name, version if isinstance(version, str) else "linked", lines.of(path))
    if not packages:
        yield from _npm_tree(_object(root.get("dependencies")), lines)


def _npm_tree(dependencies: Mapping[str, Any], lines: KeyLines) -> Iterator[_Pin]:
    """The nested form of lock file version 1."""
    for name, entry in dependencies.items():
        row = _object(entry)
        yield _Pin(name, str(row.get("version", "")), lines.of(name))
        yield from _npm_tree(_object(row.get("dependencies")), lines)


def _composer(data: bytes) -> Iterator[_Pin]:
    root = _object(json.loads(data))
    lines = KeyLines(data)
    for section in ("packages", "packages-dev"):
        rows = root.get(section)
        for entry in cast("list[Any]", rows) if isinstance(rows, list) else []:
            row = _object(entry)
            name = str(row.get("name", ""))
            yield _Pin(name, str(row.get("version", "")), lines.of_value(name))


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


_READERS: Final[Mapping[str, Callable[[bytes], Iterator[_Pin]]]] = {
    "cargo.lock": _toml,
    "composer.lock": _composer,
    "go.sum": _go_sum,
    "npm-shrinkwrap.json": _npm,
    "package-lock.json": _npm,
    "pdm.lock": _toml,
    "pnpm-lock.yaml": _pnpm,
    "poetry.lock": _toml,
    "uv.lock": _toml,
    "yarn.lock": _yarn,
}
