"""The ledger's rules, one at a time."""

from __future__ import annotations

import math

import pytest

from serving.admission import Admitted, Ask, History, Ledger, Policy, Pool, Reason, Refused, Reserve

POOL = Pool(blocks=100, block_tokens=16)


def ask(name: str, prompt: int = 160, output: int = 160, **more: object) -> Ask:
    """Twenty blocks, unless told otherwise."""
    fields: dict[str, object] = {"session_id": name.split(".")[0]} | more
    return Ask(request_id=name, prompt_tokens=prompt, max_output_tokens=output, **fields)  # type: ignore[arg-type]


def admitted(ledger: Ledger, now: float = 0.0) -> list[str]:
    return [o.request_id for o in ledger.settle(now) if isinstance(o, Admitted)]


def refused(ledger: Ledger, now: float = 0.0) -> dict[str, Reason]:
    return {o.request_id: o.reason for o in ledger.settle(now) if isinstance(o, Refused)}


def submit(ledger: Ledger, *asks: Ask, now: float = 0.0) -> None:
    for each in asks:
        assert ledger.submit(each, now) is None


def test_a_strict_lease_holds_prompt_output_look_ahead_and_state() -> None:
    pool = Pool(blocks=100, block_tokens=16, state_blocks=2)
    ledger = Ledger(pool, Policy(look_ahead_tokens=5))
    submit(ledger, ask("a", prompt=20, output=10))
    (outcome,) = ledger.settle(0.0)
    assert isinstance(outcome, Admitted)
    assert outcome.blocks == 3 + 2  # 35 tokens are three blocks of 16


def test_strict_leases_fill_the_pool_and_no_more() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, *(ask(f"s{i}") for i in range(7)))
    assert admitted(ledger) == ["s0", "s1", "s2", "s3", "s4"]
    assert ledger.state().leased == 100
    assert ledger.state().waiting == {Reason.MEMORY: 2}
    ledger.release("s3", 1.0, output_tokens=3)
    assert admitted(ledger, 1.0) == ["s5"]


def test_the_watermark_is_never_leased() -> None:
    ledger = Ledger(Pool(100, 16, watermark=0.05), Policy())
    submit(ledger, *(ask(f"s{i}") for i in range(5)))
    assert len(admitted(ledger)) == 4
    assert ledger.state().leasable == 95


def test_what_can_never_fit_is_refused_at_once() -> None:
    ledger = Ledger(POOL, Policy())
    outcome = ledger.submit(ask("a", prompt=1600, output=1), 0.0)
    assert outcome is not None
    assert (outcome.reason, outcome.retry_after_seconds) == (Reason.TOO_LARGE, None)
    assert ledger.output_limit_tokens(1590) == 10
    assert ledger.output_limit_tokens(1700) == 0


def test_a_known_request_is_an_error() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, ask("a"))
    with pytest.raises(ValueError, match="a is known"):
        ledger.submit(ask("a"), 0.0)
    ledger.settle(0.0)
    with pytest.raises(ValueError, match="a is known"):
        ledger.submit(ask("a"), 0.0)


def test_a_full_queue_refuses_with_an_estimate() -> None:
    ledger = Ledger(POOL, Policy(queue_limit=1))
    submit(ledger, ask("a", output=1400))
    ledger.settle(0.0)
    submit(ledger, ask("b"))
    outcome = ledger.submit(ask("c"), 0.0)
    assert outcome is not None
    assert outcome.reason is Reason.QUEUE_FULL
    assert outcome.retry_after_seconds is not None
    assert outcome.retry_after_seconds >= 1.0


def test_the_estimate_is_when_enough_is_released() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, ask("first"))
    ledger.settle(0.0)
    ledger.release("first", 10.0)  # requests take ten seconds here
    submit(ledger, *(ask(f"s{i}") for i in range(5)), now=20.0)
    ledger.settle(20.0)
    assert ledger.estimated_wait_seconds(ask("next"), 24.0) == pytest.approx(6.0)


def test_a_deadline_refuses_and_says_when_to_come_back() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, *(ask(f"s{i}") for i in range(5)), ask("late", deadline_seconds=5.0))
    ledger.settle(0.0)
    assert ledger.next_change_seconds(0.0) == 5.0
    assert refused(ledger, 4.9) == {}
    assert refused(ledger, 5.0) == {"late": Reason.DEADLINE}
    assert ledger.counters.refused == {Reason.DEADLINE: 1}


