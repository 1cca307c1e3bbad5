"""The committed samples and a way to say in one line what an outline of one holds."""

from __future__ import annotations

from pathlib import Path

from mcp_offload.models import Outline, Symbol
from mcp_offload.outline import outline

DATA = Path(__file__).resolve().parents[2] / "data" / "outline"
LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "tsx": "tsx", "java": "java", "c": "c",
    "cpp": "cpp", "hpp": "cpp", "go": "go", "rs": "rust", "sh": "bash",
}  # fmt: skip


def sample(path: str) -> bytes:
    return (DATA / path).read_bytes()


def outlined(path: str) -> Outline:
    return outline(sample(path), LANGUAGES[path.rpartition(".")[2]], path)


def line(symbol: Symbol) -> str:
    """``Shapes.LIMIT field 6-6``, with ``?`` near an error."""
    marks = " ?" if symbol.near_error else ""
    return f"{'.'.join(symbol.path)} {symbol.kind} {symbol.start_line}-{symbol.end_line}{marks}"


def listing(found: Outline) -> list[str]:
    return [line(symbol) for symbol in found.symbols]


def only(found: Outline, name: str, kind: str | None = None) -> Symbol:
    """The one symbol of that qualified name."""
    fitting = [s for s in found.symbols if ".".join(s.path) == name and kind in (None, s.kind)]
    assert len(fitting) == 1, f"{len(fitting)} symbols are called {name}"
    return fitting[0]
