"""Whatever is killed, and whenever: no lease stays, nobody waits for ever, the engine computes for no one."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.process.serving.rig import (
    ENDLESS,
    PATIENCE_SECONDS,
    Served,
    ask,
    body,
    children,
    client,
    engine,
    gate,
    rank,
    request,
    until_idle,
    until_waiting,
)

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.fixture
def behind() -> Iterator[Served]:
    with engine() as made:
        yield made


@pytest.fixture
def before(behind: Served) -> Iterator[Served]:
    with gate(behind) as made:
        yield made


def test_a_client_killed_before_its_first_byte_frees_its_lease(behind: Served, before: Served) -> None:
    with client(before.port, request(ENDLESS)) as first:
        assert behind.heard() == "began"
        assert rank(before.port)["running"] == 1
        first.kill()
        assert behind.heard() == "left"
        assert ask(before.port, body(pace=0.0))[0] == 200
    until_idle(before.port)


def test_a_client_killed_amid_a_stream_frees_its_lease(behind: Served, before: Served) -> None:
    with client(before.port, request(body(pace=0.01, stream=True))) as first:
        first.until('"content":" token"')
        first.kill()
        assert (behind.heard(), behind.heard()) == ("began", "left")
        assert ask(before.port, body())[0] == 200
    until_idle(before.port)


def test_a_client_killed_while_it_waits_gives_up_its_place(behind: Served, before: Served) -> None:
    with client(before.port, request(ENDLESS)) as running, client(before.port, request(ENDLESS)) as waiting:
        until_waiting(before.port, 1)
        waiting.kill()
        until_waiting(before.port, 0)
        running.kill()
        assert (behind.heard(), behind.heard()) == ("began", "left")
        assert ask(before.port, body())[0] == 200
        assert (behind.heard(), behind.heard()) == ("began", "served")  # the one that waited never ran
    until_idle(before.port)


def test_a_client_killed_amid_its_request_leaves_nothing(behind: Served, before: Served) -> None:
    with client(before.port, request(body())[:-50]) as first:
        first.kill()
        assert ask(before.port, body())[0] == 200
    assert (behind.heard(), behind.heard()) == ("began", "served")
    until_idle(before.port)


def test_killing_what_runs_lets_what_waits_run(behind: Served, before: Served) -> None:
    with (
        client(before.port, request(ENDLESS)) as running,
        client(before.port, request(body(3, stream=True))) as small,
        client(before.port, request(body(stream=True))) as large,
    ):
        small.until("[DONE]")  # it fits beside the first
        until_waiting(before.port, 1)
        running.kill()
        large.until("[DONE]")
    until_idle(before.port)
    assert sorted(behind.heard() for _ in range(6)) == ["began"] * 3 + ["left", "served", "served"]


def test_an_engine_that_dies_ends_its_streams_and_its_next_life_serves(
    before: Served, behind: Served
) -> None:
    with (
        client(before.port, request(body(pace=0.01, stream=True))) as running,
        client(before.port, request(body())) as waiting,
    ):
        running.until('"content":" token"')
        until_waiting(before.port, 1)
        behind.kill()
        rest = list(running.lines())  # it ends, and not as if it were whole
        assert "0" not in rest[-2:]
        assert not [line for line in rest if "[DONE]" in line]
        assert f"the engine at {behind.url} cannot be reached" in waiting.until('"error"')
    until_idle(before.port)
    with engine(behind.port, blocks=200):
        assert ask(before.port, body())[0] == 200
        until_idle(before.port)


def test_a_gate_that_dies_ends_what_it_had_the_engine_do_and_its_next_life_serves(
    behind: Served, before: Served
) -> None:
    with (
        client(before.port, request(ENDLESS)) as silent,
        client(before.port, request(body(400, pace=0.01, stream=True))) as streaming,
        client(before.port, request(body())) as waiting,
    ):
        streaming.until('"content":" token"')
        until_waiting(before.port, 1)
        assert children(before.process) == []
        before.kill()
        assert list(silent.lines()) == list(waiting.lines()) == []
        assert not [line for line in streaming.lines() if "[DONE]" in line]
    assert sorted(behind.heard() for _ in range(4)) == ["began", "began", "left", "left"]
    with gate(behind, port=before.port) as again:
        assert rank_after(again, body())["released"] == 1


def rank_after(made: Served, content: dict[str, object]) -> dict[str, int]:
    """The gate's state after one more request."""
    assert ask(made.port, content)[0] == 200
    until_idle(made.port)
    return rank(made.port)


def test_a_gate_told_to_end_lets_what_runs_and_what_waits_finish(behind: Served, before: Served) -> None:
    with (
        client(before.port, request(body(pace=0.001, stream=True))) as running,
        client(before.port, request(body(stream=True))) as waiting,
    ):
        running.until('"content":" token"')
        until_waiting(before.port, 1)
        before.process.send_signal(signal.SIGTERM)
        running.until("[DONE]")
        waiting.until("[DONE]")
    assert before.process.wait(PATIENCE_SECONDS) == -signal.SIGTERM  # as uvicorn ends, its work done
    assert sorted(behind.heard() for _ in range(4)) == ["began", "began", "served", "served"]
    with pytest.raises(ConnectionRefusedError):
        ask(before.port, body())


def test_an_idle_gate_told_to_end_ends_at_once(before: Served) -> None:
    assert rank_after(before, body())["admitted"] == 1
    before.process.send_signal(signal.SIGTERM)
    assert before.process.wait(PATIENCE_SECONDS) == -signal.SIGTERM  # as uvicorn ends, its work done


def test_a_client_that_asks_while_the_engine_is_away_is_told_so(behind: Served, before: Served) -> None:
    behind.kill()
    status, told = ask(before.port, body())
    # 502 of the forwarder where the gate never saw the engine, else 503 of the gate that cannot count.
    assert (status in {502, 503}, told["error"]["type"]) == (True, "engine_unavailable")
