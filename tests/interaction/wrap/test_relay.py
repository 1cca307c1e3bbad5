"""What the relay does when messages cross, lives end and clients change their mind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_offload.wire.canned import CAPABILITIES_KEY, VERSION_KEY
from tests.interaction.wrap.harness import Json, Server, plain, relayed

ENVELOPE = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


def test_a_new_life_is_greeted_as_the_first_was_and_told_what_still_holds(tmp_path: Path) -> None:
    with relayed(tmp_path) as client:
        client.greet()
        for method, params in (
            ("logging/setLevel", {"level": "debug"}),
            ("resources/subscribe", {"uri": "a:"}),
            ("resources/subscribe", {"uri": "b:"}),
            ("resources/unsubscribe", {"uri": "a:"}),
        ):
            client.ask(method, params)
            client.receive()
        client.lives[0].end()
        assert client.text("say", text="on") == "on"
        again = client.lives[1].sent
    assert [one["method"] for one in again] == [
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
        "resources/subscribe",
        "tools/call",
    ]
    assert again[0]["params"]["clientInfo"] == {"name": "c"}
    assert again[3]["params"] == {"uri": "b:"}
    # Whatever the client's next id is, it cannot be one of ours.
    assert all(str(one["id"]).startswith("mcp-offload:") for one in again[:4] if "id" in one)


def test_a_server_of_the_newer_era_needs_no_greeting(tmp_path: Path) -> None:
    with relayed(tmp_path) as client:
        client.call("say", meta=ENVELOPE, text="x")
        client.lives[0].end()
        client.call("say", meta=ENVELOPE, text="x")
        assert client.lives[1].methods() == ["tools/call"]


def test_the_end_of_a_life_answers_everything_that_waits(tmp_path: Path) -> None:
    with relayed(tmp_path) as client:
        client.greet()
        call = client.ask("tools/call", {"name": "quiet", "_meta": ENVELOPE})
        listen = client.ask("tools/call", {"name": "quiet"})
        client.lives[0].say({"id": "q1", "method": "roots/list"})
        assert client.receive()["method"] == "roots/list"
        client.lives[0].end()
        cancelled = client.receive()
        answers = {one["id"]: one["result"] for one in (client.receive(), client.receive())}
    assert cancelled["params"]["requestId"] == "q1"
    assert answers[call]["isError"]
    assert answers[call]["resultType"] == "complete"
    assert "resultType" not in answers[listen]
    assert answers[call]["content"][0]["text"].endswith("It printed last:\nthe last words")


def test_an_answer_to_a_former_life_reaches_nobody(tmp_path: Path) -> None:
    with relayed(tmp_path) as client:
        client.greet()
        client.lives[0].say({"id": "q1", "method": "roots/list"})
        client.receive()
        client.lives[0].end()
        client.receive()
        client.text("say", text="new life")
        client.tell({"id": "q1", "result": {"roots": []}})
        assert "answer" not in client.lives[1].methods()


def test_answers_that_nobody_waits_for_are_dropped(tmp_path: Path) -> None:
    with relayed(tmp_path) as client:
        client.greet()
        request = client.ask("tools/call", {"name": "quiet"})
        client.tell({"method": "notifications/cancelled", "params": {"requestId": request}})
        assert client.lives[0].sent[-1]["params"] == {"requestId": request}
        client.lives[0].say({"id": request, "result": {"content": []}})
        client.lives[0].say({"id": "never asked", "result": {}})
        assert client.text("say", text="next") == "next"


def test_silence_is_given_up_but_progress_and_questions_are_signs_of_life(tmp_path: Path) -> None:
    with relayed(tmp_path, silence_seconds=60.0) as client:
        client.greet()
        request = client.ask("tools/call", {"name": "quiet", "_meta": {"progressToken": "p"}})
        client.now += 50
        client.lives[0].say(
            {"method": "notifications/progress", "params": {"progressToken": "p", "progress": 1}}
        )
        client.receive()
        client.now += 50
        client.relay.expire()
        client.lives[0].say({"id": 9, "method": "elicitation/create", "params": {}})
        client.receive()
        client.now += 500
        client.relay.expire()
        assert client.relay.patience() == pytest.approx(60.0)
        client.tell({"id": 9, "result": {"action": "accept"}})
        client.now += 61
        client.relay.expire()
        given_up = client.receive()
        assert given_up["id"] == request
        assert "gave no sign of life for 60 s" in given_up["result"]["content"][0]["text"]
        assert client.lives[0].methods()[-1] == "notifications/cancelled"
        assert client.relay.patience() is None


def test_a_server_that_keeps_ending_is_let_be_and_then_tried_again(tmp_path: Path) -> None:
    def dies(server: Server, message: Json) -> None:
        server.end("ended with exit status 9")

    with relayed(tmp_path, dies) as client:
        texts = [client.text("say") for _ in range(6)]
        assert len(client.lives) == 5
        assert "again and again; it is not started for the next 60 s" in texts[5]
        client.now += 61
        client.text("say")
        assert len(client.lives) == 6


def test_a_life_that_ends_before_it_is_greeted_is_told_of(tmp_path: Path) -> None:
    def once(server: Server, message: Json) -> None:
        if client.lives[0] is server:
            plain(server, message)
        else:
            server.end("ended with exit status 5")

    with relayed(tmp_path, once) as client:
        client.greet()
        client.lives[0].end()
        text = client.text("say", text="x")
    assert "plain is not there: it ended with exit status 5." in text


def test_a_server_without_tools_is_greeted_as_it_is(tmp_path: Path) -> None:
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {"prompts": {}}, "instructions": "Mine."}

    def bare(server: Server, message: Json) -> None:
        if "id" in message:
            server.say({"id": message["id"], "result": greeting})

    with relayed(tmp_path, bare) as client:
        assert client.greet() == greeting


def test_the_result_of_a_task_is_replaced_as_its_call_s_would_be(tmp_path: Path) -> None:
    def tasks(server: Server, message: Json) -> None:
        result: Json = {"content": [{"type": "text", "text": "word " * 9_000}]}
        if message["method"] == "tools/call":
            result = {"task": {"taskId": "t1", "status": "working"}}
        server.say({"id": message["id"], "result": result})

    with relayed(tmp_path, tasks) as client:
        client.ask("tools/call", {"name": "long_one", "task": {"ttl": 1}})
        assert client.receive()["result"]["task"]["taskId"] == "t1"
        client.ask("tasks/result", {"taskId": "t1"})
        text = client.receive()["result"]["content"][0]["text"]
        client.ask("tasks/result", {"taskId": "another"})
        other = client.receive()["result"]["content"][0]["text"]
    assert "l1 long_one.log" in text
    assert other == "word " * 9_000


def test_what_more_input_is_asked_for_passes_as_it_is(tmp_path: Path) -> None:
    result = {"resultType": "input_required", "requestState": "s" * 50_000, "inputRequests": {"a": {}}}

    def asks(server: Server, message: Json) -> None:
        server.say({"id": message["id"], "result": result})

    with relayed(tmp_path, asks) as client:
        assert client.call("say") == result


def test_a_protocol_error_passes_as_it_is_unless_nobody_answered(tmp_path: Path) -> None:
    error: dict[str, Any] = {"code": -32602, "message": "wrong", "data": {"x": 1}}

    def refuses(server: Server, message: Json) -> None:
        server.say({"id": message["id"], "error": error})

    with relayed(tmp_path, refuses) as client:
        client.ask("tools/call", {"name": "a"})
        assert client.receive()["error"] == error
        error.update(code=-32000, message="Connection closed")
        assert "did not answer this call" in client.text("a")
        client.ask("prompts/list")
        assert client.receive()["error"]["message"] == "Connection closed"
