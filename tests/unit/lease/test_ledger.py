"""The arithmetic of a lease, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_offload.lease import (
    ContextSize,
    DeliveredText,
    Delivery,
    LeaseState,
    Report,
    Terms,
    charged_tokens,
    deliver,
    from_record,
    grant,
    granted_tokens,
    is_held,
    left_tokens,
    report,
    stage_of,
    to_record,
)

HARD = Terms("hard", 18_000, 6_000)
ADVISORY = replace(HARD, mode="advisory")


def delivered(state: LeaseState, tokens: int, *texts: DeliveredText, terms: Terms = HARD) -> LeaseState:
    after = deliver(terms, state, Delivery("result", tokens, "read_handle", texts))
    assert after is not None
    return after


def test_a_lease_is_the_limit_less_the_reserve_in_o200k() -> None:
    assert HARD.lease_tokens == 12_000
    assert replace(HARD, factor=1.4).lease_tokens == 8_571
    assert left_tokens(HARD, LeaseState()) == 12_000


def test_a_hard_lease_takes_the_last_token_and_not_one_more() -> None:
    state = delivered(LeaseState(), 11_000)
    assert deliver(HARD, state, Delivery("result", 1_001)) is None
    assert left_tokens(HARD, delivered(state, 1_000)) == 0


def test_an_advisory_lease_may_be_exceeded() -> None:
    state = delivered(LeaseState(), 13_000, terms=ADVISORY)
    assert left_tokens(ADVISORY, state) == -1_000


def test_lists_and_instructions_are_charged_once_and_counted_each_time() -> None:
    state = LeaseState()
    for _ in range(3):
        for kind in ("definitions", "instructions"):
            after = deliver(HARD, state, Delivery(kind, 500, "tools/list"))  # type: ignore[arg-type]
            assert after is not None
            state = after
    assert state.delivered == {"definitions": 1_500, "instructions": 1_500}
    assert charged_tokens(HARD, state) == 1_000


def test_what_a_server_will_send_unasked_is_kept_free_from_the_start() -> None:
    terms = replace(HARD, standing_tokens=1_200)
    assert left_tokens(terms, LeaseState()) == 10_800
    listed = deliver(terms, delivered(LeaseState(), 10_800, terms=terms), Delivery("definitions", 1_200))
    assert listed is not None
    assert left_tokens(terms, listed) == 0


def test_refusals_are_counted_and_not_charged() -> None:
    state = deliver(HARD, delivered(LeaseState(), 12_000), Delivery("refusal", 24))
    assert state is not None
    assert (state.refusals, state.delivered["refusal"], left_tokens(HARD, state)) == (1, 24, 0)


@pytest.mark.parametrize(
    ("charged", "stage", "most"),
    [(0, "full", 2_000), (7_199, "full", 2_000), (7_200, "head", 640), (10_200, "card", 240)],
)
def test_answers_shrink_as_the_lease_fills(charged: int, stage: str, most: int) -> None:
    state = delivered(LeaseState(), charged)
    for terms in (HARD, ADVISORY):
        granted = grant(terms, state, 2_000)
        assert (granted.stage, granted.max_tokens) == (stage, most)
    assert grant(replace(HARD, mode="off"), state, 2_000).max_tokens == 2_000


def test_at_the_end_a_hard_lease_refuses_and_an_advisory_one_gives_cards() -> None:
    state = delivered(LeaseState(), 11_841)
    assert stage_of(HARD, state) == "refused"
    assert grant(ADVISORY, state, 2_000).stage == "card"
    assert grant(HARD, delivered(LeaseState(), 11_840), 2_000).max_tokens == 160


def test_whoever_insists_gets_it_where_a_person_is_present() -> None:
    state = delivered(LeaseState(), 11_000)
    assert grant(ADVISORY, state, 5_000, insisted=True).max_tokens == 5_000
    assert grant(HARD, state, 5_000, insisted=True).max_tokens == 240


@pytest.mark.parametrize("event", ["compacted", "cleared"])
def test_a_compacted_context_is_free_but_for_what_stands(event: str) -> None:
    state = deliver(HARD, LeaseState(), Delivery("definitions", 1_000))
    assert state is not None
    state = delivered(state, 5_000, DeliveredText("f1", 300, "x"))
    state = report(HARD, state, Report(event=event), 1.0)  # type: ignore[arg-type]
    assert charged_tokens(HARD, state) == 1_000
    assert state.delivered == {"definitions": 1_000, "result": 5_000}
    assert not is_held(state, "f1", "x", 1.0, confirmed=True)


def test_texts_that_are_gone_free_what_they_were_charged() -> None:
    texts = (
        DeliveredText("f1#a", 300, "x"),
        DeliveredText("f1@2#b", 200, "y"),
        DeliveredText("f12", 100, "z"),
    )
    state = delivered(LeaseState(), 700, *texts)
    assert charged_tokens(HARD, report(HARD, state, Report(gone=("f1#b",)), 0)) == 500
    assert charged_tokens(HARD, report(HARD, state, Report(gone=("f1",)), 0)) == 200
    assert charged_tokens(HARD, report(HARD, state, Report(gone=("f3", "f1#c")), 0)) == 700


def test_a_reported_size_leaves_no_more_than_what_is_beside_it() -> None:
    state = report(HARD, delivered(LeaseState(), 2_000), Report(context_tokens=15_000), 5.0)
    assert left_tokens(HARD, state) == 3_000
    assert left_tokens(HARD, delivered(state, 1_000)) == 2_000
    assert state.context == ContextSize(15_000, "client", 5.0)


def test_a_small_context_cannot_hold_what_was_delivered_nor_lift_the_lease() -> None:
    state = report(HARD, delivered(LeaseState(), 9_000), Report(context_tokens=1_000), 0)
    assert charged_tokens(HARD, state) == 1_000
    assert left_tokens(HARD, report(HARD, LeaseState(), Report(context_tokens=0), 0)) == 12_000


def test_what_cannot_be_there_is_let_go_of_oldest_first() -> None:
    texts = tuple(DeliveredText(f"f{n}", 100, "x") for n in range(1, 4))
    state = report(HARD, delivered(LeaseState(), 350, *texts), Report(context_tokens=150), 0)
    assert list(state.held) == ["f3"]
    assert charged_tokens(HARD, state) == 150


def test_a_size_counts_in_the_models_own_tokens() -> None:
    terms = replace(HARD, factor=1.5)
    state = report(terms, LeaseState(), Report(context_tokens=15_000), 0)
    assert left_tokens(terms, state) == 2_000


def test_a_text_is_held_while_the_client_says_so_and_no_longer() -> None:
    state = delivered(LeaseState(), 400, DeliveredText("f1@2#a", 300, "x"))
    assert not is_held(state, "f1#a", "x", 10.0)
    assert is_held(state, "f1#a", "x", 10.0, confirmed=True)
    assert not is_held(state, "f1#a", "y", 10.0, confirmed=True)
    state = report(HARD, state, Report(holds=("f1@3#a", "f9")), 10.0)
    assert is_held(state, "f1@3#a", "x", 600.0)
    assert not is_held(state, "f1#a", "x", 611.0)
    assert not is_held(report(HARD, state, Report(gone=("f1",)), 11.0), "f1#a", "x", 11.0)


def test_the_newest_text_of_a_handle_is_the_one_that_is_held() -> None:
    state = delivered(LeaseState(), 100, DeliveredText("f1#a", 60, "old"))
    state = delivered(state, 100, DeliveredText("f1@2#a", 70, "new"))
    assert is_held(state, "f1#a", "new", 0, confirmed=True)
    assert not is_held(state, "f1#a", "old", 0, confirmed=True)
    assert state.held["f1#a"].tokens == 130


def test_a_sub_agent_gets_at_most_what_is_left_and_gives_it_back() -> None:
    state = delivered(LeaseState(), 4_000)
    state = report(HARD, state, Report(agent_started="a", share_tokens=3_000), 0)
    assert (left_tokens(HARD, state), state.agents) == (5_000, {"a": 3_000})
    state = report(HARD, state, Report(agent_started="b", share_tokens=9_000), 0)
    assert state.agents == {"a": 3_000, "b": 5_000}
    state = report(HARD, state, Report(agent_ended="b"), 0)
    assert left_tokens(HARD, report(HARD, state, Report(agent_started="c"), 0)) == 2_500
    assert report(HARD, state, Report(event="cleared"), 0).agents == {}


def test_a_share_is_the_whole_lease_of_a_sub_agent() -> None:
    child = LeaseState(share=500)
    assert granted_tokens(HARD, child) == 500
    assert deliver(HARD, child, Delivery("result", 501)) is None


def test_older_handles_than_the_newest_thousand_stay_charged() -> None:
    state = LeaseState()
    for number in range(1_100):
        state = delivered(state, 2, DeliveredText(f"f{number}", 2, "x"))
    assert len(state.held) == 1_000
    assert charged_tokens(HARD, state) == 2_200


def test_a_state_survives_its_record() -> None:
    state = delivered(LeaseState(), 400, DeliveredText("f1#a", 300, "x"))
    state = report(HARD, state, Report(context_tokens=9_000, holds=("f1#a",), agent_started="a"), 3.5)
    state = replace(state, terms=HARD, share=77)
    assert from_record(to_record(state)) == state
