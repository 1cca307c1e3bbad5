"""Outlines of files nobody here wrote, against what the languages' own parsers say of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_offload.outline import outline
from mcp_offload.outline.encoding import sniff
from mcp_offload.outline.languages import detect

pytestmark = pytest.mark.corpus


def _view(path: Path) -> bytes:
    stored = path.read_bytes()
    encoding = sniff(stored, whole=True)
    return stored.decode(encoding.name).encode() if encoding.needs_view else stored


def _stated(corpus: Path) -> list[tuple[Path, dict[str, object]]]:
    read = [
        (path, json.loads(path.read_text(encoding="utf-8")))
        for path in sorted((corpus / "src").glob("*.json"))
    ]
    return [(path.parent / side["file"], side) for path, side in read if "symbols" in side]


def test_every_stated_symbol_has_its_lines(corpus: Path) -> None:
    wrong: list[str] = []
    stated = 0
    for path, side in _stated(corpus):
        view = _view(path)
        found = outline(view, detect(path.name, view[:65536]), path.name)
        have: dict[str, list[tuple[int, int]]] = {}
        for symbol in found.symbols:
            have.setdefault(symbol.path[-1].rpartition(".")[2], []).append(
                (symbol.start_line, symbol.end_line)
            )
        symbols = side["symbols"]
        assert isinstance(symbols, list)
        for symbol in symbols:
            stated += 1
            spans = have.get(symbol["name"].rpartition(".")[2], [])
            start, end = symbol["start"], symbol["end"]
            if not any(first <= start <= first + 8 and end in (None, last) for first, last in spans):
                wrong.append(f"{path.name} {symbol['name']} {start}-{end} {spans[:3]}")
        wrong.extend(f"{path.name} {name}" for name in side.get("not_symbols", []) if name in have)  # type: ignore[union-attr]
    assert wrong == []
    assert stated >= 60
