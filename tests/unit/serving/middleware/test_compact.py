"""Compaction before an engine: what goes on, what comes back, and what the model reads back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_offload import OffloadService, Settings, open_service
from serving.compaction.compactor import Compactor
from serving.compaction.decisions import Decisions
from serving.compaction.dialects import Dialect
from serving.compaction.settings import CompactionMode, CompactionSettings, Retrieval
from serving.middleware.compact import CompactionMiddleware
from serving.middleware.demand import Counter
from tests.unit.serving.compaction.talk import (
    DIALECTS,
    PATHS,
    Said,
    ScriptedEngine,
    Turn,
    events,
    items,
    request,
    tokens_of,
    whole,
)
from tests.unit.serving.driving import ask, run

SOURCE = "".join(f"def area{i}(a, b):\n    return a * {i} + b\n\n\n" for i in range(60))
LOG = "".join(f"tests/test_a.py::test_{i} PASSED\n" for i in range(120)) + "=== 120 passed in 2.00s ===\n"
ROWS = json.dumps([{"city": f"c{i}", "total": i} for i in range(150)])
ON = CompactionSettings(mode=CompactionMode.ON, lease_tokens=4000, keep_tokens=300)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[OffloadService]:
    settings = Settings(
        store_dir=str(tmp_path / "store"), state_dir=str(tmp_path / "state"), roots=(str(tmp_path),),
        base_dir=str(tmp_path), workspace="here",
    )  # fmt: skip
    with open_service(settings) as opened:
        yield opened


class Gate(CompactionMiddleware):
    """The middleware with what it stands before."""

    def __init__(
        self, engine: ScriptedEngine, service: OffloadService, settings: CompactionSettings = ON
    ) -> None:
        self.engine = engine
        super().__init__(engine, Compactor(service, Decisions(None), settings), Counter(engine))


def turns(number: int) -> list[Turn]:
    """Reads, writes and runs, each larger than the threshold."""
    made: list[Turn] = []
    for i in range(number):
        kind = i % 3
        if kind == 0:
            call, result = (f"a{i}", "read", {"path": f"src/m{i}.py"}), SOURCE + f"# {i}\n"
        elif kind == 1:
            call = (f"a{i}", "write", {"file_path": f"src/n{i}.py", "content": SOURCE + f"# w{i}\n"})
            result = "written"
        else:
            call, result = (f"a{i}", "bash", {"command": "pytest"}), LOG + f"{i}\n"
        made.append(Turn((call,), (result,), text=f"Step {i}."))
    return made


def shown(dialect: Dialect, sent: dict[str, Any]) -> str:
    return json.dumps(items(dialect, sent), ensure_ascii=False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_small_history_passes_as_the_bytes_it_came_in(dialect: Dialect, service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        body = request(dialect, turns(1))
        answer = await ask(gate, PATHS[dialect], body)
        assert gate.engine.requests == [body]
        assert answer.json() == whole(dialect, Said("done"), 1)
        assert gate.status()["changed"] == 0

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_prompts_stay_under_the_lease_and_stable(dialect: Dialect, service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        steps = 0
        before: list[Any] = []
        for number in range(1, 22):
            body = request(dialect, turns(number), "read", "write", "bash")
            answer = await ask(gate, PATHS[dialect], body)
            assert answer.status == 200, answer.body
            sent = gate.engine.requests[-1]
            assert tokens_of(sent) <= ON.lease_tokens
            now = items(dialect, sent)
            assert len(now) == len(items(dialect, body))
            if gate.status()["steps"] == steps:
                assert now[: len(before)] == before, "only a step changes what was sent before"
            steps, before = gate.status()["steps"], now
            assert items(dialect, body)[-1] == now[-1], "what the model has not seen is not touched"
            assert items(dialect, body)[0] == now[0]
        assert tokens_of(body) > 3 * ON.lease_tokens
        assert 1 < steps < 12
        assert gate.status()["largest_prompt_tokens"] <= ON.lease_tokens

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_code_is_replaced_by_its_outline_and_reads_back(dialect: Dialect, service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        body = request(dialect, turns(7), "read", "write", "bash")
        await ask(gate, PATHS[dialect], body)
        text = shown(dialect, gate.engine.requests[-1])
        assert "f1#area0 f L1-2" in text
        assert "120 passed" in text
        handles = set(re.findall(r"handle\]\\+n([flt]\d+) ", text))
        stored = {service_text(service, handle) for handle in handles}
        assert SOURCE + "# 0\n" in stored
        assert SOURCE + "# w1\n" in stored

    run(work())


def service_text(service: OffloadService, handle: str) -> str:
    with service.content(handle) as content:
        return content.read().decode()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_choices_outlive_the_gate(dialect: Dialect, service: OffloadService, tmp_path: Path) -> None:
    async def work() -> None:
        sent = []
        for _ in range(2):
            engine = ScriptedEngine()
            decisions = Decisions(tmp_path / "compaction.sqlite3")
            gate = CompactionMiddleware(engine, Compactor(service, decisions, ON), Counter(engine))
            await ask(gate, PATHS[dialect], request(dialect, turns(7), "bash"))
            await ask(gate, PATHS[dialect], request(dialect, turns(8), "bash"))
            sent.append(engine.requests)
            decisions.close()
        assert sent[1][1] == sent[0][1]
        assert items(dialect, sent[1][0]) == items(dialect, sent[1][1])[: len(items(dialect, sent[1][0]))]

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_cannot_be_brought_under_the_lease_is_refused(dialect: Dialect, service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        huge = [*turns(3), Turn((("z", "bash", {"command": "cat"}),), (LOG * 12,))]
        answer = await ask(gate, PATHS[dialect], request(dialect, huge))
        assert answer.status == 400
        error = answer.json()["error"]
        assert re.search(r"prompt is too long: \d+ tokens > 4000 maximum", error["message"])
        assert error["type"] == "invalid_request_error"
        if dialect is Dialect.MESSAGES:
            assert answer.json()["type"] == "error"
        else:
            assert error["code"] == "context_length_exceeded"
        assert gate.engine.requests == []
        assert gate.status()["refused"] == 1

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_shadow_changes_nothing_and_tells(dialect: Dialect, service: OffloadService) -> None:
    async def work() -> None:
        settings = CompactionSettings(mode=CompactionMode.SHADOW, lease_tokens=2600)
        gate = Gate(ScriptedEngine(), service, settings)
        body = request(dialect, turns(9), "bash")
        answer = await ask(gate, PATHS[dialect], body)
        assert gate.engine.requests == [body]
        assert answer.json() == whole(dialect, Said("done"), 1)
        told = gate.status()
        assert (told["mode"], told["changed"], told["steps"], told["refused"]) == ("shadow", 1, 1, 0)
        assert told["saved_tokens"] > 2000
        assert told["largest_prompt_tokens"] <= 2600
        assert service.leases.known("session:x") is None

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_without_calls_of_ours_is_the_engines_own(
    dialect: Dialect, stream: bool, service: OffloadService
) -> None:
    async def work() -> None:
        said = Said("Let me see.", (("t1", "bash", {"command": "ls"}), ("t2", "read", {"path": "a"})))
        gate = Gate(ScriptedEngine([said]), service)
        body = request(dialect, turns(1), "bash", "read", stream=stream)
        answer = await ask(gate, PATHS[dialect], body)
        own = b"".join(events(dialect, said, 1)) if stream else json.dumps(whole(dialect, said, 1)).encode()
        assert answer.body == own
        assert answer.complete
        assert len(gate.engine.requests[0]["tools"]) == 5

    run(work())


def final(dialect: Dialect, answer: Any, *, stream: bool) -> tuple[str, list[tuple[str, str, Any]], str]:
    """Text, calls and the reason of the end, as a client reads them."""
    if stream:
        return _from_events(dialect, answer.body)
    told = answer.json()
    if dialect is Dialect.CHAT:
        message = told["choices"][0]["message"]
        calls = [
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls") or []
        ]
        return message["content"] or "", calls, told["choices"][0]["finish_reason"]
    if dialect is Dialect.MESSAGES:
        return _from_blocks(told["content"], told["stop_reason"])
    return _from_output(told["output"])


def _from_blocks(blocks: list[Any], reason: str) -> tuple[str, list[tuple[str, str, Any]], str]:
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    return text, [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"], reason


def _from_output(output: list[Any]) -> tuple[str, list[tuple[str, str, Any]], str]:
    text = "".join(item["content"][0]["text"] for item in output if item["type"] == "message")
    calls = [i for i in output if i["type"] == "function_call"]
    return text, [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in calls], ""


def _from_events(dialect: Dialect, raw: bytes) -> tuple[str, list[tuple[str, str, Any]], str]:
    payloads = [line[6:] for line in raw.decode().split("\n") if line.startswith("data: ")]
    if dialect is Dialect.CHAT:
        assert payloads.pop() == "[DONE]"
    told = [json.loads(data) for data in payloads]
    if dialect is Dialect.RESPONSES:
        assert [event["sequence_number"] for event in told] == list(range(len(told)))
        assert {e["response"]["id"] for e in told if "response" in e} == {"r1"}
        ended = told[-1]["response"]["output"]
        assert ended == [e["item"] for e in told if e["type"] == "response.output_item.done"]
        added = [e["output_index"] for e in told if e["type"] == "response.output_item.added"]
        assert added == list(range(len(added)))
        return _from_output(ended)
    if dialect is Dialect.CHAT:
        return _from_chunks(told)
    blocks: list[Any] = []
    for event in told:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta" and "text" in event["delta"]:
            blocks[event["index"]]["text"] += event["delta"]["text"]
        elif event["type"] == "content_block_delta":
            block = blocks[event["index"]]
            block["json"] = block.get("json", "") + event["delta"]["partial_json"]
    for block in blocks:
        if "json" in block:
            block["input"] = json.loads(block["json"])
    assert [event["type"] for event in told].count("message_start") == 1
    assert told[-1]["type"] == "message_stop"
    return _from_blocks(blocks, told[-2]["delta"]["stop_reason"])


def _from_chunks(told: list[Any]) -> tuple[str, list[tuple[str, str, Any]], str]:
    assert {chunk["id"] for chunk in told} == {"c1"}
    deltas = [chunk["choices"][0] for chunk in told if chunk["choices"]]
    text = "".join(one["delta"].get("content") or "" for one in deltas)
    calls: list[list[Any]] = []
    for one in deltas:
        for entry in one["delta"].get("tool_calls", []):
            if "id" in entry:
                assert entry["index"] == len(calls)
                calls.append([entry["id"], entry["function"]["name"], ""])
            calls[entry["index"]][2] += entry["function"]["arguments"]
    assert sum("role" in one["delta"] for one in deltas) == 1
    return text, [(c[0], c[1], json.loads(c[2])) for c in calls], deltas[-1]["finish_reason"]


def replaced_handle(dialect: Dialect, gate: Gate) -> str:
    found = re.search(r"\bf\d+\b", shown(dialect, gate.engine.requests[-1]))
    assert found
    return found[0]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_model_reads_back_what_was_replaced(
    dialect: Dialect, stream: bool, service: OffloadService
) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        await ask(gate, PATHS[dialect], request(dialect, turns(8), "bash"))
        handle = replaced_handle(dialect, gate)
        gate.engine.requests.clear()
        gate.engine.script = [
            Said("Reading. ", (("o1", "read_handle", {"handles": [f"{handle}#L5-6"]}),)),
            Said("", (("o2", "search_handles", {"pattern": "a \\* 41", "handles": [handle]}),)),
            Said("Found it.", (("t9", "bash", {"command": "ls"}),)),
        ]
        body = request(dialect, turns(8), "bash", stream=stream)
        answer = await ask(gate, PATHS[dialect], body)
        first, second, third = gate.engine.requests
        assert "return a * 1 + b" in json.dumps(items(dialect, second)[-1])
        assert "a * 41" in json.dumps(items(dialect, third)[-1])
        assert items(dialect, second)[: len(items(dialect, first))] == items(dialect, first)
        text, calls, reason = final(dialect, answer, stream=stream)
        assert text.split() == ["Reading.", "Found", "it."]
        assert calls == [("t9", "bash", {"command": "ls"})]
        assert reason in {"tool_calls", "tool_use", ""}
        assert gate.status()["retrievals"] == 2
        assert answer.complete

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_calls_of_ours_beside_the_clients_are_put_back(
    dialect: Dialect, stream: bool, service: OffloadService
) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        await ask(gate, PATHS[dialect], request(dialect, turns(8), "bash"))
        handle = replaced_handle(dialect, gate)
        ours = ("o1", "read_handle", {"handles": [f"{handle}#L5-6"]})
        theirs = ("t1", "bash", {"command": "ls"})
        gate.engine.script = [Said("Both.", (ours, theirs))]
        gate.engine.requests.clear()
        answer = await ask(gate, PATHS[dialect], request(dialect, turns(8), "bash", stream=stream))
        text, calls, _ = final(dialect, answer, stream=stream)
        assert (text.strip(), calls) == ("Both.", [theirs])
        for more in ((), turns(1)):
            history = [*turns(8), Turn((theirs,), ("a.py",), "Both."), *more]
            await ask(gate, PATHS[dialect], request(dialect, history, "bash"))
            text = shown(dialect, gate.engine.requests[-1])
            assert text.count('"o1"') == 2
            assert "return a * 1 + b" in text
            assert text.count('"t1"') == 2

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_reads_on_and_on_is_stopped(
    dialect: Dialect, stream: bool, service: OffloadService
) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        gate.engine.script = [Said("", ((f"o{i}", "read_handle", {"handles": ["f9"]}),)) for i in range(20)]
        answer = await ask(gate, PATHS[dialect], request(dialect, turns(1), "bash", stream=stream))
        assert len(gate.engine.requests) == ON.rounds + 1
        assert len(gate.engine.requests[-1]["tools"]) == 1, "the last one offers the client's tools alone"
        text, calls, reason = final(dialect, answer, stream=stream)
        assert (text, calls) == ("", [])
        assert reason in {"stop", "end_turn", ""}
        assert "No f9 in this workspace" in json.dumps(items(dialect, gate.engine.requests[1])[-1]), (
            "the error is told"
        )

    run(work())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_clients_own_tools_are_used(dialect: Dialect, service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        body = request(dialect, turns(8), "bash", "mcp__offload__read_handle")
        await ask(gate, PATHS[dialect], body)
        sent = gate.engine.requests[-1]
        assert sent["tools"] == body["tools"]
        assert "mcp__offload__read_handle reads all or parts" in shown(dialect, sent)

    run(work())


def test_a_clients_tools_in_a_namespace_are_its_own(service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        body = request(Dialect.RESPONSES, turns(8))
        inner = {"type": "function", "name": "read_handle", "parameters": {"type": "object"}, "strict": False}
        body["tools"] = [{"type": "namespace", "name": "mcp__offload", "tools": [inner]}]
        await ask(gate, PATHS[Dialect.RESPONSES], body)
        sent = gate.engine.requests[-1]
        assert sent["tools"] == body["tools"]
        assert "read_handle reads all or parts" in shown(Dialect.RESPONSES, sent)

    run(work())


def test_a_file_with_line_numbers_is_outlined_without_them(service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        numbered = "".join(f"{n:6}\u2192{line}\n" for n, line in enumerate(SOURCE.split("\n"), 1)) + "\nnote"
        read = Turn((("r", "Read", {"file_path": "/src/shop.py"}),), (numbered,))
        body = request(Dialect.MESSAGES, [read, *turns(8)], "bash")
        await ask(gate, PATHS[Dialect.MESSAGES], body)
        text = items(Dialect.MESSAGES, gate.engine.requests[-1])[2]["content"][0]["content"]
        found = re.search(
            r"\n(f\d+) shop.py with line numbers .*\n(f\d+) shop.py python .*\n\2#area0 f L1-2", text
        )
        assert found, text
        assert service_text(service, found[1]) == numbered
        assert service_text(service, f"{found[2]}#area3").startswith("def area3(a, b):\n    return a * 3 + b")

    run(work())


def test_a_path_is_no_handle(service: OffloadService, tmp_path: Path) -> None:
    async def work() -> None:
        (tmp_path / "secret.txt").write_text("secret\n")
        gate = Gate(ScriptedEngine(), service)
        call = ("o1", "read_handle", {"handles": ["secret.txt", str(tmp_path / "secret.txt")]})
        gate.engine.script = [Said("", (call,))]
        await ask(gate, PATHS[Dialect.CHAT], request(Dialect.CHAT, turns(1), "bash"))
        last = json.dumps(gate.engine.requests[-1]["messages"][-1])
        assert "is no handle of stored text" in last
        assert "secret\\n" not in last

    run(work())


def test_tenants_do_not_share(service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        scopes = [{"state": {"mcp_offload.tenant": name}, "headers": []} for name in ("a", "b", "")]
        assert [gate.workspace_of(scope) for scope in scopes] == ["tenant:a", "tenant:b", "here"]
        named = {"headers": [(b"x-mcp-offload-workspace", b"/src/shop")]}
        assert gate.workspace_of(named) == "/src/shop"
        assert gate.workspace_of({**named, **scopes[0], "headers": named["headers"]}) == "tenant:a"

    run(work())


def test_retrieval_that_is_forced_or_forbidden(service: OffloadService) -> None:
    async def work() -> None:
        for retrieval, added in ((Retrieval.GATE, 3), (Retrieval.CLIENT, 0)):
            settings = CompactionSettings(mode=CompactionMode.ON, retrieval=retrieval)
            gate = Gate(ScriptedEngine(), service, settings)
            await ask(gate, PATHS[Dialect.CHAT], request(Dialect.CHAT, turns(1), "mcp__x__read_handle"))
            assert len(gate.engine.requests[-1]["tools"]) == 1 + added

    run(work())


def test_what_cannot_be_counted_passes(service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(counts=False), service)
        body = request(Dialect.CHAT, turns(9))
        answer = await ask(gate, PATHS[Dialect.CHAT], body)
        assert answer.status == 200
        assert gate.engine.requests == [body]
        assert gate.status()["uncounted"] == 1

    run(work())


def test_the_size_of_the_context_is_reported(service: OffloadService) -> None:
    async def work() -> None:
        gate = Gate(ScriptedEngine(), service)
        await ask(gate, PATHS[Dialect.CHAT], request(Dialect.CHAT, turns(1)), x_mcp_offload_session="s1")
        await gate.reported()
        told = service.leases.of("session:s1").show()
        assert told.context_tokens == tokens_of(gate.engine.requests[-1])
        assert told.context_source == "gateway"

    run(work())
