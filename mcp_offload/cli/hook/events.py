"""What each client's hooks are asked and may answer. Pure: JSON in, JSON out, and the work between told.

Sources: what the clients sent and how they took the answers, at the versions in
``docs/explanation/hooks.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from mcp_offload.cli.hook.shell import name_of, noisy, piped

Json: TypeAlias = "dict[str, Any]"

SMALL_BYTES: Final = 2_000
"""So much is shown as it is, without a look at it: no digest with a handle would be worth its price."""

_COPILOT_SAVED: Final = re.compile(
    r"Output too large to read at once \([^)\n]*\)\. Saved to: (/[^\n]*copilot-tool-output[^\n]*\.txt)\n"
)
_COPILOT_END: Final = re.compile(r"\n?<shellId: [^>\n]* completed with exit code (-?\d+)>\s*$")
_SPOOLED: Final = re.compile(r"^mcp-offload spooled (/\S+) as (.+)$", re.MULTILINE)


class Output(NamedTuple):
    """What a command printed, to be replaced where it is long.

    Attributes:
        text: as the client has it.
        file: where the client keeps the whole, or an empty text.
        spool: ``file`` was written by ``capture``, and is ours to take.
        name: of the artifact.
    """

    text: str
    name: str
    file: str = ""
    spool: bool = False


class Replace(NamedTuple):
    """Store ``output``; ``answer`` makes the client's answer of the text to show instead."""

    output: Output
    answer: Callable[[str], Json]


class Report(NamedTuple):
    """Tell the context lease that the context was compacted or cleared."""

    event: Literal["compacted", "cleared"]


Task: TypeAlias = "Json | Replace | Report | None"
"""An answer, work from which one comes, or nothing."""


def task(client: str, event: str, asked: Json, capture: Sequence[str], shell: str) -> Task:
    """What to do about an event; nothing where client or event is not known.

    ``asked`` is the client's JSON, ``capture`` the words of ``mcp-offload capture`` with its options,
    ``shell`` the name of the user's login shell.
    """
    found = _EVENTS.get((client, event))
    return found(asked, capture, shell) if found else None


def _claude_before(asked: Json, capture: Sequence[str], shell: str) -> Task:
    """Claude Code looks at every command of the new line as at any other: nothing is approved here."""
    given = _object(asked.get("tool_input"))
    if asked.get("tool_name") != "Bash" or given.get("run_in_background"):
        return None
    line = piped(str(given.get("command", "")), capture, merge_errors=True)
    if line is None:
        return None
    return _specific("PreToolUse", updatedInput={**given, "command": line})


def _claude_start(asked: Json, capture: Sequence[str], shell: str) -> Task:
    source = asked.get("source")
    return Report("compacted") if source == "compact" else Report("cleared") if source == "clear" else None


def _codex_before(asked: Json, capture: Sequence[str], shell: str) -> Task:
    """Codex wants an ``allow`` beside new input and asks its rules afterwards, about every command of it.

    Its rules see no command with a redirection, so errors are not merged into the output here.
    """
    if asked.get("tool_name") != "Bash" or shell not in {"bash", "zsh"}:
        return None
    given = _object(asked.get("tool_input"))
    line = piped(str(given.get("command", "")), [*capture, "--spool"], merge_errors=False)
    if line is None:
        return None
    return _specific("PreToolUse", permissionDecision="allow", updatedInput={**given, "command": line})


def _codex_after(asked: Json, capture: Sequence[str], shell: str) -> Task:
    """What ran in the sandbox could not store: its spool is taken up here, outside."""
    text = asked.get("tool_response")
    spooled = _SPOOLED.search(text) if isinstance(text, str) else None
    if asked.get("tool_name") != "Bash" or spooled is None:
        return None

    def answer(told: str) -> Json:
        return {"decision": "block", "reason": told}

    return Replace(Output(str(text), spooled[2], spooled[1], spool=True), answer)


def _gemini_before(asked: Json, capture: Sequence[str], shell: str) -> Task:
    """Gemini CLI asks its policies afterwards, about every command of the line.

    It always asks the user about a redirection, so errors are not merged into the output here.
    """
    given = _object(asked.get("tool_input"))
    if asked.get("tool_name") != "run_shell_command" or given.get("is_background"):
        return None
    line = piped(str(given.get("command", "")), capture, merge_errors=False)
    return None if line is None else _specific("BeforeTool", tool_input={**given, "command": line})


def _gemini_start(asked: Json, capture: Sequence[str], shell: str) -> Task:
    return Report("cleared") if asked.get("source") == "clear" else None


def _copilot_after(asked: Json, capture: Sequence[str], shell: str) -> Task:
    result = _object(asked.get("toolResult"))
    text = str(result.get("textResultForLlm", ""))
    words = noisy(_plain(str(_object(asked.get("toolArgs")).get("command", ""))))
    end = _COPILOT_END.search(text)
    if asked.get("toolName") != "bash" or words is None or end is None:
        return None
    saved = _COPILOT_SAVED.match(text)
    tail = text[end.start() :]

    def answer(told: str) -> Json:
        return {"modifiedResult": {**result, "textResultForLlm": told + tail}}

    saved = _COPILOT_SAVED.match(text)
    file = saved[1] if saved else ""
    return Replace(Output(text[: end.start()], name_of(words), file), answer)


def _opencode_after(asked: Json, capture: Sequence[str], shell: str) -> Task:
    """What our plugin sends: the command, the output and where opencode keeps the whole."""
    words = noisy(_plain(str(asked.get("command", ""))))
    if words is None:
        return None
    status = asked.get("exit")
    ended = f"\nexit {status}" if isinstance(status, int) else ""
    output = Output(str(asked.get("output", "")), name_of(words), str(asked.get("file") or ""))

    def answer(told: str) -> Json:
        return {"output": told + ended}

    return Replace(output, answer)


def _opencode_compacted(asked: Json, capture: Sequence[str], shell: str) -> Task:
    return Report("compacted")


_EVENTS: Final[Mapping[tuple[str, str], Callable[[Json, Sequence[str], str], Task]]] = {
    ("claude-code", "PreToolUse"): _claude_before,
    ("claude-code", "SessionStart"): _claude_start,
    ("codex", "PreToolUse"): _codex_before,
    ("codex", "PostToolUse"): _codex_after,
    ("codex", "SessionStart"): _claude_start,
    ("gemini", "BeforeTool"): _gemini_before,
    ("gemini", "SessionStart"): _gemini_start,
    ("copilot", "postToolUse"): _copilot_after,
    ("opencode", "after"): _opencode_after,
    ("opencode", "compacted"): _opencode_compacted,
}

KNOWN: Final = tuple(f"{client} {event}" for client, event in _EVENTS)
"""Every client and event for which there is something to do."""


def _specific(event: str, **values: object) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event, **values}}


def _object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _plain(line: str) -> str:
    """A line whose output is replaced may well have merged its errors into it."""
    return line.strip().removesuffix("2>&1")
