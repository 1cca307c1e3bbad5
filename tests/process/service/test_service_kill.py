"""SIGKILL in the middle of edits: a file is one whole version, and what was acknowledged is there."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_offload.handle import ArtifactRef, parse_handle
from mcp_offload.service import OffloadService, open_service
from mcp_offload.settings import Settings
from tests.process.service.zygote import EDITORS, SHARED, log, own_content, own_file, shared_content
from tests.process.store.harness import Writer, Zygote
from tests.unit.store.helpers import quick_folder

ROUNDS = int(os.environ.get("MCP_OFFLOAD_KILL_ROUNDS", "5"))
START = "start"
# Before the file is written, between that and the commit, in it, and after it.
STEPS = [
    "stage.written",
    "commit.locked",
    "blob.linked",
    "commit.rows",
    "commit.before",
    "commit.after",
    "commit.done",
]

pytestmark = [pytest.mark.process, pytest.mark.timeout(90 + 10 * ROUNDS)]


@dataclass
class Told:
    """What the editors have been told so far, all of them together."""

    stored: dict[str, tuple[int, str]] = field(default_factory=dict)
    versions: dict[str, bytes] = field(default_factory=dict)
    marks: dict[tuple[str, int], str] = field(default_factory=dict)
    under_way: dict[tuple[str, int], str] = field(default_factory=dict)
    edits: int = 0
    errors: list[str] = field(default_factory=list)

    def hear(self, line: str) -> None:
        editor, word, *rest = json.loads(line)
        match word:
            case "stored":
                handle, _, mark = rest
                assert handle not in self.stored, "a number was issued twice"
                self.stored[handle] = editor, mark
            case "going":
                name, mark = rest
                self.under_way[name, editor] = mark
            case "edited":
                handle, name, mark = rest
                if name != SHARED:
                    self.versions[handle] = own_content(editor, mark)
                self.marks[name, editor] = mark
                self.edits += 1
            case "version":
                handle, mark = rest
                self.versions[handle] = own_content(editor, mark)
            case "conflict":
                pass
            case _:
                self.errors.append(" ".join(rest))

    def allowed(self, name: str, editor: int) -> list[str]:
        """What a part of a file may say: what was last acknowledged, or what was under way."""
        return [self.marks.get((name, editor), START), self.under_way.get((name, editor), START)]

    def check(self, settings: Settings, project: Path) -> None:
        """Everything is as told, on the disk and in the store."""
        assert self.errors == []
        with open_service(settings) as service:
            for handle, (editor, mark) in self.stored.items():
                assert b"".join(service.stream(handle)) == log(editor, mark)
            for handle, content in self.versions.items():
                assert b"".join(service.stream(handle.partition("#")[0])) == content
            for editor in range(EDITORS):
                name = own_file(editor)
                content = (project / name).read_bytes()
                right = [own_content(editor, mark) for mark in self.allowed(name, editor)]
                assert content in right, f"{name} is no whole version"
                self.settle(service, name, editor, content)
            self.check_shared(service, project)
            assert service.gc().evicted == 0

    def check_shared(self, service: OffloadService, project: Path) -> None:
        content = (project / SHARED).read_bytes()
        marks = [part.partition("'")[2].partition("'")[0] for part in content.decode().split("def ")[1:]]
        assert content == shared_content(marks), f"{SHARED} is no whole version"
        for editor, mark in enumerate(marks):
            assert mark in self.allowed(SHARED, editor), "an acknowledged edit was overwritten"
            self.settle(service, SHARED, editor, content)
            self.marks[SHARED, editor] = mark

    def settle(self, service: OffloadService, name: str, editor: int, content: bytes) -> None:
        """The newest version is the file; what was under way has happened or has not."""
        (result,) = service.read([name], max_tokens=0)
        assert result.text.encode() == content
        handle = parse_handle(result.handle).artifact
        assert isinstance(handle, ArtifactRef)
        assert b"".join(service.stream(result.handle)) == content
        if name != SHARED:
            mark = content.decode().rpartition("return '")[2].partition("'")[0]
            self.marks[name, editor] = mark


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def zygote(folder: Path) -> Iterator[Zygote]:
    zygote = Zygote(folder, "tests.process.service.zygote")
    yield zygote
    zygote.close()


@pytest.fixture
def settings(folder: Path) -> Settings:
    project = folder / "project"
    project.mkdir()
    for editor in range(EDITORS):
        (project / own_file(editor)).write_bytes(own_content(editor, START))
    (project / SHARED).write_bytes(shared_content([START] * EDITORS))
    return Settings(
        store_dir=str(folder / "store"),
        state_dir=str(folder / "state"),
        roots=(str(project),),
        base_dir=str(project),
        workspace="w",
        reserve_bytes=0,
    )


def test_four_editors_killed_again_and_again(zygote: Zygote, settings: Settings) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    told = Told()
    for turn in range(ROUNDS):
        editors = [
            Writer(
                zygote,
                job="edit_for_ever",
                editor=editor,
                life=f"{seed}.{turn}",
                settings=dataclasses.asdict(settings),
            )
            for editor in range(EDITORS)
        ]
        try:
            for _ in range(chance.randrange(4, 60)):
                told.hear(chance.choice(editors).acks.readline())
        finally:
            for editor in editors:
                editor.kill()
        for editor in editors:
            status, rest = editor.finish()
            assert os.WTERMSIG(status) == signal.SIGKILL, rest
            for line in rest:
                told.hear(line)
        told.check(settings, Path(settings.base_dir))
    assert told.edits > ROUNDS, f"seed {seed}"


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_each_named_step_of_an_edit(zygote: Zygote, settings: Settings, step: str) -> None:
    project = Path(settings.base_dir)
    order = {"job": "a_few_turns", "editor": 0, "settings": dataclasses.asdict(settings)}
    # The first time is in storing, the second and third in the edit of one file, and so on.
    for time in (1, 3, 4, 6):
        told = Told(marks=marks_on_disk(project))
        stop = [f"{step}@{time}=kill"]
        status, lines = Writer(zygote, **order, life=f"{step}.{time}", failpoints=stop).finish()
        assert os.WIFSIGNALED(status), f"the step was never reached: {lines}"
        for line in lines:
            told.hear(line)
        told.check(settings, project)
    told = Told(marks=marks_on_disk(project))
    status, lines = Writer(zygote, **order, life="at last").finish()
    assert status == 0
    for line in lines:
        told.hear(line)
    assert told.edits == 6
    told.check(settings, project)


def marks_on_disk(project: Path) -> dict[tuple[str, int], str]:
    """What each part of each file says now."""
    marks: dict[tuple[str, int], str] = {}
    for name in [own_file(editor) for editor in range(EDITORS)] + [SHARED]:
        for part in (project / name).read_text(encoding="utf-8").split("def part_")[1:]:
            editor, _, rest = part.partition("(")
            marks[name, int(editor)] = rest.partition("'")[2].partition("'")[0]
    return marks
