"""Putting new text into a view so that it fits its place. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mcp_offload.models import Span

_INDENT = re.compile(rb"[ \t]*")


@dataclass(frozen=True, slots=True)
class Splice:
    """The edited view, where the new text stands in it, and the columns of indentation it was given."""

    view: bytes
    inserted: Span
    indented: int


def splice(view: bytes, span: Span, text: str, op: str, *, whole_lines: bool) -> Splice:
    """Replace ``span`` by ``text``, or insert ``text`` before or after it.

    The new text takes the view's line endings. Text that replaces or neighbours an indented
    definition but starts without indentation is indented to match. ``whole_lines``: the span runs
    from a line's start to a line's end (with or without its terminator), so the new text is kept on
    lines of its own and the view keeps, or keeps lacking, its final newline. Empty text deletes.
    """
    eol = line_ending(view)
    new = text.encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
    indented = 0
    if whole_lines:
        new, indented = _indent(new, _INDENT.match(view, span.start_byte))
    new = new.replace(b"\n", eol) if eol != b"\n" else new
    if not whole_lines:
        return _raw(view, span, new, op)
    if op == "replace":
        return _replace_lines(view, span, new, eol, indented)
    if op == "before":
        return _put(view, span.start_byte, span.start_byte, _ended(new, eol), indented)
    return _insert_after(view, span, new, eol, indented)


def line_ending(view: bytes) -> bytes:
    """The terminator most lines of ``view`` have; LF where there is none."""
    crlf = view.count(b"\r\n")
    lf = view.count(b"\n") - crlf
    if crlf == 0 and lf == 0:
        return b"\r" if b"\r" in view else b"\n"
    return b"\r\n" if crlf > lf else b"\n"


def _raw(view: bytes, span: Span, new: bytes, op: str) -> Splice:
    start, end = {
        "replace": (span.start_byte, span.end_byte),
        "before": (span.start_byte, span.start_byte),
        "after": (span.end_byte, span.end_byte),
    }[op]
    return _put(view, start, end, new, 0)


def _replace_lines(view: bytes, span: Span, new: bytes, eol: bytes, indented: int) -> Splice:
    start, end = span.start_byte, span.end_byte
    terminated = view[start:end].endswith((b"\n", b"\r")) and end > start
    if not new:
        # Deleting a definition takes its line's terminator along, so that no empty line is left.
        blank = _INDENT.match(view, end)
        if not terminated and blank and view.startswith(eol, blank.end()):
            end = blank.end() + len(eol)
        return _put(view, start, end, b"", 0)
    new = _ended(new, eol) if terminated else _unended(new, eol)
    return _put(view, start, end, new, indented)


def _insert_after(view: bytes, span: Span, new: bytes, eol: bytes, indented: int) -> Splice:
    end = span.end_byte
    if view[span.start_byte : end].endswith(eol):
        return _put(view, end, end, _ended(new, eol), indented)
    stop = view.find(eol, end)
    if stop >= 0:
        return _put(view, stop + len(eol), stop + len(eol), _ended(new, eol), indented)
    if not view:
        return _put(view, 0, 0, new, indented)
    made = _put(view, len(view), len(view), eol + _unended(new, eol), indented)
    return Splice(made.view, Span(made.inserted.start_byte + len(eol), made.inserted.end_byte), indented)


def _put(view: bytes, start: int, end: int, new: bytes, indented: int) -> Splice:
    return Splice(view[:start] + new + view[end:], Span(start, start + len(new)), indented)


def _ended(new: bytes, eol: bytes) -> bytes:
    return new if not new or new.endswith(eol) else new + eol


def _unended(new: bytes, eol: bytes) -> bytes:
    return new.removesuffix(eol)


def _indent(new: bytes, found: re.Match[bytes] | None) -> tuple[bytes, int]:
    """Indent text that starts at column 0 to the place it goes to.

    Where only its first line lacks the indentation (the definition was quoted from its first word),
    only that line gets it; otherwise every line does.
    """
    indent = found[0] if found else b""
    lines = new.split(b"\n")
    filled = [line for line in lines if line.strip()]
    if not indent or not filled or filled[0][:1] in (b" ", b"\t"):
        return new, 0
    first = lines.index(filled[0])
    rest_fits = _rest_fits(filled, indent)
    lines = [
        indent + line if line.strip() and (index == first or not rest_fits) else line
        for index, line in enumerate(lines)
    ]
    return b"\n".join(lines), len(indent)


def _rest_fits(filled: list[bytes], indent: bytes) -> bool:
    """True where all lines but the first already stand where they belong under ``indent``.

    Deeper lines are a body. Lines at ``indent`` itself are, too, where the last one closes a bracket
    or the first one is a decorator or comment; otherwise they are the body of a definition that was
    written at column 0.
    """
    rest = filled[1:]
    if not rest or not all(line.startswith(indent) for line in rest):
        return False
    if all(line.startswith((indent + b" ", indent + b"\t")) for line in rest):
        return True
    return rest[-1].lstrip()[:1] in (b"}", b")", b"]") or filled[0].startswith(
        (b"@", b"#", b"//", b"/*", b"--")
    )