def test_a_small_request_passes_a_large_one_until_patience_ends() -> None:
    ledger = Ledger(POOL, Policy(patience_seconds=30.0))
    submit(ledger, *(ask(f"s{i}") for i in range(4)))
    ledger.settle(0.0)
    submit(ledger, ask("large", output=800), ask("small"))
    assert admitted(ledger, 1.0) == ["small"]
    ledger.release("s0", 31.0)
    submit(ledger, ask("small2"), now=31.0)
    assert admitted(ledger, 31.0) == []
    for name in ("s1", "s2", "s3"):
        ledger.release(name, 32.0)
    assert admitted(ledger, 32.0) == ["large", "small2"]


def test_a_deadline_is_kept_behind_a_request_that_nothing_overtakes() -> None:
    ledger = Ledger(POOL, Policy(patience_seconds=30.0))
    submit(ledger, *(ask(f"s{i}") for i in range(5)))
    ledger.settle(0.0)
    submit(ledger, ask("large", output=1400), ask("late", deadline_seconds=40.0))
    ledger.settle(0.0)
    assert refused(ledger, 40.0) == {"late": Reason.DEADLINE}


def test_priority_goes_first_and_tenants_share() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, *(ask(f"greedy{i}", tenant="greedy") for i in range(5)))
    ledger.settle(0.0)
    submit(ledger, ask("greedy5", tenant="greedy"), ask("greedy6", tenant="greedy"))
    submit(ledger, ask("modest", tenant="modest"), ask("urgent", tenant="greedy", priority=5), now=1.0)
    order: list[str] = []
    for i in range(4):
        ledger.release(f"greedy{i}", 2.0)
        order += admitted(ledger, 2.0)
    assert order == ["urgent", "modest", "greedy5", "greedy6"]


def test_an_agent_that_holds_a_session_lease_outranks_a_new_one() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, ask("live.1"))
    ledger.settle(0.0)
    ledger.release("live.1", 1.0)
    submit(ledger, *(ask(f"s{i}") for i in range(5)), now=1.0)
    ledger.settle(1.0)
    submit(ledger, ask("new"), now=2.0)
    submit(ledger, ask("live.2"), now=3.0)
    ledger.release("s0", 4.0)
    assert admitted(ledger, 4.0) == ["live.2"]


def test_the_velocity_limit_holds_unless_nothing_runs() -> None:
    ledger = Ledger(POOL, Policy())
    ledger.set_context_limit(100)
    submit(ledger, ask("a"), ask("b"))
    assert admitted(ledger) == ["a"]
    assert ledger.state().waiting == {Reason.VELOCITY: 1}
    ledger.release("a", 1.0)
    assert admitted(ledger, 1.0) == ["b"]


def test_new_agents_wait_for_session_leases_and_live_ones_do_not() -> None:
    ledger = Ledger(POOL, Policy(idle_seconds=50.0))
    submit(ledger, ask("old.1"), ask("old2.1"))
    ledger.settle(0.0)
    ledger.set_session_share(0.25)  # each peak is ten blocks
    ledger.release("old.1", 1.0, output_tokens=0)
    submit(ledger, ask("new"), ask("old.2"), now=2.0)
    assert admitted(ledger, 2.0) == ["old.2"]
    assert ledger.state().waiting == {Reason.SESSIONS: 1}
    ledger.end_session("old2")  # it still runs, so that this changes nothing
    assert admitted(ledger, 3.0) == []
    ledger.release("old2.1", 3.0, output_tokens=0)
    ledger.end_session("old2")
    assert admitted(ledger, 3.0) == ["new"]


def test_an_idle_session_lease_ends_by_itself() -> None:
    ledger = Ledger(POOL, Policy(idle_seconds=50.0))
    submit(ledger, ask("old.1"), ask("busy", prompt=16, output=16))
    ledger.settle(0.0)
    ledger.release("old.1", 1.0, output_tokens=0)
    ledger.set_session_share(0.15)
    submit(ledger, ask("new"), now=2.0)
    assert admitted(ledger, 2.0) == []
    assert ledger.next_change_seconds(2.0) == pytest.approx(32.0)  # its patience, then the lease's end
    assert admitted(ledger, 50.9) == []
    assert admitted(ledger, 51.0) == ["new"]
    assert ledger.counters.session_expiries == 1


