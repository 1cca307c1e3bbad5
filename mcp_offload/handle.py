"""AST-reference handles: the few tokens that name an artifact and a part of it.

Grammar (white space ends a handle)::

    handle   = artifact ["#" selector]
    artifact = kind number ["@" version]        f12   f12@3
             | path ["@" version]               src/app.py   ./f12
    selector = symbol [params] ["'" n] [":" part]
             | "L" first ["-" [last]] | "L-" n  lines, 1-based inclusive; "L9-" to the end; "L-20" the last 20
             | "B" start "-" [end]              bytes of the view, half-open
             | "!" n [":" part] | "%" n ...     a failure of a test run or log
             | "~" text                         a search in the artifact
             | "?" query                        rows of structured data: a JSONPath with steps, or SQL
    symbol   = segment *("." segment)
    segment  = name | "`" quoted "`"            a backtick inside is doubled
    params   = "(" text ")"                     or "(~xyz)", a key for a long list
    part     = sig | doc | body | head | tb | out

Letters of ``kind``: f file, l log, t test run, b build artifact. Anything that does not start like
``f12`` is a path; ``./f12`` is the path ``f12``. Parsing and formatting are exact inverses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from mcp_offload.errors import InvalidHandleError
from mcp_offload.models import Kind

_ARTIFACT: Final = re.compile(r"([fltb])([1-9][0-9]{0,14})(?:@([1-9][0-9]{0,8}))?\Z")
_PATH_VERSION: Final = re.compile(r"(?s)(.+)@([1-9][0-9]{0,8})\Z")
_LINES: Final = re.compile(r"L(?:(0|[1-9][0-9]*)(?:(-)([1-9][0-9]*)?)?|-([1-9][0-9]*))\Z")
_BYTES: Final = re.compile(r"B([0-9]+)-([0-9]+)?\Z")
_FAILURE: Final = re.compile(r"[!%]([1-9][0-9]*)(?::([a-z]+))?\Z")
_PLAIN_SEGMENT: Final = re.compile(r"[^\s.#@(`:'!%~?\x00-\x1f\x7f][^\s.#@(`:'\x00-\x1f\x7f]*\Z")
_PARTS: Final = frozenset({"sig", "doc", "body", "head"})
_FAILURE_PARTS: Final = frozenset({"tb", "out"})
_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
_LONG_PARAMS: Final = 24
MAX_HANDLE_CHARS: Final = 4096


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """An artifact by its issued number."""

    kind: Kind
    number: int
    version: int | None = None


@dataclass(frozen=True, slots=True)
class PathRef:
    """An artifact by the path it is, or will be, read from."""

    path: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class LinesSelector:
    """Lines ``first`` to ``last`` inclusive; ``last`` None = to the end; ``tail`` = the last n lines."""

    first: int = 1
    last: int | None = None
    tail: int | None = None


@dataclass(frozen=True, slots=True)
class BytesSelector:
    """Bytes ``start`` to ``end`` of the view, half-open; ``end`` None = to the end."""

    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class SymbolSelector:
    """A symbol by qualified name; ``params`` as written, or ``~xyz`` for a key of a long list."""

    path: tuple[str, ...]
    params: str | None = None
    ordinal: int = 1
    part: str | None = None


@dataclass(frozen=True, slots=True)
class FailureSelector:
    """The n-th failure of a digest, or its traceback (``tb``) or captured output (``out``)."""

    index: int
    part: str | None = None


@dataclass(frozen=True, slots=True)
class SearchSelector:
    """Places in the artifact where ``text`` stands."""

    text: str


@dataclass(frozen=True, slots=True)
class QuerySelector:
    """Rows of structured data, by a JSONPath with steps behind it or by SQL."""

    text: str


Selector = LinesSelector | BytesSelector | SymbolSelector | FailureSelector | SearchSelector | QuerySelector


@dataclass(frozen=True, slots=True)
class Handle:
    """A parsed handle: an artifact and, optionally, a part of it."""

    artifact: ArtifactRef | PathRef
    selector: Selector | None = None

    def __str__(self) -> str:
        return format_handle(self)

    def select(self, selector: Selector | None) -> Handle:
        """The same artifact with another selector."""
        return replace(self, selector=selector)


def parse_handle(text: str) -> Handle:
    """Parse a handle or a path with an optional selector.

    Raises:
        InvalidHandleError: empty, too long, or a selector that does not parse.
    """
    text = text.strip()
    if not text or len(text) > MAX_HANDLE_CHARS:
        raise InvalidHandleError("Not a handle: give one like f12#Invoice.total, f12#L10-44 or a path.")
    head, mark, selector = _split_artifact(text)
    matched = _ARTIFACT.match(head)
    artifact: ArtifactRef | PathRef
    if matched:
        version = int(matched[3]) if matched[3] else None
        artifact = ArtifactRef(Kind(matched[1]), int(matched[2]), version)
    else:
        artifact = _parse_path(head)
    return Handle(artifact, _parse_selector(selector) if mark else None)


def looks_like_handle(text: str) -> bool:
    """True where ``text`` starts like an issued handle (``f12``), not like a path."""
    return bool(_ARTIFACT.match(text.partition("#")[0]))


def format_handle(handle: Handle) -> str:
    """The shortest text that parses back to ``handle``."""
    artifact = handle.artifact
    if isinstance(artifact, ArtifactRef):
        text = f"{artifact.kind.value}{artifact.number}"
    else:
        text = _format_path(artifact)
    if artifact.version is not None:
        text += f"@{artifact.version}"
    return text if handle.selector is None else f"{text}#{format_selector(handle.selector)}"


def format_selector(selector: Selector) -> str:
    """The text after ``#``."""
    match selector:
        case LinesSelector(tail=int(tail)):
            return f"L-{tail}"
        case LinesSelector(first, last):
            return f"L{first}" if last == first else f"L{first}-{'' if last is None else last}"
        case BytesSelector(start, end):
            return f"B{start}-{'' if end is None else end}"
        case FailureSelector(index, part):
            return f"!{index}" + (f":{part}" if part else "")
        case SearchSelector(text):
            return f"~{text}"
        case QuerySelector(text):
            return f"?{text}"
        case SymbolSelector():
            return _format_symbol(selector)


