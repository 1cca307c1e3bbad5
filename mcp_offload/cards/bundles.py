"""Cards of source maps and of compilation databases.

Source: ECMA-426 (source map format); Clang, "JSON Compilation Database Format Specification".
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcp_offload.cards.model import DamagedError, Draft, Entry, clean, count_text, member_name, size_text
from mcp_offload.cards.source import Bounded
from mcp_offload.cards.text import KeyLines
from mcp_offload.handle import LinesSelector, SymbolSelector

_TOP_FLAGS: Final = 12
_SHOWN_FLAGS: Final = 5
_COUNTED_FLAGS: Final = ("-std=", "-O", "-W", "-f", "-m", "-g", "-D", "-pthread", "/std:", "/O", "/W", "/D")


def read_source_map(source: Bounded, name: str, draft: Draft) -> None:
    """Sources with the size of what is embedded of them."""
    del name
    draft.format = "source map"
    count = embedded = size = 0
    for path, content in _sources(_object(json.loads(source.whole()))):
        count += 1
        selector = None
        detail = "not embedded"
        if content is not None:
            bytes_ = len(content.encode("utf-8", "replace"))
            embedded, size = embedded + 1, size + bytes_
            detail, selector = size_text(bytes_), SymbolSelector((path,))
        draft.add(Entry("source", path, detail, detail, selector))
    draft.facts.update(sources=count, sources_bytes=size)
    draft.summary = f"{count_text(count, 'source')}, {embedded:,} embedded ({size_text(size)})"


def source_map_member(source: Bounded, name: str, ordinal: int, file_name: str) -> Iterator[bytes] | None:
    """An embedded source, or None where there is none of that name."""
    del file_name
    for path, content in _sources(_object(json.loads(source.whole()))):
        if path == name and content is not None and ordinal == 1:
            return iter([content.encode("utf-8", "replace")])
    return None


def _sources(root: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Names and contents; of an index map, those of all its sections."""
    for section in _list(root.get("sections")):
        yield from _sources_of(_object(_object(section).get("map")))
    yield from _sources_of(root)


def _sources_of(root: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    contents = _list(root.get("sourcesContent"))
    prefix = root.get("sourceRoot")
    for index, path in enumerate(_list(root.get("sources"))):
        content = contents[index] if index < len(contents) else None
        told = f"{prefix.rstrip('/')}/{path}" if isinstance(prefix, str) and prefix else str(path)
        yield member_name(told), content if isinstance(content, str) else None


def read_compile_commands(source: Bounded, name: str, draft: Draft) -> None:
    """Files, which compilers build them, and the flags most of them share."""
    del name
    draft.format = "compile commands"
    data = source.whole()
    parsed = json.loads(data)
    if not isinstance(parsed, list):
        raise DamagedError("it is no list of commands")
    rows = _list(parsed)
    lines, compilers, flags, files = KeyLines(data), Counter[str](), Counter[str](), set[str]()
    for row in map(_object, rows):
        file = clean(str(row.get("file", "")))
        arguments = _arguments(row)
        compilers.update([clean(arguments[0].replace("\\", "/").rpartition("/")[2])] if arguments else [])
        told = [clean(flag) for flag in arguments[1:] if flag.startswith(_COUNTED_FLAGS)]
        flags.update(set(told))
        files.add(file)
        line = lines.of_value(str(row.get("file", "")))
        shown = " ".join(told[:_SHOWN_FLAGS])
        more = f" and {len(told) - _SHOWN_FLAGS} more flags" if len(told) > _SHOWN_FLAGS else ""
        draft.add(Entry("file", file, shown + more, " ".join(told), LinesSelector(line, line)))
    top = dict(flags.most_common(_TOP_FLAGS))
    draft.facts.update(commands=len(rows), files=len(files), compilers=dict(compilers), flags=top)
    shared = " ".join(flag for flag, count in top.items() if count == len(rows))
    draft.summary = f"{count_text(len(rows), 'command')} for {count_text(len(files), 'file')}"
    draft.summary += f", {', '.join(list(compilers)[:4])}" + (f"; all with {shared}" if shared else "")


def _arguments(row: Mapping[str, Any]) -> list[str]:
    arguments = _list(row.get("arguments"))
    if arguments:
        return [str(argument) for argument in arguments]
    command = row.get("command")
    if not isinstance(command, str):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
