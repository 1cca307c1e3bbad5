"""Random conversations through the three dialects: no invalid message, no lost byte, no lease overrun."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types import MessageParam
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from mcp_offload import OffloadService, Settings, open_service
from serving.compaction.compactor import Compactor
from serving.compaction.decisions import Decisions
from serving.compaction.dialects import Dialect
from serving.compaction.settings import CompactionMode, CompactionSettings
from serving.compaction.slots import rewritten, slots, text_at
from serving.middleware.compact import CompactionMiddleware
from serving.middleware.demand import Counter
from tests.unit.serving.compaction.talk import (
    DIALECTS,
    PATHS,
    ScriptedEngine,
    Turn,
    items,
    request,
    tokens_of,
)
from tests.unit.serving.driving import ask

SMALL = CompactionSettings(
    mode=CompactionMode.ON, lease_tokens=2500, threshold_tokens=64, keep_tokens=100, notice_tokens=80
)
VALID = {
    Dialect.CHAT: TypeAdapter(list[ChatCompletionMessageParam]),
    Dialect.RESPONSES: TypeAdapter(list[ResponseInputItemParam]),
    Dialect.MESSAGES: TypeAdapter(list[MessageParam]),
}
"""The SDKs' own types."""

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def _long(text: str, times: int) -> str:
    return "\n".join(f"{text} {i}" for i in range(times))


CODE = ["def f(a):\n    return a", "E   assert 1 == 2", "x = {'a': 1}", "\u00e9\u2192 \r"]
texts = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=100, max_size=400),
    st.builds(_long, st.sampled_from(CODE), st.integers(5, 60)),
    st.builds(lambda n: json.dumps([{"id": i, "name": f"n{i}"} for i in range(n)]), st.integers(5, 60)),
    st.just("\ud800 half" * 40),
    st.just("a\x00b" * 80),
)
arguments = st.dictionaries(
    st.sampled_from(["path", "content", "file_path", "edits", "n", "patch", "command"]),
    st.one_of(
        texts,
        st.integers(),
        st.none(),
        st.just("src/a.py"),
        st.lists(st.fixed_dictionaries({"old": texts, "new": texts, "all": st.booleans()}), max_size=2),
    ),
    max_size=4,
)


@st.composite
def turn(draw: st.DrawFn, number: int, dialect: Dialect) -> Turn:
    count = draw(st.integers(0, 3))
    calls = tuple(
        (
            f"call_{number}_{i}",
            draw(st.sampled_from(["read", "write", "bash", "read_handle"])),
            draw(arguments),
        )
        for i in range(count)
    )
    results: list[Any] = []
    for _ in range(count):
        result: Any = draw(texts)
        if dialect is not Dialect.CHAT and draw(st.booleans()):
            result = [{"type": "text", "text": draw(texts)}, {"type": "text", "text": draw(texts)}]
        if dialect is Dialect.MESSAGES and isinstance(result, list):
            result.insert(1, {"type": "image", "source": PIXEL})
            result[0]["cache_control"] = {"type": "ephemeral"}
        results.append(result)
    return Turn(calls, tuple(results), draw(st.text(max_size=20)), draw(st.booleans()))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Dialect, list[Turn]]:
    dialect = draw(st.sampled_from(DIALECTS))
    return dialect, [draw(turn(number, dialect)) for number in range(draw(st.integers(1, 8)))]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OffloadService]:
    place = str(tmp_path_factory.mktemp("store"))
    opened = Settings(
        store_dir=f"{place}/store", state_dir=f"{place}/state", roots=(place,), base_dir=place, workspace="w"
    )
    with open_service(opened) as made:
        yield made


@given(conversation=conversations())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_conversations(conversation: tuple[Dialect, list[Turn]], service: OffloadService) -> None:
    asyncio.run(_converse(*conversation, service))


async def _converse(dialect: Dialect, turns: list[Turn], service: OffloadService) -> None:
    engine, decisions = ScriptedEngine(), Decisions(None)
    gate = CompactionMiddleware(engine, Compactor(service, decisions, SMALL), Counter(engine))
    before: list[Any] = []
    for number in range(1, len(turns) + 1):
        body = request(dialect, turns[:number], "bash")
        steps = gate.status()["steps"]
        engine.requests.clear()
        answer = await ask(gate, PATHS[dialect], body)
        await gate.reported()
        if answer.status == 400:
            assert "prompt is too long" in answer.json()["error"]["message"]
            assert not engine.requests
            before = []
            continue
        assert answer.status == 200
        (sent,) = engine.requests
        assert tokens_of(sent) <= SMALL.lease_tokens
        _check_valid(dialect, body, sent)
        _check_bytes(dialect, body, sent, service, decisions)
        if gate.status()["steps"] == steps:
            assert items(dialect, sent)[: len(before)] == before
        before = items(dialect, sent)
    decisions.close()


def _check_valid(dialect: Dialect, body: dict[str, Any], sent: dict[str, Any]) -> None:
    if "\\ud800" not in json.dumps(body):  # which the SDKs could not send either
        _consume(VALID[dialect].validate_python(items(dialect, sent)))
    for item in items(dialect, sent):
        for call in item.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def _check_bytes(
    dialect: Dialect,
    body: dict[str, Any],
    sent: dict[str, Any],
    service: OffloadService,
    decisions: Decisions,
) -> None:
    """With each text put back that its handle reads, the request is the client's own."""
    found = slots(dialect, body)
    kept = decisions.find("w", [slot.key for slot in found])
    back = {}
    for slot in found:
        there = text_at(sent, slot.path)
        if there == slot.text:
            continue
        assert slot.aged, "what the model has not seen is never touched"
        decision = kept[slot.key]
        assert there == decision.shown
        assert decision.handle in there
        with service.content(decision.handle) as content:
            back[slot.path] = content.read().decode()
    assert _parsed(dialect, items(dialect, rewritten(sent, back))) == _parsed(dialect, items(dialect, body))


def _parsed(dialect: Dialect, given: list[Any]) -> list[Any]:
    """The items with the JSON of arguments read, as its spaces may differ."""
    made: list[Any] = json.loads(json.dumps(given))
    for item in made:
        if dialect is Dialect.RESPONSES and "arguments" in item:
            item["arguments"] = json.loads(item["arguments"])
        for call in item.get("tool_calls", []):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return made


def _consume(value: Any) -> None:
    """Pydantic checks what it takes for an iterable only as it is read."""
    if isinstance(value, dict):
        for inner in value.values():
            _consume(inner)
    elif not isinstance(value, (str, bytes, int, float, bool, type(None))):
        for inner in value:
            _consume(inner)