def params_key(params: str) -> str:
    """What a handle prints for a parameter list: itself, or ``~`` and three consonants where long.

    The key is a 32-bit FNV-1a hash in base 20; it only tells apart the overloads of one name, and a
    key that fits two of them resolves as ambiguous, never as one of them.
    Source: http://www.isthe.com/chongo/tech/comp/fnv/ (FNV-1a, 32 bits).
    """
    short = len(params) <= _LONG_PARAMS and not re.search(r"[\s#`\x00-\x1f\x7f]", params)
    if short and _matching(f"({params})", 0, "(", ")") == len(params) + 2:
        return params
    value = 0x811C9DC5
    for byte in params.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    letters = ""
    for _ in range(3):
        value, digit = divmod(value, len(_CONSONANTS))
        letters += _CONSONANTS[digit]
    return f"~{letters}"


# --- parsing ------------------------------------------------------------------------------------


def _split_artifact(text: str) -> tuple[str, str, str]:
    if text.startswith("`"):
        path, end = _quoted(text, 0)
        rest = text[end:]
        version, mark, selector = rest.partition("#")
        if version and not re.fullmatch(r"@[1-9][0-9]{0,8}", version):
            raise InvalidHandleError(f"Not a handle: unexpected {version[:20]!r} after the quoted path.")
        return f"`{path}`{version}", mark, selector
    return text.partition("#")


def _parse_path(head: str) -> PathRef:
    if head.startswith("`"):
        path, _, version = head[1:].rpartition("`")
        return PathRef(path, int(version[1:]) if version else None)
    if not head:
        raise InvalidHandleError("Not a handle: nothing stands before '#'. Use f12#... or a path.")
    while head.startswith("./") and len(head) > 2:
        head = head[2:].lstrip("/")
    matched = _PATH_VERSION.match(head)
    return PathRef(matched[1], int(matched[2])) if matched else PathRef(head)


def _parse_selector(text: str) -> Selector:
    if not text:
        raise InvalidHandleError("Not a handle: nothing stands after '#'. Drop it or name a symbol or lines.")
    if text.startswith("~"):
        return SearchSelector(text[1:])
    if text.startswith("?"):
        return QuerySelector(text[1:].strip())
    if text[0] in "!%":
        return _parse_failure(text)
    if matched := _LINES.match(text):
        return _parse_lines(matched)
    if matched := _BYTES.match(text):
        start, end = int(matched[1]), int(matched[2]) if matched[2] else None
        if end is not None and end < start:
            raise InvalidHandleError(f"Not a handle: bytes {start}-{end} end before they start.")
        return BytesSelector(start, end)
    return _parse_symbol(text)


