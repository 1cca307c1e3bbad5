"""Who may come in, which routes there are, and keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from serving.errors import ServingUsageError
from serving.gateway import keys as key_file
from serving.gateway.front import Front
from serving.gateway.history import History
from serving.gateway.keys import Keys
from tests.unit.serving.driving import ask, chat, run
from tests.unit.serving.engine import FakeEngine
from tests.unit.serving.gateway.test_history import STATUS

CHAT = "/v1/chat/completions"


class Seen:
    def __init__(self) -> None:
        self.tenants: list[str] = []
        self.engine = FakeEngine()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.tenants.append(scope["state"]["tenant"])
        await self.engine(scope, receive, send)


def front(keys: Keys) -> tuple[Front, Seen]:
    seen = Seen()
    made = Front(
        seen,
        keys=keys,
        status=lambda: {"mode": "on"},
        metrics=lambda: b"x 1\n",
        tenant_key="tenant",
        history=History(lambda: STATUS),
    )
    return made, seen


def test_a_key_opens_and_names_the_tenant(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "file.jsonl"
    secret = key_file.add(path, "alice", "research")
    other = key_file.add(path, "bob")
    assert path.stat().st_mode & 0o777 == 0o600
    assert secret not in path.read_text()
    app, seen = front(Keys.load(path))

    async def work() -> None:
        assert (await ask(app, CHAT, chat(), authorization=f"Bearer {secret}")).status == 200
        assert (await ask(app, CHAT, chat(), x_api_key=other)).status == 200
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {secret}"}):
            refused = await ask(app, CHAT, chat(), **headers)
            assert refused.status == 401
            assert refused.json()["error"]["type"] == "authentication_error"
        assert (await ask(app, "/v1/messages", chat())).json()["type"] == "error"
        assert (await ask(app, "/gate/status", method="GET")).status == 401
        assert (await ask(app, "/health", method="GET")).status == 200
        assert (await ask(app, "/", method="GET")).status == 200  # it holds nothing, and asks for the key

    run(work())
    assert seen.tenants == ["research", "bob", ""]


def test_keys_are_removed_and_names_are_unique(tmp_path: Path) -> None:
    path = tmp_path / "keys.jsonl"
    secret = key_file.add(path, "alice")
    with pytest.raises(ServingUsageError, match="exists"):
        key_file.add(path, "alice")
    with pytest.raises(ServingUsageError, match="is no name"):
        key_file.add(path, "a b")
    key_file.remove(path, "alice")
    with pytest.raises(ServingUsageError, match="no key named"):
        key_file.remove(path, "alice")
    assert Keys.load(path).tenant_of(secret) is None
    assert not Keys.load(tmp_path / "absent")


@pytest.mark.parametrize(("text", "mode", "told"), [("{", 0o600, "no key file"), ("", 0o644, "chmod 600")])
def test_a_key_file_that_is_wrong_is_said_to_be(tmp_path: Path, text: str, mode: int, told: str) -> None:
    path = tmp_path / "keys.jsonl"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(ServingUsageError, match=told):
        Keys.load(path)


def test_the_operators_routes_stay_inside() -> None:
    app, seen = front(Keys())

    async def work() -> None:
        for path in ("/sleep", "/collective_rpc", "/v1/load_lora_adapter", "/reset_prefix_cache"):
            assert (await ask(app, path, {})).status == 404
        assert seen.tenants == []
        assert (await ask(app, "/v1/models", method="GET")).status == 200
        assert (await ask(app, "/gate/status", method="GET")).json() == {"mode": "on"}
        assert (await ask(app, "/gate/metrics", method="GET")).body == b"x 1\n"
        page = await ask(app, "/", method="GET")
        assert page.headers["content-type"].startswith("text/html")
        assert b"Lease gate" in page.body

    run(work())
