"""Writes what the gate saw to files: a line of JSON for each request, or for each agent's run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

QUIET_SECONDS: Final = 600.0
"""After which a run counts as ended: longer than tools take, shorter than people do."""

OPEN_RUNS: Final = 10_000
"""Runs that are kept before the one that has been quiet longest is written early."""


class _Record(Protocol):
    def as_dict(self) -> dict[str, Any]: ...


class Recorder(Protocol):
    """Takes records of requests until it is closed."""

    def record(self, record: _Record) -> None:
        """Take one record."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class RecordFile:
    """A file that grows by a line a request; each line is written whole.

    Args:
        path: made where it is missing, readable by its owner alone.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def record(self, record: _Record) -> None:
        """Append one record."""
        self.line(record.as_dict())

    def line(self, told: Mapping[str, Any]) -> None:
        """Append one object."""
        text = json.dumps(told, separators=(",", ":")) + "\n"
        os.write(self._descriptor, text.encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class RunFile:
    """A file that grows by a line an agent's run, once that has been quiet: docs/reference/traces.md.

    Args:
        path: as of :class:`RecordFile`.
        sample: the engine now, taken as each answer ends: ``kv_blocks`` in use and ``running`` requests, and
            ``block_tokens``, ``engine_blocks`` and ``cache_dtype`` of its pool.
    """

    def __init__(self, path: Path, sample: Callable[[], Mapping[str, Any]]) -> None:
        self._file = RecordFile(path)
        self._sample = sample
        # By session, the one that has been quiet longest first.
        self._open: dict[str, list[tuple[dict[str, Any], Mapping[str, Any]]]] = {}
        self._last: dict[str, float] = {}

    def record(self, record: _Record) -> None:
        """Take one record; writes the runs that have been quiet since long before it."""
        told = record.as_dict()
        now = told["arrived_unix_seconds"] + (told["last_byte_seconds"] or 0.0)
        while self._open:
            session = next(iter(self._open))
            if now - self._last[session] <= QUIET_SECONDS and len(self._open) <= OPEN_RUNS:
                break
            self._end(session)
        session = told["session_id"]
        events = self._open.pop(session, [])
        self._open[session] = [*events, (told, self._sample())]
        self._last[session] = now

    def close(self) -> None:
        """Write the runs that still went on, and close the file."""
        for session in list(self._open):
            self._end(session)
        self._file.close()

    def _end(self, session: str) -> None:
        del self._last[session]
        self._file.line(_trace(session, self._open.pop(session)))


class Both:
    """Records twice.

    Args:
        recorders: each takes every record.
    """

    def __init__(self, *recorders: Recorder) -> None:
        self._recorders = recorders

    def record(self, record: _Record) -> None:
        """Take one record."""
        for recorder in self._recorders:
            recorder.record(record)

    def close(self) -> None:
        """Close all."""
        for recorder in self._recorders:
            recorder.close()


def _trace(session: str, events: list[tuple[dict[str, Any], Mapping[str, Any]]]) -> dict[str, Any]:
    events = sorted(events, key=lambda event: event[0]["arrived_unix_seconds"])
    began, newest = events[0][0]["arrived_unix_seconds"], events[-1][1]
    nodes = [_node(told, began) for told, _ in events]
    counted = [node for node in nodes if node["prompt_tokens"] is not None]
    # A session is named after its tenant; without keys that is nobody.
    name = session.removeprefix("/")
    return {
        "schema": 1,
        "run": name,
        "prompt_id": name,
        "family": events[0][0]["agent_class"],
        "in_scope": None,
        "features": None,
        "model": None,
        **{name: newest.get(name) for name in ("cache_dtype", "block_tokens", "engine_blocks")},
        **dict.fromkeys(("shape", "retries", "seed", "operation")),
        "outcome": "left" if events[-1][0]["outcome"] == "left" else "ended",
        "seconds": round(max(node["at_seconds"] + node["seconds"] for node in nodes), 3),
        "nodes": nodes,
        "tool_returns": [],
        "compiles": [],
        "memory": [
            {
                "at_seconds": round(node["at_seconds"] + node["seconds"], 3),
                "kv_blocks": sample.get("kv_blocks"),
                "running": sample.get("running"),
                "process_bytes": None,
            }
            for node, (_, sample) in zip(nodes, events, strict=True)
        ],
        "steps": len(counted),
        "base_tokens": counted[0]["prompt_tokens"] if counted else None,
        "expansion_tokens": sum(node["completion_tokens"] for node in counted),
        "peak_tokens": max((n["prompt_tokens"] + n["completion_tokens"] for n in counted), default=None),
    }


def _node(told: Mapping[str, Any], began: float) -> dict[str, Any]:
    exact = told["outcome"] in {"answered", "bypassed"} and told["output_exact"] and told["prompt_tokens"]
    return {
        "node": told["path"],
        "attempt": 0,
        "at_seconds": round(told["arrived_unix_seconds"] - began, 3),
        "seconds": round(told["last_byte_seconds"] or 0.0, 3),
        "prompt_tokens": told["prompt_tokens"] if exact else None,
        "completion_tokens": told["output_tokens"] if exact else None,
        "bad_answer": False,
    }
