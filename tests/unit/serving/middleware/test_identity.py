"""Who a request comes from, by what clients really send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serving.compaction.dialects import GENERATING, Dialect
from serving.middleware.identity import Identity, identify

CLIENTS = json.loads((Path(__file__).with_name("data") / "clients.json").read_text("utf-8"))
"""Two conversations of each client as they came, long texts cut to their ends."""

USER = {"role": "user", "content": "Fix the test."}


@pytest.mark.parametrize(
    ("headers", "body", "session", "source", "agent_class"),
    [
        ({"x-mcp-offload-session": "s1"}, {"prompt_cache_key": "k"}, "s1", "header", ""),
        (
            {"x-claude-code-session-id": "c1", "user-agent": "claude-cli/2.1"},
            {},
            "c1",
            "claude-code",
            "claude-code",
        ),
        (
            {"x-claude-code-session-id": "c1", "x-claude-code-agent-id": "a7"},
            {},
            "c1:a7",
            "claude-code",
            "claude-code",
        ),
        ({}, {"metadata": {"user_id": "user_1_account__session_9f-2"}}, "9f-2", "claude-code", "claude-code"),
        (
            {},
            {"metadata": {"user_id": '{"device_id":"d","session_id":"j-3"}'}},
            "j-3",
            "claude-code",
            "claude-code",
        ),
        ({"session_id": "x1", "user-agent": "codex_cli_rs/0.98"}, {}, "x1", "codex", "codex"),
        (
            {"user-agent": "opencode/1.3"},
            {"prompt_cache_key": "ses_1"},
            "ses_1",
            "prompt_cache_key",
            "opencode",
        ),
        ({}, {"conversation": "conv_1"}, "conv_1", "conversation", ""),
        ({"x-mcp-offload-session": "s", "x-mcp-offload-class": "kernel"}, {}, "s", "header", "kernel"),
    ],
)
def test_what_clients_send(
    headers: dict[str, str], body: dict[str, Any], session: str, source: str, agent_class: str
) -> None:
    found = identify(Dialect.CHAT, headers, {"messages": [USER], **body}, "team")
    assert (found.session_id, found.source) == (f"team/{session}", source)
    assert found.agent_class == agent_class
    assert found.tenant == "team"


@pytest.mark.parametrize("dialect", Dialect)
def test_a_conversation_keeps_its_identity_as_it_grows(dialect: Dialect) -> None:
    def turn(more: list[Any], opening: str = "Fix the test.") -> str:
        messages = [{"role": "user", "content": opening}, *more]
        body = {
            "model": "m",
            "messages": messages,
            "input": messages,
            "prompt": opening,
            "system": "Be brief.",
        }
        return identify(dialect, {}, body).session_id

    grown = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks."}]
    assert turn([]) == turn(grown)
    assert turn([]) != turn([], "Write the docs.")


def test_tenants_never_share_a_session() -> None:
    body = {"messages": [USER]}
    assert (
        identify(Dialect.CHAT, {}, body, "a").session_id != identify(Dialect.CHAT, {}, body, "b").session_id
    )


@pytest.mark.parametrize(("sent", "priority"), [("3", 3), ("-99", -10), ("1e9", 0), ("", 0)])
def test_priority_is_bounded(sent: str, priority: int) -> None:
    assert identify(Dialect.CHAT, {"x-mcp-offload-priority": sent}, {}).priority == priority


@pytest.mark.parametrize("metadata", [None, [], "x", {"user_id": 5}, {"user_id": "{broken session"}])
def test_odd_bodies_are_no_error(metadata: Any) -> None:
    assert identify(Dialect.CHAT, {}, {"metadata": metadata, "messages": [None, 3]}).session_id


@pytest.mark.parametrize("recorded", CLIENTS, ids=lambda recorded: recorded["client"])
def test_every_request_of_a_conversation_and_no_other_is_the_same_agents(recorded: Any) -> None:
    conversations = [[_identity(request) for request in requests] for requests in recorded["conversations"]]
    sessions = [{identity.session_id for identity in conversation} for conversation in conversations]
    assert [len(session) for session in sessions] == [1, 1]
    assert sessions[0] != sessions[1]
    names = {identity.agent_class for conversation in conversations for identity in conversation}
    assert names == {{"qwen": "qwen-code"}.get(recorded["client"], recorded["client"])}


def test_a_client_that_names_its_conversation_is_not_told_by_its_prompt() -> None:
    sources = {each["client"]: _identity(each["conversations"][0][0]).source for each in CLIENTS}
    assert sources == {
        "claude-code": "claude-code", "codex": "codex", "opencode": "opencode",
        "qwen": "prefix", "copilot": "prefix",
    }  # fmt: skip


def test_agents_in_the_same_folder_are_told_apart_by_what_they_are_asked() -> None:
    (qwen,) = (each for each in CLIENTS if each["client"] == "qwen")
    request = qwen["conversations"][0][0]
    body = request["body"]
    asked = {**body, "messages": [*body["messages"][:-1], {"role": "user", "content": "Write the docs."}]}
    assert _identity(request).session_id != _identity({**request, "body": asked}).session_id


def test_a_codex_agents_thread_comes_before_the_session_it_shares() -> None:
    headers = {"session-id": "s", "thread-id": "t2", "user-agent": "codex_exec/0.171.0"}
    assert identify(Dialect.RESPONSES, headers, {"prompt_cache_key": "s"}).session_id == "/t2"


def _identity(request: Any) -> Identity:
    headers = {name.lower(): value for name, value in request["headers"].items()}
    return identify(GENERATING[request["path"].partition("?")[0]], headers, request["body"])
