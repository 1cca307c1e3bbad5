"""A process that has everything imported and forks writers, so that hundreds of them can be killed quickly.

Reads one JSON object a line: ``{"job": ..., "acks": <fifo>, "config": {...}, ...}`` forks a writer and
answers with its process id; ``{"wait": pid}`` answers with its wait status. A writer reports each
acknowledgement as a line in the pipe *after* the store has returned, unless its job is a wrong order
that the harness must detect.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from mcp_offload.errors import StoreError
from mcp_offload.models import Kind
from mcp_offload.store import Failpoints, NewVersion, Staged, Store, StoreConfig
from mcp_offload.store.blobs import BlobDir

SIZES = (100, 16_385, 3_000, 40_000, 90_000)

Say = Callable[[str], None]


def content(writer: str, turn: int) -> bytes:
    """What a writer stores in one turn; the harness computes it again."""
    line = f"{writer} {turn}\n".encode()
    return line * (SIZES[turn % len(SIZES)] // len(line))


def put(store: Store, name: str, data: bytes, **options: Any) -> int:
    with store.stage([data]) as staged, store.stage([b"view of " + data]) as view:
        new = NewVersion(
            staged=staged,
            view=view,
            kind=Kind.LOG,
            name=name,
            encoding="utf-8",
            lines=staged.lines,
            **options,
        )
        ((artifact, _, _),) = store.commit("w", [new])
    return artifact.number


def write_for_ever(store: Store, say: Say, order: dict[str, Any]) -> None:
    """Put, and now and then release or collect, until killed."""
    writer = order["writer"]
    turn = 0
    while True:
        say(f"put {put(store, f'{writer}-{turn}', content(writer, turn))} {writer} {turn}")
        if turn % 7 == 6:
            number = put(store, f"{writer}-{turn}-short", content(writer, turn) + b"short-lived")
            say(f"releasing {number} {writer} {turn}")
            store.release("w", [number])
        if turn % 50 == 49:
            store.gc()
        turn += 1


def ack_first(store: Store, say: Say, order: dict[str, Any]) -> None:
    """Wrong on purpose: acknowledges before the commit."""
    say(f"put 1 {order['writer']} 3")
    put(store, "x", content(order["writer"], 3))


def rows_first(store: Store, say: Say, order: dict[str, Any]) -> None:
    """Wrong on purpose: commits rows that name a file which is linked only afterwards."""
    waiting: list[tuple[Staged, BlobDir]] = []
    link = Staged.link

    def later(staged: Staged, blobs: BlobDir) -> str:
        waiting.append((staged, blobs))
        return f"{staged.blake3}.0000000000000000"

    Staged.link = later  # type: ignore[method-assign]
    number = put(store, "x", content(order["writer"], 3))
    say(f"put {number} {order['writer']} 3")
    for staged, blobs in waiting:
        link(staged, blobs)


def every_step(store: Store, say: Say, order: dict[str, Any]) -> None:
    """Pass every step that has a name."""
    writer = order["writer"]
    for turn in range(6):
        say(f"put {put(store, f'{writer}-{turn}', content(writer, turn))} {writer} {turn}")
        say("may be evicted")
    number = put(store, "released", content(writer, 8))
    say(f"releasing {number} {writer} 8")
    store.release("w", [number])
    for turn in range(40):
        put(store, f"filler-{turn}", content(f"filler {turn}", 2))
    store.gc()


def read_for_ever(store: Store, say: Say, order: dict[str, Any]) -> None:
    """Read so long each time that the readers always overlap, until killed."""
    slow = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 60000)"
    say("reading")
    while True:
        store._access.read(lambda db: db.rows(slow + " SELECT count(*) FROM n, meta"))


def fill_log(store: Store, say: Say, order: dict[str, Any]) -> None:
    """Put small content, which all goes through the log; tells its largest size and all that was put."""
    largest, written = 0, 0
    for turn in range(400):
        data = os.urandom(15_000)
        put(store, f"{order['writer']}-{turn}", data)
        written += 2 * len(data)
        largest = max(largest, store.stats("w").wal_bytes)
    say(f"log {largest} {written}")


JOBS = {
    job.__name__: job for job in (write_for_ever, ack_first, rows_first, every_step, read_for_ever, fill_log)
}


def work(order: dict[str, Any]) -> None:
    """One writer's life."""
    acks = order["acks"]

    def say(line: str) -> None:
        os.write(acks, line.encode() + b"\n")

    settings = {**order["config"], "failpoints": Failpoints(order.get("failpoints", ()))}
    try:
        JOBS[order["job"]](Store.open(StoreConfig(**settings)), say, order)
    except StoreError as error:
        say(f"error {type(error).__name__}: {error}")


def main(work: Callable[[dict[str, Any]], None] = work) -> None:
    """Serve orders until the end of input."""
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            answer = os.waitpid(order["wait"], 0)[1]
        else:
            # Opened before the writer exists, so that its reader never sees an end before the beginning.
            order["acks"] = os.open(order["acks"], os.O_WRONLY)
            answer = os.fork()
            if answer == 0:
                try:
                    work(order)
                finally:
                    os._exit(0)
            os.close(order["acks"])
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
