"""What each client's hooks are answered. The events are what the clients sent."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_offload.cli.hook.events import KNOWN, Replace, Report, task

CAPTURE = ["/opt/py", "-P", "-m", "mcp_offload", "capture"]


def _ask(client: str, event: str, asked: dict[str, Any], shell: str = "bash") -> Any:
    return task(client, event, asked, CAPTURE, shell)


def _bash(command: str, **more: object) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command, **more}}


def test_claude_code_is_given_a_new_line_and_no_approval() -> None:
    answer = _ask("claude-code", "PreToolUse", _bash("make", description="x", timeout=5))
    assert answer == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {
                "command": "set -o pipefail; make 2>&1 | /opt/py -P -m mcp_offload capture --name make",
                "description": "x",
                "timeout": 5,
            },
        }
    }
    assert _ask("claude-code", "PreToolUse", _bash("make", run_in_background=True)) is None
    assert _ask("claude-code", "PreToolUse", _bash("ls")) is None
    assert (
        _ask("claude-code", "PreToolUse", {"tool_name": "Write", "tool_input": {"command": "make"}}) is None
    )


def test_codex_is_given_no_redirection_which_would_hide_the_command_from_its_rules() -> None:
    answer = _ask("codex", "PreToolUse", _bash("make"))["hookSpecificOutput"]
    line = "set -o pipefail; make | /opt/py -P -m mcp_offload capture --spool --name make"
    assert answer["updatedInput"] == {"command": line}
    assert _ask("codex", "PreToolUse", _bash("make"), shell="fish") is None


def test_codex_has_a_spool_taken_up() -> None:
    said = "mcp-offload spooled /tmp/s/0f.out as make all\n30000 bytes; the last of them:\nx"
    found = _ask("codex", "PostToolUse", {**_bash("make"), "tool_response": said})
    assert isinstance(found, Replace)
    assert (found.output.file, found.output.name, found.output.spool) == ("/tmp/s/0f.out", "make all", True)
    assert found.answer("told") == {"decision": "block", "reason": "told"}
    assert _ask("codex", "PostToolUse", {**_bash("make"), "tool_response": "fine"}) is None
    assert _ask("codex", "PostToolUse", {**_bash("make"), "tool_response": {"odd": 1}}) is None


def test_gemini_is_given_a_new_line() -> None:
    asked = {"tool_name": "run_shell_command", "tool_input": {"command": "make", "dir_path": "x"}}
    answer = _ask("gemini", "BeforeTool", asked)["hookSpecificOutput"]
    line = "set -o pipefail; make | /opt/py -P -m mcp_offload capture --name make"
    assert answer["tool_input"] == {"command": line, "dir_path": "x"}


def _copilot(text: str, command: str = "make") -> Any:
    result = {"resultType": "success", "textResultForLlm": text}
    return _ask(
        "copilot", "postToolUse", {"toolName": "bash", "toolArgs": {"command": command}, "toolResult": result}
    )


def test_copilot_has_its_output_replaced_and_its_end_kept() -> None:
    found = _copilot("one\ntwo\n<shellId: 0 completed with exit code 2>")
    assert isinstance(found, Replace)
    assert (found.output.text, found.output.file) == ("one\ntwo", "")
    assert found.answer("told") == {
        "modifiedResult": {
            "resultType": "success",
            "textResultForLlm": "told\n<shellId: 0 completed with exit code 2>",
        }
    }
    assert _copilot("still running") is None
    assert _copilot("x\n<shellId: 0 completed with exit code 0>", "cat x") is None


def test_copilot_has_a_long_output_in_a_file() -> None:
    file = "/tmp/1-copilot-tool-output-2-a.txt"
    head = f"Output too large to read at once (106.3 KB). Saved to: {file}\nConsider using tools"
    found = _copilot(f"{head}\nPreview\n1\n<shellId: 0 completed with exit code 0>")
    assert found.output.file == file
    # What a command prints itself is never taken for that.
    assert _copilot(f"x\n{head}\n<shellId: 0 completed with exit code 0>").output.file == ""


def test_opencode_is_told_the_status_too() -> None:
    asked = {"command": "make 2>&1", "output": "x", "file": "/data/out", "exit": 2}
    found = _ask("opencode", "after", asked)
    assert found.output.file == "/data/out"
    assert found.answer("told") == {"output": "told\nexit 2"}
    assert _ask("opencode", "after", {**asked, "exit": None}).answer("told") == {"output": "told"}
    assert _ask("opencode", "after", {**asked, "command": "cat x"}) is None


@pytest.mark.parametrize(
    ("client", "event", "asked", "told"),
    [
        ("claude-code", "SessionStart", {"source": "compact"}, Report("compacted")),
        ("claude-code", "SessionStart", {"source": "clear"}, Report("cleared")),
        ("claude-code", "SessionStart", {"source": "startup"}, None),
        ("codex", "SessionStart", {"source": "compact"}, Report("compacted")),
        ("gemini", "SessionStart", {"source": "clear"}, Report("cleared")),
        ("gemini", "SessionStart", {"source": "startup"}, None),
        ("opencode", "compacted", {}, Report("compacted")),
    ],
)
def test_a_context_that_began_anew_is_reported(
    client: str, event: str, asked: dict[str, Any], told: Report | None
) -> None:
    assert _ask(client, event, asked) == told


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"tool_name": "Bash"},
        {"tool_name": "Bash", "tool_input": None},
        {"toolArgs": "x", "toolResult": 1},
    ],
)
def test_what_is_not_understood_is_left_alone(known: str, asked: dict[str, Any]) -> None:
    client, event = known.split()
    found = _ask(client, event, asked)
    assert found is None or isinstance(found, Report)
    assert _ask(client, "Unknown", asked) is None
