"""Random operations of the service against a plain model of files and versions.

Whatever happens to the files, the quota, the process or the store's directory: what was acknowledged
reads back to the byte until it is released or evicted, a number never means a second thing, and a name
never gives the text of another symbol.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcp_offload.errors import (
    ConflictError,
    HandleGoneError,
    QuotaExceededError,
    SourceUnreadableError,
    SymbolNotFoundError,
)
from mcp_offload.handle import ArtifactRef, parse_handle
from mcp_offload.models import Status, StoreResult
from mcp_offload.parsing import ParserWorker
from mcp_offload.service import OffloadService, Session
from mcp_offload.settings import Settings
from mcp_offload.store import Store, StoreConfig
from tests.unit.store.helpers import quick_folder

EXAMPLES = int(os.environ.get("MCP_OFFLOAD_TEST_EXAMPLES", "25"))
STEPS = 30
# Two fillers fit; where both are pinned there is hardly room for anything else.
QUOTA_BYTES = 180_500
FILLER_BYTES = 90_000

PATHS = ("a.py", "b.py")
NAMES = ("one", "two", "three")

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(60 + 12 * EXAMPLES)]


def function(name: str, mark: int) -> str:
    """A definition whose text no other one has."""
    return f"def {name}():\n    # größe {mark}\n    return 'mark-{mark}-of-its-own'"


def source(functions: dict[str, int], header: int) -> bytes:
    """A module of these definitions under ``header`` lines of comment."""
    top = "".join(f"# header {line}\n" for line in range(header))
    return (top + "\n\n".join(function(*each) + "\n" for each in functions.items())).encode()


def functions_of(content: bytes) -> dict[str, str]:
    """The definitions in what :func:`source` and edits of it made."""
    found: dict[str, str] = {}
    for part in content.decode().split("def ")[1:]:
        name = part.partition("(")[0]
        lines = part.split("\n")[:3]
        found.setdefault(name, "def " + "\n".join(lines))
    return found


def edited(content: bytes, name: str, op: str, text: str) -> bytes:
    """What an edit makes of a content, computed without the service."""
    old = functions_of(content)[name].encode()
    start = content.index(old)
    end = start + len(old)
    if op == "replace":
        return content[:start] + text.encode().removesuffix(b"\n") + content[end:]
    if op == "before":
        return content[:start] + text.encode() + content[start:]
    return content[: end + 1] + text.encode() + content[end + 1 :]


@dataclass
class Known:
    """One artifact: the bytes of its live versions, and why the others are gone."""

    letter: str
    path: str | None
    versions: dict[int, bytes] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)
    pinned: bool = False

    @property
    def latest(self) -> int:
        return max([*self.versions, *self.gone], default=0)


class ServiceMachine(RuleBasedStateMachine):
    """One workspace with two source files, a quota that three fillers exceed, and one long session."""

    parser: ParserWorker

    @initialize()
    def start(self) -> None:
        self.folder = quick_folder()
        self.root = self.folder.__enter__()
        self.project = self.root / "project"
        self.project.mkdir()
        self.settings = Settings(
            store_dir=str(self.root / "store"),
            state_dir=str(self.root / "state"),
            roots=(str(self.project),),
            base_dir=str(self.project),
            workspace="w",
            quota_bytes=QUOTA_BYTES,
            reserve_bytes=0,
        )
        self.disk: dict[str, bytes] = {}
        self.known: dict[int, Known] = {}
        self.highest = 0
        self.marks = 0
        self.steps = 0
        self.open()
        for path in PATHS:
            self.write(path, source({name: self.mark() for name in NAMES[:2]}, 1), in_place=True)
        self.store_a_path(PATHS[0])
        self.read_a_symbol_of(1, NAMES[0], self.session)

    def open(self) -> None:
        self.store = Store.open(StoreConfig.from_settings(self.settings))
        self.service = OffloadService(self.settings, self.store, self.parser)
        self.session = Session()

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.check_everything()
            self.store.close()
            self.folder.__exit__(None, None, None)

    def mark(self) -> int:
        self.marks += 1
        return self.marks

    # --- what happens outside ---

    @rule(
        path=st.sampled_from(PATHS),
        names=st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=3),
        header=st.integers(0, 2),
        in_place=st.booleans(),
    )
    def somebody_writes_a_file(self, path: str, names: list[str], header: int, in_place: bool) -> None:
        kept = functions_of(self.disk.get(path, b""))
        content = source({name: self.mark() for name in names}, header)
        for name in names[1:]:
            # Definitions but for the first stay as they were, so that they have moved and not changed.
            if name in kept:
                content = content.replace(functions_of(content)[name].encode(), kept[name].encode())
        self.write(path, content, in_place=in_place)
        self.look_again(path, names[-1])

    @rule(path=st.sampled_from(PATHS), data=st.data())
    @precondition(lambda self: self.disk)
    def somebody_renames_a_function(self, path: str, data: st.DataObject) -> None:
        content = self.disk.get(path, b"")
        there = functions_of(content).keys()
        new = [name for name in NAMES if name not in there]
        if there and new:
            old = data.draw(st.sampled_from(sorted(there)))
            renamed = content.replace(f"def {old}(".encode(), f"def {new[0]}(".encode())
            self.write(path, renamed, in_place=True)
            self.look_again(path, old)

    @rule(path=st.sampled_from(PATHS))
    @precondition(lambda self: self.steps % 9 == 8)  # seldom, so that more can happen to it
    def somebody_deletes_a_file(self, path: str) -> None:
        if self.disk.pop(path, None) is not None:
            (self.project / path).unlink()

    def write(self, path: str, content: bytes, *, in_place: bool) -> None:
        target = self.project / path
        if in_place:
            target.write_bytes(content)
        else:
            (self.root / "new").write_bytes(content)
            os.replace(self.root / "new", target)
        self.disk[path] = content

    def look_again(self, path: str, name: str) -> None:
        """Read on in the long session, which was shown what was there before."""
        for number in [n for n in self.lives() if self.known[n].path == path]:
            self.read_a_symbol_of(number, name, self.session)

    # --- storing ---

    @rule(path=st.sampled_from(PATHS))
    def store_a_path(self, path: str) -> None:
        before = self.live_bytes()
        try:
            result = self.service.store(path)
        except SourceUnreadableError:
            assert path not in self.disk
            return
        except QuotaExceededError:
            self.expect_pins_in_the_way(before, len(self.disk[path]))
            return
        assert isinstance(result, StoreResult)
        self.acknowledge(result, path, {self.disk[path]}, before)
        if self.content(result.handle, result.version) != self.disk[path]:
            # A version that was edited in the store alone is newer than the file.
            assert self.disk[path] in self.known[self.number(result.handle)].versions.values()

    @rule(
        name=st.sampled_from(("", "note", "x" * 400)),
        size=st.sampled_from((0, 1, 40, FILLER_BYTES, FILLER_BYTES)),
        pinned=st.booleans(),
    )
    def store_content(self, name: str, size: int, pinned: bool) -> None:
        line = f"content {self.mark()}\n".encode()
        data = line * (size // len(line)) + line[: size % len(line)]
        before = self.live_bytes()
        try:
            result = self.service.store(content=data, name=name, kind="l")
        except QuotaExceededError:
            self.expect_pins_in_the_way(before, len(data))
            return
        assert isinstance(result, StoreResult)
        assert result.kind == "l"
        self.acknowledge(result, None, {data}, before)
        assert self.content(result.handle, result.version) == data
        if pinned:
            self.service.pin([result.handle])
            self.known[self.number(result.handle)].pinned = True

    @rule()
    @precondition(lambda self: self.steps % 12 == 11)  # seldom, since nothing fits after it
    def fill_up_for_good(self) -> None:
        for _ in range(2):
            self.store_content("", FILLER_BYTES, pinned=True)

    def acknowledge(self, result: StoreResult, path: str | None, data: set[bytes], before: int) -> None:
        number = self.number(result.handle)
        if number not in self.known:
            assert number > self.highest, "a number was issued twice"
            assert result.version == 1
            self.highest = number
            self.known[number] = Known(result.handle[0], path)
        assert self.known[number].path == path
        assert result.handle[0] == self.known[number].letter
        self.settle(before, {number: data})
        assert result.bytes == len(self.content(result.handle, result.version))

    # --- reading ---

    @rule(data=st.data())
    @precondition(lambda self: self.any_live())
    def read_a_version(self, data: st.DataObject) -> None:
        number, version = data.draw(self.live_version())
        self.check_version(number, version)

    @rule(data=st.data(), first=st.integers(1, 9), count=st.integers(0, 4))
    @precondition(lambda self: self.any_live())
    def read_lines_of_a_version(self, data: st.DataObject, first: int, count: int) -> None:
        number, version = data.draw(self.live_version())
        content = self.known[number].versions[version]
        lines = [line + b"\n" for line in content.split(b"\n")]
        lines[-1] = lines[-1].removesuffix(b"\n")
        if first > len(lines) - (lines[-1] == b""):
            return
        before = self.live_bytes()
        try:
            handle = f"{self.handle(number)}@{version}#L{first}-{first + count}"
            (result,) = self.service.read([handle], max_tokens=0)
        except HandleGoneError as error:
            self.gone(number, version, error, before)
            return
        assert result.text.encode() == b"".join(lines[first - 1 : first + count])
        self.settle(before)

    @rule(data=st.data(), long_session=st.booleans())
    @precondition(lambda self: self.any_live(paths=True))
    def read_a_symbol(self, data: st.DataObject, long_session: bool) -> None:
        number = data.draw(self.live_number(paths=True))
        session = self.session if long_session else Session()
        self.read_a_symbol_of(number, data.draw(self.name_in(number, session)), session)

    def read_a_symbol_of(self, number: int, name: str, session: Session) -> None:
        shown = session.shown.get(number)
        before = self.live_bytes()
        try:
            (result,) = self.service.read([f"{self.handle(number)}#{name}"], session=session)
        except SymbolNotFoundError:
            self.settle(before)
            known = self.known[number]
            assert name not in functions_of(known.versions[known.latest])
            assert shown is None or name not in functions_of(known.versions.get(shown, b""))
            return
        except HandleGoneError as error:
            self.settle(before)
            assert shown in self.known[number].gone, error
            return
        self.settle(before)
        known = self.known[number]
        version = self.version(result.handle, known)
        assert result.text == functions_of(known.versions[version])[name], "another symbol's text"
        newest = functions_of(known.versions[known.latest])
        if result.status in (Status.SAME, Status.MOVED, Status.CHANGED):
            assert version == known.latest
        else:
            assert result.status in (Status.RENAMED, Status.GONE)
            assert (version, name in newest) == (shown, False)
        if result.status in (Status.SAME, Status.MOVED) and shown in known.versions:
            assert functions_of(known.versions[shown]).get(name, result.text) == result.text

    @rule(data=st.data())
    @precondition(lambda self: self.any_live())
    def search_for_what_one_version_says(self, data: st.DataObject) -> None:
        number, version = data.draw(self.live_version())
        content = self.known[number].versions[version]
        words = [word for word in content.decode().split() if "mark-" in word]
        if not words:
            return
        before = self.live_bytes()
        try:
            handle = f"{self.handle(number)}@{version}"
            result = self.service.search(words[0], [handle], literal=True)
        except HandleGoneError as error:
            self.gone(number, version, error, before)
            return
        lines = content.split(b"\n")
        assert [hit.text for hit in result.hits] == [lines[hit.line - 1].decode() for hit in result.hits]
        assert [hit.line for hit in result.hits] == [
            line for line, text in enumerate(lines, 1) if words[0].encode() in text
        ]
        self.settle(before)

    # --- editing ---

    @rule(
        data=st.data(),
        op=st.sampled_from(("replace", "replace", "before", "after")),
        write=st.booleans(),
        long_session=st.booleans(),
    )
    @precondition(lambda self: self.any_live(paths=True))
    def edit_a_symbol(self, data: st.DataObject, op: str, write: bool, long_session: bool) -> None:
        number = data.draw(self.live_number(paths=True))
        session = self.session if long_session else Session()
        name = data.draw(self.name_in(number, session))
        shown = session.shown.get(number)
        known = self.known[number]
        assert known.path is not None
        on_disk = self.disk.get(known.path)
        text = function(name if op == "replace" else f"added_{self.mark()}", self.mark()) + "\n"
        before = self.live_bytes()
        try:
            handle = f"{self.handle(number)}#{name}"
            result = self.service.edit(handle, text, op=op, write=write, session=session)
        except (ConflictError, SymbolNotFoundError, QuotaExceededError, HandleGoneError) as error:
            self.settle(before)
            self.expect_refusal(error, number, name, shown, write)
            self.expect_disk(known.path, on_disk)
            return
        # Where the version it was made on is not known, a look at the file has only just stored it.
        base = self.version(result.base, known)
        content = known.versions.get(base, on_disk or b"")
        expected = edited(content, name, op, text)
        self.settle(before, {number: {expected}})
        assert known.versions[result.version] == expected, "an edit changed more than its span"
        assert result.version == known.latest
        assert base == (shown if shown is not None else base)
        assert (result.path is not None) == write
        if write:
            assert on_disk == content, "written over something else"
            self.disk[known.path] = expected
        self.expect_disk(known.path, self.disk.get(known.path))

    def expect_refusal(
        self, error: Exception, number: int, name: str, shown: int | None, write: bool
    ) -> None:
        """A refusal is right only where the model sees its reason, too."""
        known = self.known[number]
        assert known.path is not None
        base = known.latest if shown is None else shown
        match error:
            case ConflictError():
                assert write
                assert self.disk.get(known.path) != known.versions.get(base) or base != known.latest
            case SymbolNotFoundError():
                assert name not in functions_of(known.versions[base])
            case HandleGoneError():
                assert base in known.gone
            case _:
                assert any(each.pinned for each in self.known.values())

    def expect_disk(self, path: str, content: bytes | None) -> None:
        target = self.project / path
        assert (target.read_bytes() if target.exists() else None) == content
        # Nothing unfinished may stay beside the sources.
        assert sorted(os.listdir(self.project)) == sorted(self.disk)

    # --- looking after ---

    @rule(data=st.data())
    @precondition(lambda self: len(list(self.lives())) > 2)
    def release(self, data: st.DataObject) -> None:
        number = data.draw(self.live_number())
        self.service.release([self.handle(number)])
        known = self.known[number]
        known.gone.update(dict.fromkeys([*known.versions, *known.gone], "released"))
        known.versions.clear()
        known.pinned = False

    @rule(data=st.data(), pinned=st.booleans())
    @precondition(lambda self: self.any_live())
    def pin(self, data: st.DataObject, pinned: bool) -> None:
        number = data.draw(self.live_number())
        self.service.pin([self.handle(number)], pinned=pinned)
        self.known[number].pinned = pinned

    @rule()
    def collect(self) -> None:
        assert self.service.gc().evicted == 0
        assert self.store.check(deep=True).problems == ()

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.open()
        self.check_everything()

    @rule()
    @precondition(lambda self: self.steps % 15 == 14)
    def wipe(self) -> None:
        shutil.rmtree(self.root / "store")
        for known in self.known.values():
            known.gone.update(dict.fromkeys([*known.versions, *known.gone], "wiped"))
            known.versions.clear()
            known.pinned = False

    # --- the model's eyes ---

    def settle(self, before: int, expected: dict[int, set[bytes]] | None = None) -> None:
        """Take over new versions, each of which must be a file's content or what was just made, and losses.

        ``before``: bytes that were live before the operation; what is dropped must have been in the way.
        """
        for number, known in self.known.items():
            if not known.versions and number not in (expected or {}):
                continue
            latest = self.latest(number)
            right = set((expected or {}).get(number, ()))
            if known.path in self.disk:
                right.add(self.disk[known.path])
            for version in range(known.latest + 1, (latest or 0) + 1):
                content = self.learn(number, version)
                assert content is None or content in right, "a version that nobody made"
        self.notice_losses(before, expected or {})

    def learn(self, number: int, version: int) -> bytes | None:
        known = self.known[number]
        found = self.stored(number, version)
        if found is None:
            known.gone[version] = "evicted"
        else:
            known.versions[version] = found
        return found

    def stored(self, number: int, version: int) -> bytes | None:
        """What the store holds, without a look at the file."""
        try:
            with self.store.open_raw(self.store.version("w", number, version)) as reader:
                return reader.read(0, reader.size_bytes)
        except HandleGoneError as error:
            assert error.reason == "evicted"
            return None

    def latest(self, number: int) -> int | None:
        try:
            return self.store.artifact("w", number).latest
        except HandleGoneError as error:
            assert error.reason == "evicted"
            return None

    def notice_losses(self, before: int, expected: dict[int, set[bytes]]) -> None:
        lost = [
            (number, version)
            for number, known in self.known.items()
            for version in known.versions
            if self.stored(number, version) is None
        ]
        added = sum(len(one) for contents in expected.values() for one in contents)
        added += sum(len(content) for content in self.disk.values())
        for number, version in lost:
            assert not self.known[number].pinned, "a pinned version was dropped"
            assert before + added > QUOTA_BYTES, "dropped without need"
            del self.known[number].versions[version]
            self.known[number].gone[version] = "evicted"
        assert self.live_bytes() <= QUOTA_BYTES

    def live_bytes(self) -> int:
        """Bytes of what is live, equal contents once."""
        contents = [content for known in self.known.values() for content in known.versions.values()]
        return sum({hashlib.sha256(one).digest(): len(one) for one in contents}.values())

    def check_version(self, number: int, version: int) -> None:
        expected = self.known[number].versions[version]
        before = self.live_bytes()
        handle = f"{self.handle(number)}@{version}"
        try:
            content = b"".join(self.service.stream(handle))
            (result,) = self.service.read([handle], max_tokens=0)
        except HandleGoneError as error:
            self.gone(number, version, error, before)
            return
        assert content == expected
        assert result.text.encode() == expected
        self.settle(before)

    def gone(self, number: int, version: int, error: HandleGoneError, before: int) -> None:
        """Looking at the file stores it, and that may have evicted the very version asked for."""
        assert error.reason == "evicted"
        self.settle(before)
        assert version in self.known[number].gone

    def check_everything(self) -> None:
        for number, known in self.known.items():
            for version in sorted(known.versions):
                if version in known.versions:
                    self.check_version(number, version)

    def expect_pins_in_the_way(self, before: int, size: int) -> None:
        self.settle(before)
        assert any(known.pinned for known in self.known.values()), "refused without need"
        assert before + size > QUOTA_BYTES

    @invariant()
    def the_gone_say_why(self) -> None:
        self.steps = getattr(self, "steps", 0) + 1
        for number, known in getattr(self, "known", {}).items():
            for version, reason in known.gone.items():
                with pytest.raises(HandleGoneError) as caught:
                    self.store.version("w", number, version)
                # A whole artifact's end may stand for that of a version that went before.
                assert caught.value.reason in {reason, *known.gone.values()}

    # --- handles ---

    def handle(self, number: int) -> str:
        return f"{self.known[number].letter}{number}"

    @staticmethod
    def number(handle: str) -> int:
        ref = parse_handle(handle).artifact
        assert isinstance(ref, ArtifactRef)
        return ref.number

    @staticmethod
    def version(handle: str, known: Known) -> int:
        ref = parse_handle(handle).artifact
        assert isinstance(ref, ArtifactRef)
        return known.latest if ref.version is None else ref.version

    def content(self, handle: str, version: int) -> bytes:
        return self.known[self.number(handle)].versions[version]

    def lives(self, *, paths: bool = False) -> Iterator[int]:
        return (n for n, known in self.known.items() if known.versions and (known.path or not paths))

    def name_in(self, number: int, session: Session) -> st.SearchStrategy[str]:
        """A name that is, or was, in what the session means; sometimes one that is not."""
        known = self.known[number]
        shown = known.versions.get(session.shown.get(number, 0), b"")
        newest = self.disk.get(known.path or "", known.versions.get(known.latest, b""))
        there = functions_of(shown).keys() | functions_of(newest).keys()
        return st.sampled_from(sorted(there)) | st.sampled_from(NAMES) if there else st.sampled_from(NAMES)

    def any_live(self, *, paths: bool = False) -> bool:
        return next(self.lives(paths=paths), None) is not None

    def live_number(self, *, paths: bool = False) -> st.SearchStrategy[int]:
        return st.sampled_from(sorted(self.lives(paths=paths)))

    def live_version(self) -> st.SearchStrategy[tuple[int, int]]:
        return st.sampled_from(sorted((n, v) for n in self.lives() for v in self.known[n].versions))


@pytest.fixture(scope="module", autouse=True)
def parser() -> Iterator[None]:
    """One parser process for all examples: it is not what is tested here."""
    with ParserWorker() as worker:
        ServiceMachine.parser = worker
        yield


TestServiceMachine = ServiceMachine.TestCase
TestServiceMachine.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