def test_a_lower_share_ends_the_youngest_leases_and_keeps_the_oldest() -> None:
    ledger = Ledger(POOL, Policy())
    for i in range(4):
        submit(ledger, ask(f"s{i}.1"), now=float(i))
        ledger.settle(float(i))
    ledger.set_session_share(0.2)
    assert ledger.state().sessions == 2
    ledger.set_session_share(0.0001)
    assert ledger.state().sessions == 1
    for i in range(4):
        ledger.release(f"s{i}.1", 5.0, output_tokens=0)
    submit(ledger, ask("busy", prompt=16, output=16, priority=9), now=6.0)
    submit(ledger, ask("s3.2"), ask("s0.2"), now=6.0)
    assert admitted(ledger, 6.0)[-1] == "s0.2"  # the oldest goes on


def test_a_new_agent_that_waited_very_long_ends_idle_leases() -> None:
    ledger = Ledger(POOL, Policy(idle_seconds=1e6, session_patience_seconds=100.0))
    submit(ledger, ask("busy", prompt=16, output=16))
    submit(ledger, ask("idle.1"))
    ledger.settle(0.0)
    ledger.release("idle.1", 1.0, output_tokens=0)
    ledger.set_session_share(0.12)
    submit(ledger, ask("new"), now=2.0)
    assert admitted(ledger, 101.0) == []
    assert admitted(ledger, 102.0) == ["new"]
    assert ledger.counters.session_breaks == 1


def test_expected_leases_learn_from_what_requests_wrote() -> None:
    history = History(enough=2)
    ledger = Ledger(POOL, Policy(reserve=Reserve.EXPECTED, tail_deviations=0.0), history)
    submit(ledger, ask("a", output=800))
    (first,) = ledger.settle(0.0)
    assert isinstance(first, Admitted)
    assert first.blocks == 60  # nothing is known: the limit itself
    ledger.release("a", 1.0, output_tokens=100)
    history.wrote("", 60)
    submit(ledger, ask("b", output=800), now=2.0)
    (second,) = ledger.settle(2.0)
    assert isinstance(second, Admitted)
    assert second.blocks == 15  # 160 + 80 tokens


def test_the_pooled_margin_grows_with_the_root_of_what_runs() -> None:
    history = History(enough=2)
    for tokens in (0, 320):  # mean 160, deviation 160: ten blocks each
        history.wrote("", tokens)
    policy = Policy(reserve=Reserve.EXPECTED, tail_deviations=1.0)
    ledger = Ledger(Pool(1000, 16), policy, history)
    submit(ledger, *(ask(f"s{i}", output=320) for i in range(4)))
    assert len(admitted(ledger)) == 4
    assert ledger.state().leased == 80
    assert ledger.state().tail == 20


def test_a_lease_grows_with_what_is_written_and_counts_what_it_cannot_hold() -> None:
    history = History(enough=1)
    history.wrote("", 16)
    policy = Policy(reserve=Reserve.EXPECTED, tail_deviations=0.0, renew_tokens=64)
    ledger = Ledger(Pool(30, 16), policy, history)
    submit(ledger, ask("a", output=480 - 160), ask("b", output=320))
    assert admitted(ledger) == ["a", "b"]
    assert ledger.state().leased == 22
    ledger.wrote("a", 16)
    assert ledger.state().leased == 22
    ledger.wrote("a", 17)
    assert ledger.state().leased == 27  # five more: one needed, four ahead
    ledger.wrote("a", 160)
    state = ledger.state()
    assert (state.leased, state.overrun) == (30, 1)
    assert ledger.counters.overruns == 1
    ledger.release("a", 1.0)
    ledger.release("b", 1.0)
    state = ledger.state()
    assert (state.leased, state.overrun, state.running_tokens, state.tail) == (0, 0, 0, 0)


def test_an_engine_that_restarts_frees_every_lease_and_keeps_the_queue() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, *(ask(f"s{i}") for i in range(6)))
    ledger.settle(0.0)
    assert sorted(ledger.restart(Pool(40, 16), 1.0)) == ["s0", "s1", "s2", "s3", "s4"]
    assert ledger.state().sessions == 0
    assert admitted(ledger, 1.0) == ["s5"]
    submit(ledger, ask("large", output=400), now=2.0)
    ledger.restart(Pool(10, 16), 3.0)
    assert refused(ledger, 3.0) == {"large": Reason.TOO_LARGE}


def test_giving_up_while_waiting_leaves_nothing_behind() -> None:
    ledger = Ledger(POOL, Policy())
    submit(ledger, *(ask(f"s{i}") for i in range(6)))
    ledger.settle(0.0)
    ledger.release("s5", 1.0)
    ledger.release("never seen", 1.0)
    ledger.release("s0", 1.0)
    assert ledger.settle(1.0) == []
    assert ledger.next_change_seconds(1.0) == math.inf
