"""The middleware before an engine: who waits, who passes, what goes through unchanged."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest

from serving.admission import Policy, Reason, Reserve
from serving.middleware import GateSettings, LeaseMiddleware, Mode, OnStale, Record
from tests.unit.serving.driving import ask, chat, run, send, until
from tests.unit.serving.engine import FakeEngine, events

ON = GateSettings(mode=Mode.ON, velocity_floor=None, scrape_seconds=3600.0, stale_seconds=1e9)
CHAT = "/v1/chat/completions"


class Records(list[Record]):
    def record(self, record: Record) -> None:
        self.append(record)


def lease(engine: FakeEngine, settings: GateSettings = ON, **more: Any) -> LeaseMiddleware:
    return LeaseMiddleware(engine, settings, **more)


def leased(gate: LeaseMiddleware) -> int:
    return sum(each.ledger.state().leased for each in gate.engine.gates.values())


def waiting(gate: LeaseMiddleware) -> int:
    return sum(sum(each.ledger.state().waiting.values()) for each in gate.engine.gates.values())


def test_an_answer_passes_and_the_lease_ends_with_it() -> None:
    async def work() -> None:
        records = Records()
        engine = FakeEngine()
        gate = lease(engine, recorder=records)
        answer = await ask(gate, CHAT, chat(), user_agent="opencode/1.0")
        assert answer.status == 200
        assert answer.json()["usage"]["completion_tokens"] == 3
        assert leased(gate) == 0
        (record,) = records
        assert (record.outcome, record.prompt_tokens, record.output_tokens) == ("answered", 160, 3)
        assert (record.leased_blocks, record.cached_tokens, record.output_exact) == (20, 8, True)
        assert (record.agent_class, record.session_source) == ("opencode", "prefix")
        assert json.loads(json.dumps(record.as_dict()))["path"] == CHAT
        await gate.close()

    run(work())


def test_a_stream_passes_byte_for_byte() -> None:
    async def work() -> None:
        engine = FakeEngine(chunks=[b'data: {"a":', b'"\xc3', b'\xa9"}\n\ndata: [DO', b"NE]\n\n"])
        gate = lease(engine)
        answer = await ask(gate, CHAT, chat(stream=True))
        assert answer.chunks == engine.chunks
        assert answer.headers["content-type"] == "text/event-stream"
        await gate.close()

    run(work())


def test_what_does_not_fit_waits_and_the_engine_never_holds_more_than_the_pool() -> None:
    async def work() -> None:
        engine = FakeEngine(hold=asyncio.Event())
        gate = lease(engine)
        running = [send(gate, CHAT, chat(f"{i:0160}")) for i in range(12)]
        await until(lambda: engine.running == 5 and waiting(gate) == 7)
        assert leased(gate) == 100
        assert engine.hold is not None
        engine.hold.set()
        await asyncio.gather(*(task for _, task in running))
        assert [exchange.status for exchange, _ in running] == [200] * 12
        assert engine.most == 5
        assert leased(gate) == 0
        await gate.close()

    run(work())


def test_a_client_that_leaves_frees_its_place_and_its_lease() -> None:
    async def work() -> None:
        records = Records()
        engine = FakeEngine(hold=asyncio.Event())
        gate = lease(engine, recorder=records)
        first = [send(gate, CHAT, chat(f"{i:0160}")) for i in range(5)]
        await until(lambda: engine.running == 5)
        late, late_task = send(gate, CHAT, chat("late" + "x" * 156))
        await until(lambda: waiting(gate) == 1)
        late.gone.set()
        await late_task
        assert waiting(gate) == 0
        first[0][0].gone.set()
        await asyncio.gather(first[0][1], return_exceptions=True)
        await until(lambda: engine.running == 4)
        assert engine.left == 1
        assert leased(gate) == 80
        assert [record.outcome for record in records] == ["left", "left"]
        assert engine.hold is not None
        engine.hold.set()
        await asyncio.gather(*(task for _, task in first[1:]))
        assert leased(gate) == 0
        await gate.close()

    run(work())


def test_a_deadline_answers_429_with_when_to_come_back() -> None:
    async def work() -> None:
        engine = FakeEngine(hold=asyncio.Event())
        gate = lease(engine, dataclasses.replace(ON, queue_seconds=0.0))
        _, task = send(gate, CHAT, chat("x" * 1440))
        await until(lambda: engine.running == 1)
        answer = await ask(gate, CHAT, chat("y" * 160))
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) >= 1
        error = answer.json()["error"]
        assert error["type"] == "rate_limit_error"
        assert "try again in" in error["message"]
        assert engine.hold is not None
        engine.hold.set()
        await task
        await gate.close()

    run(work())


@pytest.mark.parametrize(
    ("path", "body", "shape"),
    [
        (CHAT, chat("x" * 2000), "openai"),
        ("/v1/completions", {"model": "m", "prompt": "x" * 2000, "max_tokens": 5}, "openai"),
        ("/v1/responses", {"model": "m", "input": "x" * 2000}, "openai"),
        ("/v1/messages", chat("x" * 2000, output=5), "anthropic"),
    ],
)
def test_a_prompt_that_can_never_fit_is_refused_in_the_dialects_own_shape(
    path: str, body: Any, shape: str
) -> None:
    async def work() -> None:
        engine = FakeEngine()
        gate = lease(engine)
        answer = await ask(gate, path, body)
        assert answer.status == 400
        told = answer.json()
        assert ("type" in told) == (shape == "anthropic")
        assert "2,000 tokens can never fit" in told["error"]["message"]
        assert engine.requests == []
        await gate.close()

    run(work())


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (CHAT, chat(output=None), "max_tokens"),
        (CHAT, chat(output=None, max_completion_tokens=100_000), "max_completion_tokens"),
        ("/v1/responses", {"model": "m", "input": "x" * 160}, "max_output_tokens"),
        ("/v1/messages", chat(output=99_999), "max_tokens"),
    ],
)
def test_strict_leases_set_and_cap_the_output(path: str, body: Any, field: str) -> None:
    async def work() -> None:
        engine = FakeEngine()
        gate = lease(engine, dataclasses.replace(ON, max_output_tokens=300))
        assert (await ask(gate, path, body)).status == 200
        (sent,) = engine.requests
        assert sent[field] == 300
        assert {name for name in sent if "max" in name} == {field}
        await gate.close()

    run(work())


def test_expected_leases_leave_the_request_as_it_is() -> None:
    async def work() -> None:
        engine = FakeEngine()
        gate = lease(engine, dataclasses.replace(ON, policy=Policy(reserve=Reserve.EXPECTED)))
        assert (await ask(gate, CHAT, chat(output=None))).status == 200
        assert engine.requests == [chat(output=None)]
        await gate.close()

    run(work())


def test_several_answers_are_leased_several_times() -> None:
    async def work() -> None:
        records = Records()
        gate = lease(FakeEngine(), recorder=records)
        await ask(gate, CHAT, chat("x" * 16, output=16, n=4))
        assert records[0].leased_blocks == 8
        await gate.close()

    run(work())


def test_a_prompt_is_counted_once_however_often_it_comes() -> None:
    async def work() -> None:
        engine = FakeEngine()
        gate = lease(engine)
        await ask(gate, CHAT, chat())
        engine.render_status = 500
        assert (await ask(gate, CHAT, chat(temperature=0.5, stream=True))).status == 200
        assert (await ask(gate, CHAT, chat("other"))).status == 503  # strict leases need the count
        await gate.close()

    run(work())


def test_without_rendering_prompts_are_tokenized_and_nothing_passes_uncounted() -> None:
    async def work() -> None:
        engine = FakeEngine(render_status=403)
        records = Records()
        gate = lease(engine, recorder=records)
        assert (await ask(gate, CHAT, chat("x" * 170, output=None))).status == 200
        assert (await ask(gate, "/v1/messages", chat("y" * 171))).status == 200
        assert (await ask(gate, "/v1/completions", {"model": "m", "prompt": "z" * 172})).status == 200
        assert (await ask(gate, "/v1/completions", {"model": "m", "prompt": [1] * 173})).status == 200
        assert [record.prompt_tokens for record in records] == [170, 171, 172, 173]
        refused = await ask(gate, "/v1/responses", {"model": "m", "input": "x"})
        assert refused.status == 503
        assert "--enable-scale-out" in refused.json()["error"]["message"]
        assert engine.requests[0]["max_tokens"] == 1600 - 170  # what fits beside the prompt
        await gate.close()

    run(work())


@pytest.mark.parametrize(("status", "passes"), [(400, True), (500, False), (401, False)])
def test_only_a_request_that_the_engine_refuses_goes_on_uncounted(status: int, passes: bool) -> None:
    async def work() -> None:
        engine = FakeEngine(render_status=status)
        gate = lease(engine)
        answer = await ask(gate, CHAT, chat())
        assert len(engine.requests) == passes
        assert answer.status == (200 if passes else 503)
        await gate.close()

    run(work())


def test_shadow_mode_lets_everything_pass_and_counts_what_it_would_have_done() -> None:
    async def work() -> None:
        engine = FakeEngine(hold=asyncio.Event())
        gate = lease(engine, dataclasses.replace(ON, mode=Mode.SHADOW))
        running = [send(gate, CHAT, chat(f"{i:0160}", output=None)) for i in range(8)]
        await until(lambda: engine.running == 8)
        (rank,) = gate.engine.gates.values()
        assert sum(rank.delayed.values()) == 7  # each was given all that fits
        assert all("max_tokens" not in body for body in engine.requests)
        _, large = send(gate, CHAT, chat("x" * 2000))
        await until(lambda: engine.running == 9)
        assert rank.denied == {Reason.TOO_LARGE: 1}
        assert engine.hold is not None
        engine.hold.set()
        await asyncio.gather(large, *(task for _, task in running))
        assert leased(gate) == 0
        assert waiting(gate) == 0
        await gate.close()

    run(work())


def test_off_touches_nothing() -> None:
    async def work() -> None:
        engine = FakeEngine(metrics_status=500, render_status=500)
        gate = lease(engine, dataclasses.replace(ON, mode=Mode.OFF))
        assert (await ask(gate, CHAT, chat("x" * 9999))).status == 200
        await gate.close()

    run(work())


@pytest.mark.parametrize(("on_stale", "status"), [(OnStale.OPEN, 200), (OnStale.CLOSED, 503)])
def test_without_metrics_the_gate_fails_as_it_was_told(on_stale: OnStale, status: int) -> None:
    async def work() -> None:
        engine = FakeEngine(metrics_status=500)
        gate = lease(engine, dataclasses.replace(ON, on_stale=on_stale))
        answer = await ask(gate, CHAT, chat())
        assert answer.status == status
        if status == 503:
            assert "/metrics" in answer.json()["error"]["message"]
        else:
            assert gate.outcomes["bypassed"] == 1
        await gate.close()

    run(work())


def test_an_engine_that_restarts_frees_what_it_lost() -> None:
    async def work() -> None:
        engine = FakeEngine(hold=asyncio.Event())
        gate = lease(engine)
        running = [send(gate, CHAT, chat(f"{i:0160}")) for i in range(6)]
        await until(lambda: engine.running == 5 and waiting(gate) == 1)
        engine.started += 100
        await gate.engine.read()
        await until(lambda: engine.running == 6)
        assert leased(gate) == 20
        assert engine.hold is not None
        engine.hold.set()
        await asyncio.gather(*(task for _, task in running))
        assert leased(gate) == 0
        await gate.close()

    run(work())


def test_a_stream_that_waits_is_kept_alive_and_told_of_a_late_error() -> None:
    async def work() -> None:
        engine = FakeEngine(hold=asyncio.Event())
        gate = lease(engine, dataclasses.replace(ON, keep_alive_seconds=0.0))
        _, first_task = send(gate, CHAT, chat("x" * 1440))
        await until(lambda: engine.running == 1)
        waits, task = send(gate, CHAT, chat(stream=True))
        await waits.chunk.wait()
        assert waits.status == 200
        assert waits.chunks[0] == b": keep-alive\n\n"
        engine.answer_status = 400
        assert engine.hold is not None
        engine.hold.set()
        await asyncio.gather(first_task, task)
        assert b"the engine says no" in waits.body
        assert waits.body.endswith(b"data: [DONE]\n\n")
        assert waits.complete
        await gate.close()

    run(work())


def test_comments_never_stand_among_the_engines_own_bytes() -> None:
    async def work() -> None:
        engine = FakeEngine(hold=asyncio.Event())
        gate = lease(engine, dataclasses.replace(ON, keep_alive_seconds=0.0))
        waits, task = send(gate, CHAT, chat(stream=True))
        await waits.chunk.wait()
        assert engine.hold is not None
        engine.hold.set()
        await task
        kept = [chunk for chunk in waits.chunks if chunk != b": keep-alive\n\n"]
        assert kept == events()
        assert waits.chunks[-len(kept) :] == kept
        await gate.close()

    run(work())


@pytest.mark.parametrize("body", [b"{not json", b"[1]", b'"text"'])
def test_a_body_that_is_no_request_is_the_engines_to_refuse(body: bytes) -> None:
    async def work() -> None:
        seen: list[bytes] = []

        async def engine(scope: Any, receive: Any, out: Any) -> None:
            if scope["path"] == CHAT:
                seen.append((await receive())["body"])
            await out({"type": "http.response.start", "status": 400, "headers": []})
            await out({"type": "http.response.body", "body": b"", "more_body": False})

        gate = LeaseMiddleware(engine, ON)
        assert (await ask(gate, CHAT, body)).status == 400
        assert seen == [body]
        await gate.close()

    run(work())


def test_a_body_above_the_limit_is_refused() -> None:
    async def work() -> None:
        engine = FakeEngine()
        gate = lease(engine, dataclasses.replace(ON, body_limit_bytes=100))
        answer = await ask(gate, CHAT, chat())
        assert answer.status == 413
        assert "100 bytes" in answer.json()["error"]["message"]
        await gate.close()

    run(work())


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions/batch", {}, 403),
        (CHAT, chat(use_beam_search=True), 400),
        ("/v1/responses", {"model": "m", "input": "x", "previous_response_id": "r"}, 400),
        ("/v1/embeddings", {"model": "m", "input": "x"}, 200),
    ],
)
def test_strict_leases_let_nothing_past_that_cannot_be_leased(path: str, body: Any, status: int) -> None:
    async def work() -> None:
        engine = FakeEngine()
        gate = lease(engine)
        assert (await ask(gate, path, body)).status == status
        assert len(engine.requests) == (status == 200)
        await gate.close()

    run(work())


def test_a_session_stays_with_its_data_parallel_rank() -> None:
    async def work() -> None:
        engine = FakeEngine(ranks=2)
        gate = lease(engine)
        for turn in range(2):
            for session in "abcd":
                await ask(gate, CHAT, chat("x" * (16 + turn)), x_session_id=session)
        ranks = [headers["x-data-parallel-rank"] for headers in engine.headers]
        assert ranks[:4] == ranks[4:]
        assert sorted(ranks[:4]) == ["0", "0", "1", "1"]
        await gate.close()

    run(work())


def test_an_engine_error_is_no_sample_of_what_requests_write() -> None:
    async def work() -> None:
        records = Records()
        engine = FakeEngine(answer_status=500)
        gate = lease(engine, recorder=records)
        assert (await ask(gate, CHAT, chat())).status == 500
        assert records[0].outcome == "failed"
        (rank,) = gate.engine.gates.values()
        for _ in range(20):
            rank.ledger.history.wrote("", 7)
        assert rank.ledger.history.output("", 100) == (7.0, 0.0)
        assert leased(gate) == 0
        await gate.close()

    run(work())


def test_an_answer_that_breaks_off_is_a_failed_request() -> None:
    async def work() -> None:
        records = Records()
        engine = FakeEngine()

        async def breaking(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] != CHAT:
                await engine(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": events()[0], "more_body": True})
            raise ConnectionError("the engine ended its answer early")

        gate = LeaseMiddleware(breaking, ON, recorder=records)
        exchange, task = send(gate, CHAT, chat(stream=True))
        with pytest.raises(ConnectionError):
            await task
        assert (exchange.complete, exchange.chunks) == (False, events()[:1])
        assert [record.outcome for record in records] == ["failed"]
        assert (leased(gate), gate.outcomes) == (0, {"failed": 1})
        await gate.close()

    run(work())