def _parse_lines(matched: re.Match[str]) -> LinesSelector:
    if matched[4]:
        return LinesSelector(tail=int(matched[4]))
    first = int(matched[1])
    last = int(matched[3]) if matched[3] else None if matched[2] else first
    if first < 1:
        raise InvalidHandleError("Not a handle: lines count from 1 (L1-40; L-40 = the last 40).")
    if last is not None and last < first:
        raise InvalidHandleError(f"Not a handle: lines {first}-{last} end before they start.")
    return LinesSelector(first, last)


def _parse_failure(text: str) -> FailureSelector:
    matched = _FAILURE.match(text)
    if not matched or (matched[2] and matched[2] not in _FAILURE_PARTS):
        raise InvalidHandleError("Not a handle: a failure is !3 (or %3), its parts !3:tb and !3:out.")
    return FailureSelector(int(matched[1]), matched[2])


def _parse_symbol(text: str) -> SymbolSelector:
    segments: list[str] = []
    position = 0
    while True:
        segment, position = _segment(text, position)
        segments.append(segment)
        if position >= len(text) or text[position] != ".":
            break
        position += 1
    params, position = _params(text, position)
    ordinal = 1
    if matched := re.compile(r"'([1-9][0-9]*)").match(text, position):
        ordinal, position = int(matched[1]), matched.end()
    part = text[position + 1 :] if text[position : position + 1] == ":" else None
    if (part is None and position != len(text)) or (part is not None and part not in _PARTS):
        raise InvalidHandleError(
            "Not a handle: after a symbol only (params), 'n and :sig, :doc, :body or :head may follow."
        )
    return SymbolSelector(tuple(segments), params, ordinal, part)


def _segment(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] == "`":
        return _quoted(text, position)
    if text[position : position + 1] == "<":
        end = _matching(text, position, "<", ">")
        if end is not None and (end == len(text) or text[end] in ".('`:"):
            return text[position:end], end
    end = position
    while end < len(text) and text[end] not in ".(':":
        end += 1
    if end == position:
        raise InvalidHandleError("Not a handle: a symbol name is empty. Quote odd names as `a.b`.")
    return text[position:end], end


def _quoted(text: str, position: int) -> tuple[str, int]:
    matched = re.compile(r"`((?:[^`]|``)+)`").match(text, position)
    if not matched:
        raise InvalidHandleError("Not a handle: a backtick is not closed.")
    return matched[1].replace("``", "`"), matched.end()


def _params(text: str, position: int) -> tuple[str | None, int]:
    if text[position : position + 1] != "(":
        return None, position
    end = _matching(text, position, "(", ")")
    if end is None:
        raise InvalidHandleError("Not a handle: a parenthesis is not closed.")
    return text[position + 1 : end - 1], end


def _matching(text: str, position: int, opening: str, closing: str) -> int | None:
    depth = 0
    for index in range(position, len(text)):
        if text[index] == opening:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if depth == 0:
                return index + 1
    return None


# --- formatting ---------------------------------------------------------------------------------


def _format_path(ref: PathRef) -> str:
    path = ref.path
    odd = "#" in path or path.startswith("`") or path != path.strip() or _PATH_VERSION.match(path)
    if odd:
        return "`" + path.replace("`", "``") + "`"
    return f"./{path}" if _ARTIFACT.match(path) else path


def _format_symbol(selector: SymbolSelector) -> str:
    text = ".".join(_format_segment(segment, first=i == 0) for i, segment in enumerate(selector.path))
    if selector.params is not None:
        text += f"({params_key(selector.params)})"
    if selector.ordinal > 1:
        text += f"'{selector.ordinal}"
    return f"{text}:{selector.part}" if selector.part else text


def _format_segment(segment: str, *, first: bool) -> str:
    anonymous = segment.startswith("<") and not re.search(r"[\s`#]", segment)
    if anonymous and _matching(segment, 0, "<", ">") == len(segment):
        return segment
    plain = _PLAIN_SEGMENT.match(segment) and not segment.startswith("<")
    range_like = first and (_LINES.match(segment) or _BYTES.match(segment))
    return segment if plain and not range_like else "`" + segment.replace("`", "``") + "`"
