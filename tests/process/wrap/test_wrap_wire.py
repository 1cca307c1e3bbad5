"""A wrapped server's wire, byte by byte: what passes as it came, and what is replaced."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.stdio.rig import CLIENT, ENVELOPE, ROOT
from tests.process.wrap.raw_upstream import ODD
from tests.process.wrap.wrapped import RAW, RawRig, offload, wrap_command

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]
READING = ["read_handle", "search_handles", "outline_handle"]


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[RawRig]:
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        yield rig


def stored(folder: Path, handle: str) -> bytes:
    """The exact bytes of a handle, as another process reads them."""
    command = offload(folder, "read", "--raw", handle)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return done.stdout


def test_a_small_result_passes_byte_for_byte(wire: RawRig) -> None:
    request = wire.ask("tools/call", {"name": "odd"})
    assert wire.line() == ODD % str(request).encode() + b"\n"


def test_what_is_no_tool_result_passes_whatever_its_size(wire: RawRig) -> None:
    answer = wire.answer(wire.ask("resources/read", {"uri": "x:y", "pad": "z" * 50_000}))
    assert answer["result"]["echo"]["params"]["pad"] == "z" * 50_000


def test_requests_reach_the_server_byte_for_byte(wire: RawRig) -> None:
    sent = b'{"id":"1\\u0041", "method":"prompts/get","params":{"name":"p","n":1.50e1},"jsonrpc":"2.0"}\n'
    wire.write(sent)
    echoed = json.loads(wire.line())
    assert echoed["id"] == "1A"
    assert echoed["result"]["echo"] == json.loads(sent)


def test_a_large_text_is_stored_exactly_and_replaced(wire: RawRig, tmp_path: Path) -> None:
    text = "".join(f"entry {n}: something happened, \u00fcber alles\n" for n in range(1, 4_000))
    result = wire.call_result("say", text=text)
    assert list(result) == ["content"]
    (block,) = result["content"]
    assert len(block["text"]) < 1_000
    assert "l1 say.log 3999L" in block["text"]
    assert stored(tmp_path, "l1") == text.encode()


def test_structured_content_never_leaks_past_a_short_text(wire: RawRig, tmp_path: Path) -> None:
    result = wire.call_result("structured", count=20_000)
    assert "structuredContent" not in result
    assert result["content"][0]["text"] == "short"
    assert len(json.dumps(result)) < 2_000
    # The server's own spelling, not one made from the values.
    assert stored(tmp_path, "f1") == b'{"n" : 1.50, "pad":"' + b"x y " * 20_000 + b'"}'


def test_the_reply_is_small_however_large_the_result(wire: RawRig, tmp_path: Path) -> None:
    request = wire.ask("tools/call", {"name": "big", "arguments": {"bytes": 10 << 20}})
    line = wire.line()
    assert json.loads(line)["id"] == request
    assert len(line) < 4_000
    assert len(stored(tmp_path, "l1")) == 10 << 20


def test_a_result_just_above_the_threshold_is_stored_and_one_below_is_not(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, "--threshold-tokens", "500"), tmp_path) as rig:
        rig.greet()
        # One token each: "a" and the space before the next belong together.
        assert rig.call("say", text=" a" * 500) == " a" * 500
        assert rig.call("say", text=" a" * 501).startswith("Stored, not shown")


def test_rules_for_single_tools(tmp_path: Path) -> None:
    options = ["--tool", "say=never", "--tool", "odd=always", "--tool", "structured=1000000"]
    with RawRig(wrap_command(tmp_path, *options), tmp_path) as rig:
        rig.greet()
        assert rig.call("say", text="word " * 20_000) == "word " * 20_000
        assert rig.call("odd").startswith("Stored, not shown")
        assert rig.call_result("structured", count=20_000)["structuredContent"]["n"] == 1.5


def test_the_list_promises_no_schema_where_a_result_may_be_replaced(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, "--tool", "odd=never"), tmp_path) as rig:
        rig.greet()
        first = rig.answer(rig.ask("tools/list"))["result"]
        second = rig.answer(rig.ask("tools/list", {"cursor": first["nextCursor"]}))["result"]
    assert {tool["name"]: "outputSchema" in tool for tool in first["tools"]} == {
        "odd": True,
        "say": False,
        "quiet": False,
    }
    assert [tool["name"] for tool in second["tools"]] == ["structured", *READING]


def test_without_tools_nothing_is_added_and_the_notice_says_where_they_are(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, "--no-tools"), tmp_path) as rig:
        rig.greet()
        rig.answer(rig.ask("tools/list"))
        last = rig.answer(rig.ask("tools/list", {"cursor": "2"}))["result"]
        assert [tool["name"] for tool in last["tools"]] == ["structured"]
        assert "with the tools of mcp-offload (read_handle" in rig.call("say", text="word " * 20_000)
        assert rig.call("read_handle", handles=["l1"]) == 'mine: {"handles": ["l1"]}'


def test_the_added_tools_read_what_was_stored(wire: RawRig) -> None:
    wire.call("say", text="".join(f"row {n}\n" for n in range(5_000)))
    assert wire.call("read_handle", handles=["l1#L11-12"]).split("\n")[1:] == ["row 10", "row 11"]
    assert "l1#L4322 row 4321" in wire.call("search_handles", pattern="row 4321")
    assert wire.call("outline_handle", handle="l1").startswith("l1 say.log 5000L")


def test_a_server_s_own_tool_keeps_its_name(tmp_path: Path) -> None:
    """Also where it is called before anything was listed, and in the words of a notice."""
    with RawRig(wrap_command(tmp_path), tmp_path, env={"RAW_TOOLS": "read_handle"}) as rig:
        rig.greet()
        assert rig.call("read_handle", handles=["x"]) == 'mine: {"handles": ["x"]}'
        notice = rig.call("say", text="word\n" * 20_000)
        assert "with offload_read_handle, search_handles, outline_handle:" in notice
        assert rig.call("offload_read_handle", handles=["l1#L1"]).endswith("\nword")
        rig.answer(rig.ask("tools/list"))
        listed = rig.answer(rig.ask("tools/list", {"cursor": "2"}))["result"]["tools"]
        assert [tool["name"] for tool in listed][1:] == ["read_handle", "offload_read_handle", *READING[1:]]


def test_every_tool_named_in_a_notice_is_listed(wire: RawRig) -> None:
    notice = wire.call("say", text="cell\n" * 9_000)
    named = notice.split("read parts with ")[1].split(":")[0].split(", ")
    listed = wire.answer(wire.ask("tools/list", {"cursor": "2"}))["result"]["tools"]
    assert set(named) <= {tool["name"] for tool in listed}


def test_handles_in_arguments_are_resolved_where_that_is_allowed(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, "--resolve", "echo_arguments"), tmp_path) as rig:
        rig.greet()
        rig.call("say", text="".join(f"row {n}\n" for n in range(5_000)))
        # This tool alone gives its own name back, so what it got is seen in what the other repeats.
        assert rig.call("echo_arguments", text="handle:l1#L3") == "echo_arguments"
        assert rig.call("say", text="handle:l1#L3") == "handle:l1#L3"


def test_a_resolved_argument_is_the_text_and_a_wrong_handle_reaches_nobody(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, "--resolve", "say"), tmp_path) as rig:
        rig.greet()
        rig.call("say", text="".join(f"row {n}\n" for n in range(5_000)))
        assert rig.call("say", text="handle:l1#L3") == "row 2\n"
        refused = rig.call_result("say", text="handle:f77")
        assert refused["isError"]
        assert refused["content"][0]["text"].startswith("The call was not made. No f77")


def test_empty_and_very_long_ids_give_two_handles(wire: RawRig, tmp_path: Path) -> None:
    """Of two results with the same tool, name and id none takes the other's place."""
    for number, request_id in enumerate(["", "", "n" * 1_400], 1):
        text = f"invoice {number}\n" * 3_000
        params = {"name": "say", "arguments": {"text": text}}
        wire.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})
        assert (
            wire.answer(request_id)["result"]["content"][0]["text"].split("\n")[1].startswith(f"l{number} ")
        )
    assert stored(tmp_path, "l1") == b"invoice 1\n" * 3_000


