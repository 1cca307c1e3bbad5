"""Counts generations whose code a parser refuses, from recorded ones."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from serving.errors import ServingUsageError

LANGUAGES: Final = ("python", "javascript", "typescript", "java", "c", "cpp", "go", "rust", "bash")
"""What can be parsed: Python by the interpreter's own parser, the rest by tree-sitter's grammars."""

_NAMES: Final = {
    "py": "python", "python3": "python", "js": "javascript", "ts": "typescript", "c++": "cpp", "sh": "bash",
    "shell": "bash", "golang": "go", "rs": "rust",
}  # fmt: skip
"""As fences write them. Source: GitHub's linguist, aliases."""

# Source: CommonMark 0.31, fenced code blocks; of those that begin a line.
_FENCE: Final = re.compile(
    r"^(`{3,}|~{3,})[ \t]*([\w+#-]*)[^\n]*\n(.*?)(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Counts:
    """What became of some generations.

    Attributes:
        generations: that were parsed.
        errors: of them, those with code that a parser refuses.
        cut: left out, as they ended at the limit of output: code that is cut off never parses.
        without_code: left out, as nothing in them is code of a language that can be parsed.
    """

    generations: int = 0
    errors: int = 0
    cut: int = 0
    without_code: int = 0

    def as_dict(self) -> dict[str, int]:
        """As JSON takes it, and as an audit reads it."""
        return asdict(self)


def count_file(path: Path, language: str = "python") -> Counts:
    """Counts of a file of generations, one JSON object a line.

    Each has ``text``, and may have ``language`` and ``finish_reason``. Code is what stands in fenced blocks,
    or the whole text where there are none and the line names its language.

    Args:
        path: of the file.
        language: of blocks that name none.

    Raises:
        ServingUsageError: the file cannot be read, or a line is no generation.
    """
    if language not in LANGUAGES:
        raise ServingUsageError(f"{language} cannot be parsed; there are {', '.join(LANGUAGES)}.")
    try:
        with path.open(encoding="utf-8") as file:
            return count(_lines(file), language)
    except (OSError, ValueError) as error:
        raise ServingUsageError(f"{path} cannot be read: {error}.") from error


def count(generations: Iterable[Mapping[str, Any]], language: str = "python") -> Counts:
    """Counts of generations, see :func:`count_file`."""
    parsed = errors = cut = without = 0
    for generation in generations:
        if generation.get("finish_reason") == "length":
            cut += 1
            continue
        blocks = list(code_of(str(generation["text"]), generation.get("language"), language))
        if not blocks:
            without += 1
            continue
        parsed += 1
        errors += any(not parses(code, spoken) for spoken, code in blocks)
    return Counts(parsed, errors, cut, without)


def code_of(text: str, told: str | None, language: str) -> Iterator[tuple[str, str]]:
    """Languages and texts of the code in a generation, of languages that can be parsed.

    Args:
        text: the whole of it.
        told: its language, where the record names one; without fences the whole text is then code.
        language: of blocks that name none.
    """
    fences = list(_FENCE.finditer(text))
    for fence in fences:
        named = fence[2].lower() or (told or language).lower()
        spoken = _NAMES.get(named, named)
        if spoken in LANGUAGES and fence[3].strip():
            yield spoken, fence[3]
    spoken = _NAMES.get((told or "").lower(), (told or "").lower())
    if not fences and spoken in LANGUAGES and text.strip():
        yield spoken, text


def parses(code: str, language: str) -> bool:
    """Whether the parser of a language takes the code as it stands."""
    if language == "python":
        return _parses_python(code)
    from tree_sitter import Language, Parser

    grammar = import_module(f"tree_sitter_{language}")
    name = "language_typescript" if language == "typescript" else "language"
    compiled: object = getattr(grammar, name)()
    return not Parser(Language(compiled)).parse(code.encode("utf-8", "surrogatepass")).root_node.has_error


def _parses_python(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as of an escape that is no escape: it parses
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _lines(file: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            value: object = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number} is no JSON: {error}") from error
        if not isinstance(value, dict) or "text" not in value:
            raise ValueError(f"line {number} is no object with a field text")
        yield cast("Mapping[str, Any]", value)
