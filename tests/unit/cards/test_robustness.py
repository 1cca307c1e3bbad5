"""Whatever the bytes are, a card is made and a member is read or refused, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_offload.cards.build import card_of, has_members, open_member
from mcp_offload.cards.detect import HEAD_BYTES, format_of
from mcp_offload.cards.model import FACTS, Card, DamagedError, LimitReachedError, dump_card, load_card
from mcp_offload.cards.source import Bounded
from mcp_offload.errors import MemberUnreadableError, OffloadError
from mcp_offload.handle import SymbolSelector
from mcp_offload.models import SilentMonitor
from tests.unit.cards.samples import Bytes, card, samples

NAMES = [name for name, _, _ in samples(Path("/tmp"))]
KEYS = ["zip", "packed", "tar", "ar", "elf", "pe", "macho", "fat", "image", "sqlite", "parquet", "unknown"]
KEYS += ["coverage", "source map", "compile commands", "lock", "csv", "json lines"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, bool]]:
    return {name: (data, binary) for name, data, binary in samples(tmp_path_factory.mktemp("samples"))}


def read_all(data: bytes, made: Card, key: str, name: str) -> int:
    """Read every member that the card lists; return how many could be read."""
    read = 0
    for entry in made.entries[:20]:
        if not has_members(key) or not isinstance(entry.selector, SymbolSelector):
            continue
        try:
            pieces = open_member(Bytes(data), key, entry.name, entry.selector.ordinal, name, SilentMonitor())
            read += pieces is not None and sum(map(len, pieces)) >= 0
        except MemberUnreadableError as exc:
            assert "\n" not in str(exc)
    return read


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_file_has_facts_and_no_notes(name: str, inputs: dict[str, tuple[bytes, bool]]) -> None:
    data, binary = inputs[name]
    made = card(data, name, binary=binary)
    assert made.notes == ()
    assert made.facts
    assert made.summary
    assert set(made.facts) <= set(FACTS)
    assert load_card(dump_card(made)) == made


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_cost_a_note_and_nothing_else(
    name: str, inputs: dict[str, tuple[bytes, bool]], data: st.DataObject
) -> None:
    whole, binary = inputs[name]
    changed = bytearray(whole[: data.draw(st.integers(0, len(whole)), label="cut")])
    for at, value in data.draw(
        st.lists(st.tuples(st.integers(0, max(0, len(changed) - 1)), st.integers(0, 255)), max_size=8)
    ):
        if changed:
            changed[at] = value
    key = format_of(name, bytes(changed[:HEAD_BYTES]), binary=binary)
    if key is not None:
        made = card_of(Bytes(bytes(changed)), key, name, SilentMonitor())
        assert load_card(dump_card(made)) == made
        read_all(bytes(changed), made, key, name)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=600), st.sampled_from(KEYS))
def test_any_bytes_go_into_any_reader(data: bytes, key: str) -> None:
    made = card_of(Bytes(data), key, "x.lock", SilentMonitor())
    assert made.summary
    read_all(data, made, key, "x.lock")


@pytest.mark.parametrize(
    "name", ["a.zip", "a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "blob.bin.gz", "add.o"]
)
def test_a_cut_file_says_so(name: str, inputs: dict[str, tuple[bytes, bool]]) -> None:
    data, _ = inputs[name]
    made = card(data[: len(data) // 3], name, binary=True)
    assert any("damaged" in note for note in made.notes), made
    assert made.facts["partial"] is True


@pytest.mark.parametrize(
    "name", ["a.zip", "a.tar", "a.tar.gz", "a.tar.xz", "blob.bin.gz", "a.db", "app.js.map"]
)
def test_every_member_of_a_sound_file_can_be_read(name: str, inputs: dict[str, tuple[bytes, bool]]) -> None:
    data, binary = inputs[name]
    key = format_of(name, data[:HEAD_BYTES], binary=binary)
    assert key is not None
    made = card(data, name, binary=binary)
    listed = [entry for entry in made.entries if isinstance(entry.selector, SymbolSelector)]
    assert read_all(data, made, key, name) == len(listed) > 0


def test_a_cancelled_card_stops() -> None:
    class Cancelled(OffloadError):
        pass

    class Monitor:
        def advance(self, done: int, total: int | None, message: str = "") -> None:
            raise Cancelled

    with pytest.raises(Cancelled):
        card_of(Bytes(b"a,b\n1,2\n"), "csv", "t.csv", Monitor())


def test_a_size_that_a_header_claims_is_not_believed() -> None:
    file = Bounded(Bytes(b"abc"), SilentMonitor()).file()
    assert file.read(10) == b"abc"
    for size in (-1, None, 1 << 40):
        with pytest.raises(DamagedError):
            file.read(size)


def test_reading_has_a_limit() -> None:
    source = Bounded(Bytes(b"abcdef"), SilentMonitor(), limit_bytes=8)
    assert source.read(0, 6) == b"abcdef"
    with pytest.raises(LimitReachedError):
        source.read(0, 6)
