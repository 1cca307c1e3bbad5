"""A process that has the service imported and forks editors; orders as in ``tests/process/store/zygote.py``.

An editor reports ``said what it was told`` as a line in its pipe *after* the service has returned.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from mcp_offload.errors import ConflictError, OffloadError
from mcp_offload.models import Outline, StoreResult
from mcp_offload.outline import outline
from mcp_offload.parsing import ParserWorker
from mcp_offload.service import OffloadService
from mcp_offload.settings import Settings
from mcp_offload.store import Store, StoreConfig
from mcp_offload.tokens import TokenCounter
from tests.process.store.zygote import main

EDITORS = 4
SHARED = "shared.py"
PADDING = "# padding that makes the file larger than what the catalog takes in itself\n" * 400

Say = Callable[..., None]


def own_file(editor: int) -> str:
    return f"own_{editor}.py"


def function(editor: int, mark: str) -> str:
    return f"def part_{editor}():\n    return '{mark}'\n"


def own_content(editor: int, mark: str) -> bytes:
    return (PADDING + "\n\n" + function(editor, mark)).encode()


def shared_content(marks: list[str]) -> bytes:
    return "\n\n".join(function(editor, mark) for editor, mark in enumerate(marks)).encode()


def log(editor: int, mark: str) -> bytes:
    return f"{editor} {mark}\n".encode() * 3000


def edit_for_ever(service: OffloadService, say: Say, editor: int, life: str) -> None:
    """Edit an own file and a part of a shared one, and store, until killed."""
    turn = 0
    while True:
        one_turn(service, say, editor, f"{life}.{turn}")
        turn += 1


def a_few_turns(service: OffloadService, say: Say, editor: int, life: str) -> None:
    """Pass every step of an edit that has a name, and end."""
    for turn in range(3):
        one_turn(service, say, editor, f"{life}.{turn}")
    draft = service.store(content=own_content(editor, "draft"), name=f"{life}.py", kind="f")
    assert isinstance(draft, StoreResult)
    made = service.edit(f"{draft.handle}#part_{editor}", function(editor, life))
    say("version", made.handle, life)


def one_turn(service: OffloadService, say: Say, editor: int, mark: str) -> None:
    stored = service.store(content=log(editor, mark), name=f"{mark}.txt", kind="f")
    assert isinstance(stored, StoreResult)
    say("stored", stored.handle, editor, mark)
    say("going", own_file(editor), mark)
    made = service.edit(f"{own_file(editor)}#part_{editor}", function(editor, mark))
    say("edited", made.handle, own_file(editor), mark)
    say("going", SHARED, mark)
    while True:
        try:
            made = service.edit(f"{SHARED}#part_{editor}", function(editor, mark))
        except ConflictError:
            say("conflict")
        else:
            say("edited", made.handle, SHARED, mark)
            return


class Parser(ParserWorker):
    """Outlines in the process itself: hundreds of editors start, and it is not the parser that is tested."""

    def outline(self, view: bytes, language: str | None, name: str = "") -> Outline:
        return outline(view, language, name)


JOBS = {job.__name__: job for job in (edit_for_ever, a_few_turns)}


def work(order: dict[str, Any]) -> None:
    """One editor's life."""
    acks = order["acks"]

    def say(*words: object) -> None:
        os.write(acks, json.dumps([order["editor"], *words]).encode() + b"\n")

    fields = {
        name: tuple(value) if isinstance(value, list) else value for name, value in order["settings"].items()
    }
    settings = Settings(**{**fields, "failpoints": tuple(order.get("failpoints", ()))})
    try:
        with Store.open(StoreConfig.from_settings(settings)) as store:
            service = OffloadService(settings, store, Parser())
            JOBS[order["job"]](service, say, order["editor"], order["life"])
    except OffloadError as error:
        say("error", f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    # What loads on first use, once instead of in each editor.
    outline(b"def f(): pass", "python")
    TokenCounter().count("x")
    main(work)
