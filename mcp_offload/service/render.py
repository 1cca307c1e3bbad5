"""One short text block per result, written for a model's context. Pure.

One line a symbol, hit or artifact; whatever was left out is one marker line that starts with ``...``
and names a handle for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_offload.cards.model import size_text
from mcp_offload.models import (
    ArtifactEntry,
    DiffResult,
    EditResult,
    ExportResult,
    GcResult,
    ListResult,
    MapEntry,
    MapResult,
    OutlineResult,
    ReadResult,
    ReleaseResult,
    Rest,
    RunDiff,
    SearchResult,
    SkippedFile,
    StatsResult,
    Status,
    StoreManyResult,
    StoreResult,
    SymbolEntry,
    SymbolHits,
)
from mcp_offload.service.render_stats import delivery_lines

# One letter where it is unmistakable among a file's symbols, else the word.
_SHORT_KINDS = {
    "class": "c",
    "constant": "k",
    "constructor": "m",
    "enum": "e",
    "function": "f",
    "interface": "i",
    "method": "m",
    "namespace": "n",
    "struct": "s",
    "type": "t",
    "variable": "v",
}
SHOWN_SKIPPED = 5
SHOWN_STORED = 20
SHOWN_CHANGES = 20
SHOWN_TESTS = 15


def outline_line(entry: SymbolEntry | MapEntry) -> str:
    """``f12#Invoice.total m L44-61 180t``; a ``?`` marks a definition near a syntax error."""
    if isinstance(entry, MapEntry):
        shape = "binary " + size_text(entry.bytes) if entry.binary else f"{entry.lines}L"
        names = f": {', '.join(entry.symbols)}" if entry.symbols else ""
        return f"{entry.handle} {entry.name} {shape}{names}"
    if entry.detail is not None:
        return _part_line(entry)
    kind = _SHORT_KINDS.get(entry.kind, entry.kind)
    if entry.kind in ("chunk", "lines"):
        label = "" if entry.name.startswith(("L", "<")) else f" {entry.name}"
        return f"{entry.handle}{_tokens(entry.tokens)}{label}"
    lines = _lines(entry.start_line, entry.end_line)
    if "#!" in entry.handle:
        return f"{entry.handle} {entry.name} {kind} {lines}"
    if entry.handle[:1] in ("l", "t"):
        return f"{entry.handle} {kind} {entry.name}"
    return f"{entry.handle} {kind} {lines}{_tokens(entry.tokens)}{' ?' if entry.near_error else ''}"


def _part_line(entry: SymbolEntry) -> str:
    """A part of a build artifact: ``b3#`pkg/mod.py` 4.1 kB``, ``f4#L12 requests 2.32.3``."""
    handle = entry.handle if "#" in entry.handle else ""
    named = handle and entry.kind in ("member", "source") and "#B" not in handle
    kind = "" if entry.kind in ("member", "source", "package", "file") else entry.kind
    return " ".join(filter(None, [handle, kind, "" if named else entry.name, entry.detail]))


def store_text(result: StoreResult | StoreManyResult) -> str:
    """What was stored: the handle, its path, and how much it is."""
    if isinstance(result, StoreResult):
        kept = "" if result.new else " unchanged"
        card = f"{result.handle} {result.name} {_shape(result)}{kept}"
        if result.digest is None and result.kind in ("l", "t") and not result.binary:
            return f"{card}\n... digest: outline {result.handle}"
        more = result.digest or result.card
        return f"{card}\n{more.text}" if more else card
    lines = [f"{len(result.stored)} files stored"]
    lines += [f"{r.handle} {r.name} {_shape(r)}" for r in result.stored[:SHOWN_STORED]]
    if len(result.stored) > SHOWN_STORED:
        first = result.stored[SHOWN_STORED]
        lines.append(
            f"... {first.handle} and {len(result.stored) - SHOWN_STORED - 1} more; outline the directory"
        )
    return "\n".join([*lines, *_skipped(result.skipped)])


