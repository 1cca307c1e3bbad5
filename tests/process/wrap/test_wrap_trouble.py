"""A wrapped server that crashes, hangs, floods, or leaves processes behind."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.process.stdio.rig import PATIENCE_SECONDS, Rig
from tests.process.wrap.wrapped import UPSTREAM, RawRig, wrap_command

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def test_a_crash_is_that_call_s_error_and_the_next_call_works(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        failed = rig.call_result("die", code=7)
        assert failed["isError"]
        text = failed["content"][0]["text"]
        assert text.startswith("raw ended with exit status 7 during this call, so whether it did anything")
        assert rig.call("say", text="back again") == "back again"
        rig.hang_up()
        assert rig.status() == 0
        # The new life was greeted as the first: what it prints of the notification is the proof.
        assert rig.errors().count("notifications/initialized") == 2


def test_a_crash_tells_the_server_s_last_words(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, server=UPSTREAM), tmp_path) as rig:
        rig.greet()
        first = rig.call("pid")
        assert rig.call("crash", code=3).endswith("It printed last:\nlast words of the upstream")
        assert rig.call("pid") != first


def test_a_crash_while_nothing_is_asked_costs_nothing(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, server=UPSTREAM), tmp_path) as rig:
        rig.greet()
        process = psutil.Process(int(rig.call("pid")))
        process.kill()
        psutil.wait_procs([process], timeout=PATIENCE_SECONDS)
        rig.call("echo", text="maybe during the end")
        assert rig.call("echo", text="surely after it") == "surely after it"


def test_other_requests_fail_with_a_protocol_error(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        quiet = rig.ask("tools/call", {"name": "quiet"})
        die = rig.ask("tools/call", {"name": "die"})
        answers = {message["id"]: message for message in (rig.receive(), rig.receive()) if message}
    assert answers[quiet]["result"]["isError"]
    assert answers[die]["result"]["isError"]


def test_a_server_that_cannot_be_started_is_told_of_at_once(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, server=["no-such-program-anywhere"]), tmp_path) as rig:
        error = rig.answer(rig.ask("initialize", {"protocolVersion": "2025-06-18"}))["error"]
        assert "there is no program 'no-such-program-anywhere'" in error["message"]
        rig.hang_up()
        assert rig.status() == 0


def test_a_server_that_keeps_dying_is_left_alone_after_a_few_times(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path), tmp_path, env={"RAW_DIES": "1"}) as rig:
        texts = []
        for _ in range(7):
            answer = rig.answer(rig.ask("initialize", {"protocolVersion": "2025-06-18"}))
            texts.append(answer["error"]["message"])
    assert "ended with exit status 9" in texts[0]
    assert "cannot find my database" in texts[0]
    assert "again and again; it is not started for the next" in texts[6]


def test_what_is_no_message_does_not_reach_the_client(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        assert rig.call("junk") == "clean"
        rig.hang_up()
        rig.status()
        assert "printed what is no message: b'Starting up... {not json'" in rig.errors()


def test_a_message_too_large_to_take_is_refused_and_the_next_one_taken(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        refused = rig.call_result("big", bytes=70 << 20)
        assert refused["isError"]
        assert "more than 67108864 are not taken" in refused["content"][0]["text"]
        assert rig.call("say", text="next") == "next"


def test_a_call_that_stays_silent_is_given_up(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, "--silence", "0.2"), tmp_path) as rig:
        rig.greet()
        request = rig.ask("tools/call", {"name": "quiet"})
        text = rig.answer(request)["result"]["content"][0]["text"]
        assert text.startswith("raw gave no sign of life for 0.2 s, so this call was cancelled")


def test_a_server_that_does_not_read_holds_up_nobody_else(tmp_path: Path) -> None:
    """What is sent to it waits in bounded memory; the client can still leave."""
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        assert rig.call("deaf") == "deaf now"
        for _ in range(3):
            rig.ask("tools/call", {"name": "say", "arguments": {"text": "x" * 1_000_000}})
        process = psutil.Process(rig.process.pid)
        below = process.children(recursive=True)
        rig.hang_up()
        assert rig.status() == 0
    assert _gone(below)


def test_a_flood_the_client_does_not_read_stays_with_the_server(tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        rig.reading.clear()
        request = rig.ask("tools/call", {"name": "flood", "arguments": {"count": 60_000}})
        server = _keeper_of(rig).children()[0]
        # It cannot have written it all (54 MB): it waits, which costs it no time.
        before = -1.0
        while (now := sum(server.cpu_times()[:2])) != before:
            before = now
            os.waitid(os.P_PID, rig.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            psutil.cpu_percent(interval=0.3)
        held = psutil.Process(rig.process.pid).memory_info().rss
        rig.reading.set()
        messages = 0
        while (message := rig.receive()) is not None and "id" not in message:
            messages += 1
        assert message is not None
        assert message["id"] == request
    assert messages == 60_000
    assert held < 120 << 20


def _keeper_of(rig: Rig) -> psutil.Process:
    """The process between ours and the server's."""
    children = psutil.Process(rig.process.pid).children()
    return next(child for child in children if "mcp_offload.wrap.keeper" in " ".join(child.cmdline()))


def _gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_SECONDS)
    return alive == []


def _hang_up(rig: Rig) -> None:
    rig.hang_up()


def _sigterm(rig: Rig) -> None:
    rig.process.send_signal(signal.SIGTERM)


def _sigkill(rig: Rig) -> None:
    rig.process.kill()


def _kill_the_keeper(rig: Rig) -> None:
    _keeper_of(rig).kill()
    rig.hang_up()


def _kill_both(rig: Rig) -> None:
    keeper = _keeper_of(rig)
    rig.process.kill()
    keeper.terminate()


@pytest.mark.parametrize("end", [_hang_up, _sigterm, _sigkill, _kill_the_keeper, _kill_both])
def test_no_process_of_the_server_s_is_left(end: Callable[[Rig], None], tmp_path: Path) -> None:
    with RawRig(wrap_command(tmp_path, server=UPSTREAM), tmp_path) as rig:
        rig.greet()
        below = psutil.Process(rig.process.pid).children(recursive=True)
        end(rig)
        rig.status()
    assert len(below) >= 2
    assert _gone(below)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to the keeper")
@pytest.mark.parametrize("end", [_hang_up, _sigterm, _sigkill])
def test_what_the_server_started_ends_with_it(end: Callable[[Rig], None], tmp_path: Path) -> None:
    """Even a process in a session of its own, which no signal to a group reaches."""
    with RawRig(wrap_command(tmp_path, server=UPSTREAM), tmp_path) as rig:
        rig.greet()
        left = psutil.Process(int(rig.call("child")))
        end(rig)
        rig.status()
    assert _gone([left])


def test_a_killed_process_of_ours_loses_no_result_that_was_answered(tmp_path: Path) -> None:
    text = "".join(f"row {n}\n" for n in range(6_000))
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        assert "l1 say.log 6000L" in rig.call("say", text=text)
        rig.process.kill()
        rig.status()
    with RawRig(wrap_command(tmp_path), tmp_path) as rig:
        rig.greet()
        assert json.dumps(rig.call("search_handles", pattern="row 5999")).count("l1#L6000") == 1
