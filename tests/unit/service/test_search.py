"""Searching artifacts within a budget: what is left out is named exactly, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload.errors import HandleGoneError, SpanOutOfRangeError
from mcp_offload.handle import LinesSelector, parse_handle
from mcp_offload.models import Hit, SearchResult, SilentMonitor
from mcp_offload.service.pattern import compile_pattern
from mcp_offload.service.render import search_text
from mcp_offload.service.search import SearchOptions, SearchTarget, search_targets
from mcp_offload.service.view import BytesView, View
from mcp_offload.service.window import Budget, Display
from mcp_offload.tokens import TokenCounter

COUNTER = TokenCounter()
QUIET = SilentMonitor()
AMPLE = Budget(1_000_000, 10_000_000)


def opener(data: bytes) -> Callable[[], AbstractContextManager[View]]:
    return lambda: nullcontext(BytesView(data))


def target(
    handle: str, data: bytes, first: int = 1, last: int | None = None, *, binary: bool = False
) -> SearchTarget:
    return SearchTarget(handle, f"src/{handle}.txt", opener(data), len(data), first, last, binary)


def run(
    targets: Sequence[SearchTarget],
    pattern: str,
    *,
    limit: int = 10**6,
    budget: Budget = AMPLE,
    probe_bytes: int = 10**6,
) -> SearchResult:
    options = SearchOptions(limit, budget, Display(COUNTER), probe_bytes=probe_bytes)
    return search_targets(targets, compile_pattern(pattern), options, QUIET)


def again(targets: Sequence[SearchTarget], handles: Sequence[str]) -> list[SearchTarget]:
    """The targets that handles of a result name: what the service makes of them."""
    by_handle = {one.handle: one for one in targets}
    resolved: list[SearchTarget] = []
    for text in handles:
        one = by_handle[text.partition("#")[0]]
        selector = parse_handle(text).selector
        first, last = (selector.first, selector.last) if isinstance(selector, LinesSelector) else (1, None)
        resolved.append(SearchTarget(one.handle, one.name, one.open, one.size_bytes, first, last, one.binary))
    return resolved


def everything(targets: Sequence[SearchTarget], options: SearchOptions) -> list[Hit]:
    """All hits of a search and of searching again in whatever it names, as a client would."""
    hits: list[Hit] = []
    wanted, rounds = list(targets), 0
    while wanted:
        result = search_targets(wanted, compile_pattern("hit"), options, QUIET)
        hits += result.hits
        wanted, rounds = again(targets, result.more), rounds + 1
        assert rounds < 400, "searching on comes to no end"
    return hits


def test_hits_name_their_lines_and_artifacts() -> None:
    result = run([target("l2@3", b"a\nerror: x\nb\nerror: y"), target("f1", b"error")], "error")
    assert result.hits == (
        Hit("l2@3#L2", 2, "error: x"),
        Hit("l2@3#L4", 4, "error: y"),
        Hit("f1#L1", 1, "error"),
    )
    assert (result.more, result.searched, result.skipped) == ((), 2, ())
    assert dict(result.names) == {"l2@3": "src/l2@3.txt", "f1": "src/f1.txt"}


def test_the_limit_leaves_a_handle_for_the_rest() -> None:
    targets = [
        target("l2", b"hit\n" * 5),
        target("l3", b"no\n"),
        target("l4", b"no\nhit\n"),
        target("l5", b"hit"),
    ]
    result = run(targets, "hit", limit=3)
    assert [hit.line for hit in result.hits] == [1, 2, 3]
    assert result.more == ("l2#L4-", "l4#L2-", "l5")
    assert result.searched == 4


def test_a_limit_that_is_just_enough_leaves_nothing() -> None:
    result = run([target("l2", b"hit\n" * 3), target("l3", b"none")], "hit", limit=3)
    assert (len(result.hits), result.more) == (3, ())


def test_a_range_of_lines_is_kept_in_what_is_left() -> None:
    result = run([target("l2", b"hit\n" * 9, 3, 7)], "hit", limit=2)
    assert ([hit.line for hit in result.hits], result.more) == ([3, 4], ("l2#L5-7",))
    result = run([target("l2", b"hit\n" * 9, 3, 5)], "hit", limit=2)
    assert result.more == ("l2#L5",)


def test_past_the_limit_of_bytes_artifacts_are_named_unsearched() -> None:
    targets = [target("l1", b"hit\nhit\n"), target("l2", b"none\n"), target("l3", b"none\n" * 100)]
    result = run(targets, "hit", limit=1, probe_bytes=50)
    assert (result.more, result.searched) == (("l1#L2-", "l3"), 2)


ARTIFACTS = st.lists(
    st.lists(
        st.sampled_from([b"hit", b"miss", b"a long hit " + b"w " * 30, b"", b"hit\xff\r"]), max_size=25
    ).map(b"\n".join),
    min_size=1,
    max_size=5,
)


@given(ARTIFACTS, st.integers(1, 9), st.integers(60, 300), st.sampled_from([0, 100, 10**6]))
@settings(max_examples=150)
def test_searching_on_gives_every_hit_once(
    contents: list[bytes], limit: int, max_tokens: int, probe_bytes: int
) -> None:
    targets = [target(f"l{number}", data) for number, data in enumerate(contents, 1)]
    whole = list(run(targets, "hit").hits)
    options = SearchOptions(limit, Budget(max_tokens, 10_000), Display(COUNTER), probe_bytes=probe_bytes)
    # A hit that alone exceeds the budget is cut, so lines are compared, not their text.
    found = [(hit.handle, hit.line) for hit in everything(targets, options)]
    assert sorted(found) == sorted((hit.handle, hit.line) for hit in whole)


@given(ARTIFACTS, st.integers(200, 500))
@settings(max_examples=100)
def test_a_reply_keeps_to_its_budget(contents: list[bytes], max_tokens: int) -> None:
    targets = [target(f"l{number}", data) for number, data in enumerate(contents * 3, 1)]
    for budget in (Budget(max_tokens, 10_000), Budget(10_000, 1200)):
        text = search_text(run(targets, "hit", budget=budget))
        assert COUNTER.count(text) <= budget.max_tokens
        assert len(text.encode()) <= budget.max_bytes


def test_a_first_hit_beyond_the_budget_is_cut_and_not_lost() -> None:
    content = b"hit " + b"word " * 70 + b"\nhit\n"
    result = run([target("l2", content)], "hit", budget=Budget(70, 10_000))
    assert len(result.hits) == 1
    assert result.hits[0].text.startswith("hit word") and result.hits[0].text.endswith("…")
    assert result.more == ("l2#L2-",)
    assert COUNTER.count(search_text(result)) <= 70


def test_binary_content_is_searched_and_never_shown() -> None:
    data = b"\x00\x01\n\x7fELF secret-token\x00\nsecret-token" + bytes(range(256))
    result = run([target("b3", data, binary=True), target("f1", b"secret-token")], "secret")
    assert [hit.handle for hit in result.hits] == ["b3#B8-14", "f1#L1"]
    assert result.hits[0].text == "binary match at byte 8"
    left = run([target("f1", b"secret\nsecret"), target("b3", data, binary=True)], "secret", limit=1)
    assert left.more == ("f1#L2-", "b3")


def test_stray_bytes_are_shown_as_replacement_characters() -> None:
    (hit,) = run([target("l1", b"hit \xff\xfe\n")], "hit").hits
    assert hit.text == "hit \ufffd\ufffd"


def gone() -> AbstractContextManager[View]:
    raise HandleGoneError("l1 was evicted; store it again.", reason="evicted")


def test_an_artifact_that_is_gone_is_skipped_with_the_reason() -> None:
    missing = SearchTarget("l1", "one.log", gone, 5)
    result = run([missing, target("l2", b"hit")], "hit")
    assert [hit.handle for hit in result.hits] == ["l2#L1"]
    assert [(one.path, one.reason) for one in result.skipped] == [("l1", "l1 was evicted; store it again.")]
    assert result.searched == 1
    with pytest.raises(HandleGoneError):
        run([missing], "hit")


def test_lines_that_are_not_there_are_refused() -> None:
    with pytest.raises(SpanOutOfRangeError):
        run([target("l1", b"one\n", 2)], "one")


def test_progress_rises_over_all_artifacts() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.seen: list[tuple[int, int | None]] = []

        def advance(self, done: int, total: int | None, message: str = "") -> None:
            self.seen.append((done, total))

    recorder = Recorder()
    targets = [target(f"l{number}", b"line\n" * 100) for number in range(1, 5)]
    search_targets(targets, compile_pattern("x"), SearchOptions(9, AMPLE, Display(COUNTER)), monitor=recorder)
    assert recorder.seen == [(0, 2000), (500, 2000), (1000, 2000), (1500, 2000)]