def outline_text(result: OutlineResult | MapResult) -> str:
    """A header line and one line a symbol, or one line a file for a directory."""
    if isinstance(result, MapResult):
        lines = [outline_line(entry) for entry in result.files]
        if result.omitted:
            lines.append(f"... {result.rest} and {result.omitted - 1} more files; outline a subdirectory")
        return "\n".join([*lines, *_skipped(result.skipped)])
    about = " ".join(
        part
        for part in (
            result.handle,
            result.name,
            result.language or "",
            f"{result.lines}L" if result.lines or not result.card else "binary",
            size_text(result.bytes),
            _tokens(result.tokens).strip(),
        )
        if part
    )
    lines = [about + (f" ({result.reason})" if result.reason else "")]
    if more := result.digest or result.card:
        lines.append(more.text)
    lines += [outline_line(entry) for entry in result.symbols]
    if not result.symbols and result.parsed and not result.card:
        lines.append("no symbols")
    if result.omitted and result.rest:
        lines.append(f"... {result.rest} {result.omitted} more symbols")
    elif result.omitted:
        lines.append(f"... {result.omitted} inner symbols; outline one of the above")
    return "\n".join(lines)


def read_text(results: Sequence[ReadResult]) -> str:
    """Each text under a header line, followed by a marker for what did not fit."""
    return "\n".join(_read_block(result) for result in results)


def search_text(result: SearchResult) -> str:
    """One line a hit, under the name of its artifact."""
    lines: list[str] = []
    names = dict(result.names)
    seen: str | None = None
    for hit in result.hits:
        artifact = hit.handle.partition("#")[0]
        if artifact != seen:
            seen = artifact
            if names.get(artifact):
                lines.append(f"{artifact} {names[artifact]}")
        lines.append(f"{hit.handle} {hit.text}")
    if not result.hits and not result.more:
        lines.append(f"no hits in {_count(result.searched, 'artifact')}")
    if result.more:
        lines.append(f"... more: search {', '.join(result.more[:8])}{_more_scopes(result.more)}")
    return "\n".join([*lines, *_skipped(result.skipped)])


def symbols_text(result: SymbolHits) -> str:
    """One line a symbol."""
    lines = [outline_line(entry) for entry in result.symbols]
    if not lines:
        lines.append(f"no such symbol in {_count(result.searched, 'artifact')}")
    if result.omitted:
        lines.append(f"... {result.omitted} more symbols; give more of the name or handles to look in")
    return "\n".join(lines)


def edit_text(result: EditResult) -> str:
    """Where the new text stands now, and whether the file was written."""
    where = f"wrote {result.name}" if result.path else "stored only, file not written"
    lines = _lines(result.start_line, result.end_line)
    text = f"{result.handle} {lines} {result.tokens}t; {where}; was {result.base}"
    if result.indented:
        text += f"; indented by {result.indented}"
    if result.syntax_error_line is not None:
        text += f"; syntax error near L{result.syntax_error_line}: check it"
    return text


def diff_text(result: DiffResult) -> str:
    """Counts, changed symbols, then hunks."""
    if result.identical:
        return f"{result.before} and {result.after} are identical"
    if result.runs:
        return _runs_text(result.runs)
    lines = [f"{result.before} -> {result.after} +{result.added_lines} -{result.removed_lines}"]
    for change in result.symbols[:SHOWN_CHANGES]:
        lines.append(f"{change.change} {change.name} {change.after or change.before or ''}".rstrip())
    if len(result.symbols) > SHOWN_CHANGES:
        lines.append(f"... {len(result.symbols) - SHOWN_CHANGES} more symbols in {result.after}")
    if result.text:
        lines.append(result.text.rstrip("\n"))
    if result.rest:
        lines.append(_rest(result.rest))
    return "\n".join(lines)


def _runs_text(runs: RunDiff) -> str:
    seconds = [f"{value:g} s" for value in (runs.before_seconds, runs.after_seconds) if value is not None]
    times = f" ({' -> '.join(seconds)})" if len(seconds) == 2 else ""
    lines = [f"{runs.before} -> {runs.after}{times}"]
    groups = {
        "newly failing": runs.newly_failing,
        "fixed": runs.fixed,
        "still failing": runs.still_failing,
        "newly skipped": runs.newly_skipped,
        "flaky": runs.flaky,
        "failed before, missing now": runs.missing,
    }
    for title, tests in groups.items():
        if not tests:
            continue
        lines.append(f"{title}: {len(tests)}")
        lines += [f"  {test.handle or ''} {test.name}".replace("   ", "  ") for test in tests[:SHOWN_TESTS]]
        if len(tests) > SHOWN_TESTS:
            lines.append(f"  ... {len(tests) - SHOWN_TESTS} more; outline {runs.after.split()[0]}")
    return "\n".join(lines) if len(lines) > 1 else f"{lines[0]}: no test changed"


