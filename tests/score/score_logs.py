"""Score digests of a folder of logs against their sidecars: ``python -m tests.score.score_logs [NAME...]``.

The folder is MCP_OFFLOAD_TEST_CORPUS/logs or ../shared/corpus/logs next to the checkout. In process;
prints one row per log and what was missed, and leaves with 1 where a limit is not met.
"""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import sys
import time
from typing import Any

from mcp_offload.digest import Digest, digest
from mcp_offload.digest.model import Verdict
from mcp_offload.service.compressed import is_gzip

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAD = {Verdict.FAILED, Verdict.ERROR, Verdict.INCOMPLETE}


def corpus() -> pathlib.Path:
    """The folder of logs and sidecars."""
    base = os.environ.get("MCP_OFFLOAD_TEST_CORPUS")
    return (pathlib.Path(base) if base else ROOT.parent / "shared" / "corpus") / "logs"


def log_bytes(path: pathlib.Path) -> bytes:
    """A log as text: unpacked where it is kept gzipped, under its own name or with ``.gz`` after it."""
    data = (path if path.exists() else pathlib.Path(f"{path}.gz")).read_bytes()
    return gzip.decompress(data) if is_gzip(data) else data


def judge(expected: dict[str, Any], verdict: Verdict) -> str:
    """ok, false green, false red or wrong."""
    count = (
        (expected.get("failed") or 0) + (expected.get("errors") or 0) + len(expected.get("failures") or [])
    )
    if expected.get("status") == "UNSTABLE":
        return "ok"
    if count or expected.get("exit_code") not in (0, None):
        return "ok" if verdict in BAD else "false green" if verdict is Verdict.PASSED else "wrong"
    if verdict is Verdict.PASSED:
        return "ok"
    silent = verdict in {Verdict.UNKNOWN, Verdict.INCOMPLETE}
    return "ok" if silent and expected.get("exit_code") is None else "false red"


def _same_file(stated: str | None, found: str | None) -> bool:
    if not stated or not found:
        return stated is None or not stated
    return found.endswith(stated) or stated.endswith(found) or stated.split("/")[-1] == found.split("/")[-1]


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("&lt;", "<").replace("&gt;", ">")


def match(stated: dict[str, Any], found: Digest) -> tuple[bool, list[str]]:
    """Whether a stated failure is listed, and which of file and message differ in the best match."""
    name = (stated.get("name") or "").split("::")[-1].strip()
    best: list[str] | None = None
    for item in found.failures:
        named = not name or name in item.name or (item.name or "-") in name
        if not named or (stated.get("line") is not None and stated["line"] != item.line):
            continue
        issues = [] if _same_file(stated.get("file"), item.file) else [f"file {item.file}"]
        message = _plain(stated.get("message") or "")
        whole = _plain(f"{item.file}:{item.line}: {item.name} {item.message}")
        if message and message not in whole and _plain(item.message) not in message:
            issues.append(f"message {item.message[:60]!r}")
        if best is None or len(issues) < len(best):
            best = issues
    return best is not None, best or []


KEYS = ("ok", "green", "red", "totals", "totals_ok", "stated", "found", "soft", "extra")


def score(side: pathlib.Path, verbose: bool) -> dict[str, int] | None:
    """Score one log; prints its row."""
    sidecar = json.loads(side.read_text(encoding="utf-8"))
    if not isinstance(sidecar, dict) or "expected" not in sidecar:
        return None
    path = side.parent / sidecar["file"]
    data = log_bytes(path)
    began = time.process_time()
    result = digest(data)
    took = time.process_time() - began
    row, notes = compare(sidecar["expected"], result)
    rate = len(data) / 1e6 / max(took, 1e-6)
    print(
        f"{side.stem:40} {result.verdict:10} {row['found']:3}/{row['stated']:<3}",
        f"listed {len(result.failures):3} {took * 1e3:7.1f} ms {rate:6.1f} MB/s",
    )
    for note in notes:
        print("      ", note)
    if verbose:
        _show(result)
    return row


def compare(expected: dict[str, Any], result: Digest) -> tuple[dict[str, int], list[str]]:
    """Counts for one log, and what differs."""
    row = dict.fromkeys(KEYS, 0)
    notes: list[str] = []
    verdict = judge(expected, result.verdict)
    row["ok"], row["green"], row["red"] = verdict == "ok", verdict == "false green", verdict == "false red"
    if verdict != "ok":
        notes.append(f"{verdict.upper()}: {result.verdict}")
    for key in ("passed", "failed", "errors", "skipped"):
        if isinstance(expected.get(key), int):
            row["totals"] += 1
            same = result.totals.get(key, 0) == expected[key]
            row["totals_ok"] += same
            notes += [] if same else [f"{key} {result.totals.get(key)} != {expected[key]}"]
    for failure in expected.get("failures") or []:
        row["stated"] += 1
        found, issues = match(failure, result)
        row["found"] += found
        row["soft"] += found and not issues
        label = f"{failure.get('name')} {failure.get('file')}:{failure.get('line')}"
        notes += [] if found else [f"missed {label}"]
        notes += [f"{label}: {'; '.join(issues)}"] if found and issues else []
    total = (result.totals.get("failed") or 0) + (result.totals.get("errors") or 0)
    row["extra"] = max(0, len(result.failures) - max(total, row["stated"]))
    if row["extra"]:
        notes.append(f"{len(result.failures)} failures listed, {total} in totals")
    return row, notes


def _show(result: Digest) -> None:
    print("   ", result.verdict, result.complete, result.tools, dict(result.totals), result.duration_seconds)
    for item in result.failures[:40]:
        where = f"{item.file}:{item.line} @{item.log_line} {item.block.start}-{item.block.end}"
        print(f"      {item.kind} {item.name!r} {where} [{item.tool}] {item.message[:100]!r}")
    print("    causes", [(cause.count, cause.message[:60]) for cause in result.causes[:6]])
    print("    notes", result.notes[:6])


def main(names: list[str]) -> int:
    """Score all logs, or those whose names contain one of ``names``."""
    verbose = "-v" in names
    names = [name for name in names if name != "-v"]
    rows: list[dict[str, int]] = []
    for side in sorted(corpus().glob("*.json")):
        if not names or any(name in side.stem for name in names):
            row = score(side, verbose)
            if row is not None:
                rows.append(row)
    total = {key: sum(row[key] for row in rows) for key in KEYS}
    print(len(rows), "logs", total)
    good = total["ok"] == len(rows) and total["totals_ok"] >= 0.98 * total["totals"]
    return 0 if rows and good and total["found"] >= 0.9 * total["stated"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