def test_foreign_markers_are_text(wire: RawRig, tmp_path: Path) -> None:
    text = "<<ccr:0123456789abcdef01234567 53_rows_offloaded>>\n[Archived:a1] f1#L1 handle:f1\n" * 900
    wire.call("say", text=text)
    assert stored(tmp_path, "l1") == text.encode()
    assert wire.call("say", text="<<ccr:0123456789abcdef01234567>>") == "<<ccr:0123456789abcdef01234567>>"


def test_results_that_pass_can_be_kept_for_searching(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, "--keep-all"), tmp_path) as rig:
        rig.greet()
        for text in ("the needle of middling size", "another one under the same label"):
            assert rig.call("say", text=text) == text
        assert "l1#L1 the needle" in rig.call("search_handles", pattern="needle")
        assert "l2#L1 another" in rig.call("search_handles", pattern="another")


def test_handles_outlive_the_process_that_gave_them(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        rig.call("say", text="kept\n" * 9_000)
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        assert rig.call("read_handle", handles=["l1#L9000"]).endswith("\nkept")


def test_what_cannot_be_stored_is_shown_and_said_to_be(tmp_path: Path) -> None:
    env = {"MCP_OFFLOAD_MAX_ARTIFACT_BYTES": "1000"}
    with RawRig(wrap_command(tmp_path), tmp_path, env=env) as rig:
        rig.greet()
        blocks = rig.call_result("say", text="word " * 20_000)["content"]
    assert blocks[0]["text"].startswith("Shown whole, because it could not be stored: ")
    assert blocks[1]["text"] == "word " * 20_000


def test_both_eras_reach_the_server(tmp_path: Path) -> None:
    """This server knows the older one alone; what it says of the newer is the client's to hear."""
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        discovered = rig.answer(rig.ask("server/discover", {"_meta": ENVELOPE}))
        assert discovered["result"]["echo"]["params"]["_meta"] == ENVELOPE
        greeting = rig.greet("2024-11-05")
    assert greeting["protocolVersion"] == "2024-11-05"
    assert greeting["serverInfo"]["name"] == "raw"
    assert "read parts with read_handle" in greeting["instructions"]


def test_it_is_the_server_itself_that_is_started(tmp_path: Path) -> None:
    with RawRig(RAW, tmp_path) as direct:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
        direct.ask("initialize", params)
        unwrapped = json.loads(direct.line())
    with RawRig(wrap_command(tmp_path, "--no-tools"), tmp_path) as rig:
        rig.ask("initialize", params)
        wrapped = json.loads(rig.line())
    del wrapped["result"]["instructions"]
    assert wrapped == unwrapped
