"""What crosses the pipes of a real server process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.interaction.requirements import covers
from tests.process.stdio.rig import CLIENT, ENVELOPE, Rig, ids, server_command

pytestmark = pytest.mark.process


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(server_command(tmp_path), tmp_path) as rig:
        yield rig


@covers("lifecycle-handshake")
@pytest.mark.parametrize(("asked", "given"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")])
def test_the_handshake_negotiates_and_the_sdk_goes_on_from_it(rig: Rig, asked: str, given: str) -> None:
    greeting = rig.greet(asked)
    assert greeting["protocolVersion"] == given
    early = rig.answer(rig.ask("tools/list"))["result"]
    rig.call("list_artifacts")  # not in this profile: answered by the SDK, which is up from here on
    assert rig.answer(rig.ask("tools/list"))["result"] == early
    assert "logging" not in greeting["capabilities"]


@covers("lifecycle-discover", "lifecycle-era")
def test_the_envelope_era_needs_no_handshake(rig: Rig) -> None:
    discovered = rig.answer(rig.ask("server/discover", {"_meta": ENVELOPE}))["result"]
    assert discovered["supportedVersions"] == ["2026-07-28"]
    assert {"ttlMs", "cacheScope", "resultType"} <= discovered.keys()
    call = {"name": "read_handle", "arguments": {"handles": ["f9"]}, "_meta": ENVELOPE}
    assert rig.answer(rig.ask("tools/call", call))["result"]["isError"] is True
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
    assert rig.answer(rig.ask("initialize", params))["error"]["code"] == -32022
    assert rig.answer(rig.ask("ping", {"_meta": ENVELOPE}))["error"]["code"] == -32601
    assert rig.answer(rig.ask("server/discover", {"_meta": ENVELOPE}))["result"] == discovered


@covers("lifecycle-era")
def test_the_handshake_era_refuses_envelopes(rig: Rig) -> None:
    rig.greet()
    assert rig.answer(rig.ask("server/discover", {"_meta": ENVELOPE}))["error"]["code"] == -32600
    assert rig.answer(rig.ask("tools/list", {"_meta": ENVELOPE}))["error"]["code"] == -32600
    assert "tools" in rig.answer(rig.ask("tools/list"))["result"]


@covers("lifecycle-era", "wire-once")
def test_an_impatient_client_that_tries_both_eras_gets_one_answer_to_each(rig: Rig) -> None:
    discover = rig.ask("server/discover", {"_meta": ENVELOPE})
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
    initialize = rig.ask("initialize", params)
    assert "supportedVersions" in rig.answer(discover)["result"]
    assert rig.answer(initialize)["error"]["code"] == -32022
    assert "tools" in rig.answer(rig.ask("tools/list", {"_meta": ENVELOPE}))["result"]
    rig.hang_up()
    assert rig.rest() == []


@covers("lifecycle-before-greeting")
def test_before_the_greeting_only_a_ping_is_served(rig: Rig) -> None:
    assert rig.answer(rig.ask("ping"))["result"] == {}
    assert rig.answer(rig.ask("tools/list"))["error"]["code"] == -32602
    assert rig.answer(rig.ask("tools/call", {"name": "read_handle"}))["error"]["code"] == -32602
    assert rig.greet()["protocolVersion"] == "2025-06-18"
    assert "tools" in rig.answer(rig.ask("tools/list"))["result"]


@covers("wire-once", "wire-purity")
def test_every_early_request_is_answered_once_and_in_order(rig: Rig) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
    asked = [rig.ask("initialize", params)]
    rig.tell("notifications/initialized")
    asked += [
        rig.ask(method) for method in ("ping", "tools/list", "ping", "resources/subscribe", "tools/list")
    ]
    last = rig.ask("tools/call", {"name": "read_handle", "arguments": {"handles": ["f9"]}})
    answers = []
    while not answers or answers[-1]["id"] != last:
        answers.append(rig.receive())
    assert sorted(ids(answers)) == [*asked, last]
    assert {one["id"] for one in answers if "error" in one} == {asked[4]}
    rig.hang_up()
    assert rig.rest() == []


@covers("wire-malformed", "wire-invalid")
def test_lines_that_are_no_messages_are_answered_and_the_connection_goes_on(rig: Rig) -> None:
    def check() -> None:
        rig.write(b"{broken\n")
        assert (rig.receive() or {})["error"]["code"] == -32700
        rig.write(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n')
        assert (rig.receive() or {})["error"]["code"] == -32600
        rig.write(b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n')
        assert (rig.receive() or {})["error"]["code"] == -32600
        rig.write(b'{"jsonrpc":"2.0","id":"p","method":"ping","params":[]}\n')
        answer = rig.receive() or {}
        assert (answer["id"], answer["error"]["code"]) == ("p", -32602)

    check()
    rig.greet()
    check()
    rig.call("list_artifacts")
    check()
    assert "tools" in rig.answer(rig.ask("tools/list"))["result"]


@covers("wire-invalid")
def test_what_only_the_sdk_refuses_is_answered_too(rig: Rig) -> None:
    rig.greet()
    rig.call("list_artifacts")
    assert rig.answer(rig.ask("tools/call", {"name": 5}))["error"]["code"] == -32602
    assert rig.answer(rig.ask("no/such/method"))["error"]["code"] == -32601
    nested: object = "x"
    for _ in range(400):
        nested = [nested]
    call = {"name": "read_handle", "arguments": {"handles": nested}}
    assert rig.answer(rig.ask("tools/call", call))["result"]["isError"] is True


@covers("wire-framing")
def test_line_ends_blank_lines_and_a_byte_order_mark_are_accepted(rig: Rig) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
    request = {"jsonrpc": "2.0", "id": "b", "method": "initialize", "params": params}
    rig.write(b"\xef\xbb\xbf" + json.dumps(request).encode() + b"\r\n\r\n\n  \n")
    assert rig.answer("b")["result"]["protocolVersion"] == "2025-06-18"
    rig.write(b'{"jsonrpc":"2.0","id":"c",')
    rig.write(b'"method":"ping"}\r\n')
    assert rig.answer("c")["result"] == {}


@covers("wire-surrogates", "reply-visible")
def test_a_lone_surrogate_ends_nothing(rig: Rig) -> None:
    rig.greet()
    rig.write(b'{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"store_artifact",')
    rig.write(b'"arguments":{"content":"half \\ud83d pair\\n","name":"s.txt"}}}\n')
    assert rig.answer("s")["result"]["isError"] is False
    assert "half \ufffd pair" in rig.call("read_handle", handles=["f1"])
    rig.write(b'{"jsonrpc":"2.0","id":"m","method":"no/\\udcff\\u001b"}\n')
    answer = rig.answer("m")
    assert answer["error"]["code"] == -32601
    assert "\x1b" not in json.dumps(answer, ensure_ascii=False)
    assert "\\u001b" not in json.dumps(answer)


@covers("wire-long-lines")
def test_a_request_of_ten_megabytes_is_answered(rig: Rig) -> None:
    rig.greet()
    content = "".join(f"line {n} of a long text\n" for n in range(450_000))
    assert len(content) > 10_000_000
    assert rig.call("store_artifact", content=content, name="long.log", kind="log").startswith("l1 long.log ")
    assert "line 449999 of a long text" in rig.call("read_handle", handles=["l1#L-1"])


# Each with the code of the error that answers it, 0 for a result, None where nothing answers.
PIECES: dict[str, int | None] = {
    '{"jsonrpc":"2.0","id":ID,"method":"ping"}': 0,
    '{"jsonrpc":"2.0","id":"ID","method":"tools/list","params":{}}': 0,
    '{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"read_handle"}}': 0,
    '{"jsonrpc":"2.0","id":"ID","method":"tools/call","params":{"name":"x","arguments":{"a":[1]}}}': 0,
    '{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{}}': -32602,
    '{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{"cursor":"c"}}': -32602,
    '{"jsonrpc":"2.0","id":ID,"method":"resources/subscribe","params":{"uri":"offload://here/f1"}}': -32601,
    '{"jsonrpc":"2.0","id":ID,"method":"\\ud800"}': -32601,
    '{"jsonrpc":"2.0","id":ID,"method":"ping","params":7}': -32602,
    '{"jsonrpc":"2.0","id":ID}': -32600,
    '{"jsonrpc":"2.0","id":null,"method":"ping"}': -32600,
    "[ID]": -32600,
    "{": -32700,
    "\ufeff": None,
    "": None,
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":ID}}': None,
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}': None,
    '{"jsonrpc":"2.0","method":"no/such"}': None,
    '{"jsonrpc":"2.0","id":ID,"result":{}}': None,
    '{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"m"}}': None,
    '{"jsonrpc":"2.0","id":ID,"result":5}': None,
}


@covers("wire-once", "wire-purity", "wire-invalid")
def test_any_mixture_of_lines_is_answered_line_by_line(rig: Rig) -> None:
    rig.greet()
    numbers = count(1_000_000)

    @given(st.lists(st.sampled_from(sorted(PIECES)), max_size=30))
    @settings(max_examples=60)
    def check(pieces: list[str]) -> None:
        lines = [piece.replace("ID", str(next(numbers))) for piece in pieces]
        expected = sorted(code for piece in pieces if (code := PIECES[piece]) is not None)
        rig.write("".join(f"{line}\n" for line in lines).encode())
        answers = [rig.receive() or {} for _ in expected]
        assert sorted(one["error"]["code"] if "error" in one else 0 for one in answers) == expected
        given_ids = [one["id"] for one in answers if one["id"] is not None]
        assert len(given_ids) == len(set(given_ids))
        assert rig.answer(rig.ask("ping"))["result"] == {}

    check()


@covers("wire-unread")
def test_a_client_that_does_not_read_gets_everything_in_the_end(rig: Rig) -> None:
    rig.greet()
    rig.call("list_artifacts")
    rig.reading.clear()
    asked = [rig.ask("tools/list") for _ in range(300)]
    rig.reading.set()
    answers = [rig.receive() for _ in asked]
    assert [one["id"] for one in answers if one] == asked


@covers("wire-purity")
def test_stray_output_of_the_process_does_not_touch_the_wire(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("", encoding="utf-8")
    code = (
        "import os, subprocess, sys, threading\n"
        "from mcp_offload.wire import front\n"
        "claim = front.claim_streams\n"
        "def claim_streams():\n"
        "    fds = claim()\n"
        "    print('stray print', flush=True)\n"
        "    os.write(1, b'stray write\\n')\n"
        "    subprocess.run([sys.executable, '-c', 'print(\"stray child\", input() if 0 else 1)'])\n"
        "    return fds\n"
        "front.claim_streams = claim_streams\n"
        "from mcp_offload.__main__ import main\n"
        "sys.exit(main())\n"
    )
    command = server_command(tmp_path)
    with Rig([command[0], "-c", code, *command[3:]], tmp_path) as rig:
        rig.greet()
        rig.call("list_artifacts")
        rig.hang_up()
        assert rig.rest() == []
        assert rig.status() == 0
    assert [word for word in ("print", "write", "child") if f"stray {word}" not in rig.errors()] == []
