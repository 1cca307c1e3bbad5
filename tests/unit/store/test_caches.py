from __future__ import annotations

import pytest

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.store import Store
from tests.unit.store.helpers import Clock, Put


def test_outlines_are_found_by_key_and_replaced(store: Store, put: Put) -> None:
    key = put(b"def a(): pass\n")[1].blake3 + ":python:1"
    assert store.outline_get(key) is None
    store.outline_put(key, b"one", "a")
    store.outline_put(key, b"two", "a")
    assert store.outline_get(key) == b"two"


@pytest.mark.parametrize("key", ["", "python:1", "X" * 64, "0" * 63])
def test_a_key_that_does_not_start_with_a_hash_is_refused(store: Store, key: str) -> None:
    with pytest.raises(InvalidArgumentError):
        store.outline_put(key, b"", "")


def test_candidates_are_the_latest_views_whose_names_contain_the_text(
    store: Store, put: Put, clock: Clock
) -> None:
    first = put(b"v1", path="/a")[1]
    clock.now += 1
    second = put(b"v2", path="/a")[1]
    clock.now += 1
    third = put(b"utf-16", view=b"utf-8", path="/b")[1]
    assert third.view_blake3 is not None
    store.outline_put(first.blake3, b"old", "Parser.parse")
    store.outline_put(second.blake3 + ":x", b"new", "Parser.parse\nParser.peek")
    store.outline_put(third.view_blake3, b"view", "parse_all")
    found = store.symbol_candidates("w", "PARSE", 10)
    assert found == [(2, 1, third.view_blake3, b"view"), (1, 2, second.blake3 + ":x", b"new")]
    assert store.symbol_candidates("w", "parse", 1) == found[:1]
    assert store.symbol_candidates("w", "peek", 10) == found[1:]
    assert store.symbol_candidates("v", "parse", 10) == []


def test_what_is_derived_goes_with_the_content(store: Store, put: Put) -> None:
    version = put(b"content")[1]
    store.outline_put(version.blake3, b"outline", "a")
    store.tokens_put(version.blake3, 3)
    assert store.tokens_get(version.blake3) == 3
    store.release("w", [1])
    assert store.outline_get(version.blake3) is None
    assert store.tokens_get(version.blake3) is None


def test_what_is_derived_from_content_never_committed_goes_in_time(store: Store, clock: Clock) -> None:
    store.outline_put("0" * 64, b"outline", "a")
    store.tokens_put("0" * 64, 3)
    store.gc()
    assert store.tokens_get("0" * 64) == 3
    clock.now += 3601
    store.gc()
    assert store.outline_get("0" * 64) is None
    assert store.tokens_get("0" * 64) is None