def export_text(result: ExportResult) -> str:
    """Where the bytes went."""
    return f"{result.handle} -> {result.path} {result.bytes} bytes"


def list_text(result: ListResult) -> str:
    """One line an artifact."""
    if not result.artifacts:
        return f"nothing stored in workspace {result.workspace}"
    lines = [f"{entry.handle} {entry.name} {_shape(entry)}{_pinned(entry)}" for entry in result.artifacts]
    if result.total > len(result.artifacts):
        lines.append(f"... {result.total - len(result.artifacts)} more artifacts")
    return "\n".join(lines)


def release_text(result: ReleaseResult, verb: str) -> str:
    """What was done to which handles."""
    freed = f", {size_text(result.freed_bytes)} freed" if result.freed_bytes else ""
    return f"{verb} {' '.join(result.handles)}".rstrip() + freed


def gc_text(result: GcResult) -> str:
    """What was removed."""
    return (
        f"{result.expired} expired, {result.evicted} evicted, {result.orphans} unfinished removed, "
        f"{size_text(result.freed_bytes)} freed"
    )


def stats_text(result: StatsResult) -> str:
    """One fact a line."""
    held, quota = size_text(result.stored_bytes), size_text(result.quota_bytes)
    free, wal = size_text(result.free_disk_bytes), size_text(result.wal_bytes)
    return "\n".join(
        [
            f"store {result.store}",
            f"workspace {result.workspace}",
            f"{result.artifacts} artifacts, {result.versions} versions, {result.pinned} pinned",
            f"{held} of {quota} quota in {result.blobs} blobs",
            f"{free} of disk free, write-ahead log {wal}",
            f"acknowledged data survives: {_DURABILITY[result.durability]}",
            f"unused artifacts expire after {result.ttl_seconds // 3600} h",
            *delivery_lines(result.delivered),
        ]
    )


_DURABILITY = {
    "process": "the death of every process (not a crash of the host)",
    "host": "a crash of the host",
}


def _read_block(result: ReadResult) -> str:
    kind = f" {_SHORT_KINDS.get(result.kind, result.kind)}" if result.kind else ""
    lines = (
        f" {_lines(result.start_line, result.end_line)}" if result.end_line >= result.start_line else " empty"
    )
    head = f"{result.handle}{kind}{lines} {result.tokens}t {result.name}"
    blocks = [head + _status(result) + (f" [{result.note}]" if result.note else "")]
    if result.text:
        blocks.append(result.text.removesuffix("\n"))
    if result.rest:
        blocks.append(_rest(result.rest))
    return "\n".join(blocks)


def _status(result: ReadResult) -> str:
    now = ", ".join(result.now)
    match result.status:
        case Status.SAME:
            return ""
        case Status.MOVED | Status.CHANGED:
            told = f" since {result.base}" if result.base else f", now {now}" if now else ""
            return f" [{result.status.value}{told}]"
        case Status.RENAMED:
            return f" [not in the newest content; renamed? {now}]"
        case Status.AMBIGUOUS:
            return f" [ambiguous in the newest content: {now}]"
        case Status.GONE:
            return " [gone from the newest content]"


def _rest(rest: Rest) -> str:
    lines = f"{rest.lines:,} line{'s' if rest.lines != 1 else ''}"
    return f"... {rest.handle} {lines}{_tokens(rest.tokens)}"


def _lines(first: int, last: int) -> str:
    return f"L{first}" if last <= first else f"L{first}-{last}"


def _tokens(tokens: int | None) -> str:
    return "" if tokens is None else f" {tokens:,}t"


def _shape(result: StoreResult | ArtifactEntry) -> str:
    if (isinstance(result, StoreResult) and result.binary) or (result.kind == "b" and not result.lines):
        return f"binary {size_text(result.bytes)}"
    language = f"{result.language} " if result.language else ""
    return f"{language}{result.lines}L {size_text(result.bytes)}{_tokens(result.tokens)}"


def _pinned(entry: ArtifactEntry) -> str:
    return " pinned" if entry.pinned else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _more_scopes(more: Sequence[str]) -> str:
    return f" and {len(more) - 8} more" if len(more) > 8 else ""


def _skipped(skipped: Sequence[SkippedFile]) -> list[str]:
    lines = [f"skipped {item.path}: {item.reason}" for item in skipped[:SHOWN_SKIPPED]]
    if len(skipped) > SHOWN_SKIPPED:
        lines.append(f"... {len(skipped) - SHOWN_SKIPPED} more skipped")
    return lines
