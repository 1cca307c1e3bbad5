"""Replaces texts of a history by what stands for them, and has them kept in the offload store."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from mcp_offload import OffloadError, OffloadService, StoreManyResult, StoreResult, stored_line, stored_text
from serving.compaction.choice import Candidate, Form, Stage, choose
from serving.compaction.decisions import Decision, Decisions
from serving.compaction.dialects import Body, Dialect
from serving.compaction.served import restored
from serving.compaction.settings import CompactionSettings
from serving.compaction.slots import LEAST_BYTES, Path, Slot, rewritten, slots, unnumbered

_log = logging.getLogger(__name__)

_CHECKED_SECONDS: Final = 300.0
"""How long a text that was there is taken to be there still; the store keeps what is idle for days."""
_REMEMBERED: Final = 65_536
_WORKSPACES: Final = 256
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True)
class View:
    """A history as it is to be sent.

    Attributes:
        workspace: whose store holds what was replaced.
        reader: the tool that reads it, as the client's model calls it.
        given: the request as the client sent it, with what the gate answered beside its calls.
        aged: the texts that may be replaced, oldest first.
        decisions: for those that are replaced.
        body: the request with them replaced; ``given`` itself where there are none.
        new: the decisions that are not kept yet.
    """

    workspace: str
    reader: str
    given: Body
    aged: tuple[Slot, ...]
    decisions: Mapping[bytes, Decision]
    body: Body
    new: Mapping[bytes, Decision]

    @property
    def replaced(self) -> int:
        """How many texts are replaced."""
        return sum(1 for slot in self.aged if slot.key in self.decisions)

    @property
    def saved_tokens(self) -> int:
        """O200k tokens that the replaced texts cost more than what stands for them."""
        return sum(self.decisions[slot.key].saved for slot in self.aged if slot.key in self.decisions)


class Compactor:
    """Makes views of histories. Thread-safe and synchronous: call it from worker threads.

    Args:
        service: of the store; its workspace is that of requests without a tenant.
        decisions: the choices that were made.
        settings: the thresholds.
        clock: seconds that never go back.

    Attributes:
        workspace: of requests that name none.
    """

    def __init__(
        self,
        service: OffloadService,
        decisions: Decisions,
        settings: CompactionSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.decisions = decisions
        self.workspace = service.settings.workspace
        self._service = service
        self._clock = clock
        self._lock = threading.Lock()
        self._services: OrderedDict[str, OffloadService] = OrderedDict()
        self._tokens: OrderedDict[bytes, int] = OrderedDict()
        self._checked: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    def service(self, workspace: str) -> OffloadService:
        """The store, seen from a workspace."""
        if workspace == self._service.settings.workspace:
            return self._service
        with self._lock:
            found = self._services.pop(workspace, None) or self._service.in_workspace(workspace)
            self._services[workspace] = found
            if len(self._services) > _WORKSPACES:
                self._services.popitem(last=False)
        return found

    def view(self, workspace: str, dialect: Dialect, body: Body, reader: str) -> View:
        """A history with the choices that were made for it before.

        Args:
            workspace: whose store to use.
            dialect: of the request.
            body: as the client sent it.
            reader: the tool that reads handles.

        Raises:
            CompactionError: the choices cannot be read.
        """
        given = restored(dialect, body, lambda ids: self.decisions.find_served(workspace, ids))
        aged = tuple(slot for slot in slots(dialect, given) if slot.aged and _is_long(slot))
        found = self.decisions.find(workspace, (slot.key for slot in aged))
        decided: dict[bytes, Decision] = {}
        changed: dict[bytes, Decision] = {}
        for slot in aged:
            known = found.get(slot.key)
            if known is None or slot.key in decided:
                continue
            kept = self._still(workspace, slot, known, reader)
            if kept is not None:
                decided[slot.key] = kept
                if kept.handle != known.handle:
                    changed[slot.key] = kept
        if changed:
            self.decisions.keep(workspace, changed)
        return _shown(View(workspace, reader, given, aged, decided, given, {}))

    def step(self, view: View, stage: Stage) -> View:
        """The same history with more of it replaced; the very same view where there is no more.

        What cannot be stored stays as it is.
        """
        candidates = [self._candidate(view, slot) for slot in view.aged]
        chosen = choose(candidates, stage, self.settings)
        decided, new = dict(view.decisions), dict(view.new)
        for index, form in chosen.items():
            slot = view.aged[index]
            before = decided.get(slot.key)
            made = self._made(view.workspace, slot, view.reader, form) if before is None else before
            if made is None:
                continue
            made = self._in_form(slot, made, form)
            if made.saved > 0 and (before is None or made.form > before.form):
                decided[slot.key] = new[slot.key] = made
        if len(new) == len(view.new) and new == view.new:
            return view
        return _shown(replace(view, decisions=decided, new=new))

    def keep(self, view: View) -> None:
        """Keep the choices that a view was made with.

        Raises:
            CompactionError: they cannot be kept.
        """
        if view.new:
            self.decisions.keep(view.workspace, dict(view.new))

    def _candidate(self, view: View, slot: Slot) -> Candidate:
        decision = view.decisions.get(slot.key)
        return Candidate(self._count(slot), Form.WHOLE if decision is None else decision.form)

    def _made(self, workspace: str, slot: Slot, reader: str, form: Form) -> Decision | None:
        """A text stored, and what stands for it; None where it cannot be stored and read back."""
        try:
            service = self.service(workspace)
            stored = _stored(service, slot)
            if stored.binary or not _reads_back(service, stored, slot.text):
                return None
            told = self._told(service, slot, stored)
        except OffloadError as error:
            _log.warning("a text of %s was not replaced: %s", slot.tool, error)
            return None
        with self._lock:
            _remember(self._checked, (workspace, slot.key), self._clock())
        head = f"[Stored, not shown here; {reader} reads all or parts of it by handle]"
        line = f"[{stored_line(stored)}; stored, {reader} reads it]"
        return self._in_form(slot, Decision(form, stored.handle, f"{head}\n{told}", line, 0), form)

    def _told(self, service: OffloadService, slot: Slot, stored: StoreResult) -> str:
        """What the text is; of a file with line numbers the outline is that of the file without them."""
        plain = unnumbered(slot)
        if plain is None:
            return stored_text(service, stored, self.settings.notice_tokens)
        file = service.store(content=plain[1], name=plain[0])
        assert not isinstance(file, StoreManyResult)
        told = stored_text(service, file, self.settings.notice_tokens)
        return f"{stored_line(stored)}, the same without numbers:\n{told}"

    def _in_form(self, slot: Slot, made: Decision, form: Form) -> Decision:
        shown = replace(made, form=max(form, made.form))
        return replace(shown, saved=self._count(slot) - self._service.count_tokens(shown.shown))

    def _still(self, workspace: str, slot: Slot, known: Decision, reader: str) -> Decision | None:
        """The decision, where the store still has the text; else a new one, as the text is at hand."""
        with self._lock:
            checked = self._checked.get((workspace, slot.key))
        if checked is not None and self._clock() - checked < _CHECKED_SECONDS:
            return known
        try:
            stored = _stored(self.service(workspace), slot)
        except OffloadError as error:
            _log.warning("a text of %s is shown whole: %s", slot.tool, error)
            return None
        if stored.handle != known.handle:
            return self._made(workspace, slot, reader, known.form)
        with self._lock:
            _remember(self._checked, (workspace, slot.key), self._clock())
        return known

    def _count(self, slot: Slot) -> int:
        with self._lock:
            known = self._tokens.get(slot.key)
        if known is None:
            known = self._service.count_tokens(slot.text)
            with self._lock:
                _remember(self._tokens, slot.key, known)
        return known


def _shown(view: View) -> View:
    texts: dict[Path, str] = {
        slot.path: view.decisions[slot.key].shown for slot in view.aged if slot.key in view.decisions
    }
    return replace(view, body=rewritten(view.given, texts))


def _stored(service: OffloadService, slot: Slot) -> StoreResult:
    stored = service.store(content=slot.text, name=slot.name)
    assert not isinstance(stored, StoreManyResult)
    return stored


def _reads_back(service: OffloadService, stored: StoreResult, text: str) -> bool:
    with service.content(f"{stored.handle}@{stored.version}") as content:
        return content.read() == text.encode()


def _is_long(slot: Slot) -> bool:
    return len(slot.text) >= LEAST_BYTES or len(slot.text.encode()) >= LEAST_BYTES


def _remember(kept: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _REMEMBERED:
        kept.popitem(last=False)
