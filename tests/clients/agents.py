"""The agent clients that are run: how each is pointed at a model on loopback and started without a person.

Sources: what each documents, and what was seen when it ran.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.clients.node import NodeEnvironment

SECONDS: Final = 240
"""The longest that one conversation may take."""


@dataclass(frozen=True)
class Agent:
    """One client.

    Attributes:
        id: its name for ``mcp-offload install``.
        package: its name on npm.
        program: what is started.
        arguments: of a conversation in which every tool of ours may run; ``{prompt}`` is filled in.
        careful: of one in which its shell may run ``pytest`` and no other command, where it has rules.
        variables: of the environment; ``{url}`` is the model's address.
        settings: writes what is needed into the home directory, given that and the model's address.
        prefix: of the names that it gives our tools.
        shell: the names of its tool for shell commands.
        command: what its shell is called with for a command.
    """

    id: str
    package: str
    program: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    settings: Callable[[Path, str], None]
    prefix: str
    shell: tuple[str, ...]
    command: Callable[[str], dict[str, Any]]
    careful: tuple[str, ...] = ()

    def line(self, node: NodeEnvironment, prompt: str, *, careful: bool = False) -> list[str]:
        """The command line of one conversation."""
        words = self.careful if careful else self.arguments
        return node.command(self.program, *(word.format(prompt=prompt) for word in words))

    def environment(self, node: NodeEnvironment, home: Path, url: str) -> dict[str, str]:
        """The variables of one conversation."""
        return node.variables(home, **{name: value.format(url=url) for name, value in self.variables.items()})


def _plainly(command: str) -> dict[str, Any]:
    return {"command": command}


def _described(command: str) -> dict[str, Any]:
    return {"command": command, "description": "as asked"}


def _nothing(home: Path, url: str) -> None:
    """All of it is in the environment."""


def _merge(path: Path, values: Mapping[str, Any]) -> None:
    """Put members into a file of JSON, as a person would have before our entry was added."""
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**old, **values}, indent=2) + "\n", encoding="utf-8")


def _claude(home: Path, url: str) -> None:
    _merge(home / ".claude.json", {"hasCompletedOnboarding": True})


def _codex(home: Path, url: str) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""# what a user has set
model = "scripted"
model_provider = "loopback"
approval_policy = "never"

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
""",
        encoding="utf-8",
    )


def _gemini(home: Path, url: str) -> None:
    _merge(
        home / ".gemini" / "settings.json",
        {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "general": {"enableAutoUpdate": False},
            "tools": {"allowed": ["run_shell_command(pytest)"]},
            "privacy": {"usageStatisticsEnabled": False},
        },
    )


def _qwen(home: Path, url: str) -> None:
    _merge(
        home / ".qwen" / "settings.json",
        {"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}},
    )


def _opencode(home: Path, url: str) -> None:
    _merge(
        home / ".config" / "opencode" / "opencode.json",
        {
            "autoupdate": False,
            "share": "disabled",
            "model": "loopback/scripted",
            "small_model": "loopback/scripted",
            "permission": {"*": "allow", "bash": {"*": "deny", "pytest *": "allow", "pytest": "allow"}},
            "provider": {
                "loopback": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "loopback",
                    "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
                    "models": {"scripted": {"name": "scripted", "tool_call": True}},
                }
            },
        },
    )


AGENTS: Final = {
    agent.id: agent
    for agent in (
        Agent(
            id="claude-code",
            package="@anthropic-ai/claude-code",
            program="claude",
            arguments=("-p", "{prompt}", "--allowedTools", "mcp__offload"),
            careful=("-p", "{prompt}", "--allowedTools", "Bash(pytest:*)"),
            variables={
                "ANTHROPIC_BASE_URL": "{url}",
                "ANTHROPIC_API_KEY": "x",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            settings=_claude,
            prefix="mcp__offload__",
            shell=("Bash",),
            command=_described,
        ),
        Agent(
            id="codex",
            package="@openai/codex",
            program="codex",
            arguments=("exec", "--skip-git-repo-check", "{prompt}"),
            careful=(
                *("exec", "--skip-git-repo-check", "-s", "workspace-write"),
                *("--dangerously-bypass-hook-trust", "{prompt}"),
            ),
            variables={"MODEL_KEY": "x"},
            settings=_codex,
            prefix="",
            shell=("exec_command",),
            command=lambda command: {"cmd": command, "yield_time_ms": 30_000},
        ),
        Agent(
            id="opencode",
            package="opencode-ai",
            program="opencode",
            arguments=("run", "{prompt}"),
            careful=("run", "{prompt}"),
            variables={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
            settings=_opencode,
            prefix="offload_",
            shell=("bash",),
            command=_described,
        ),
        Agent(
            id="gemini",
            package="@google/gemini-cli",
            program="gemini",
            arguments=("-m", "gemini-2.5-flash", "-y", "--skip-trust", "-p", "{prompt}"),
            careful=("-m", "gemini-2.5-flash", "--skip-trust", "-p", "{prompt}"),
            variables={"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "x"},
            settings=_gemini,
            prefix="mcp_offload_",
            shell=("run_shell_command",),
            command=_plainly,
        ),
        Agent(
            id="qwen",
            package="@qwen-code/qwen-code",
            program="qwen",
            arguments=("-y", "-p", "{prompt}"),
            variables={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "x", "OPENAI_MODEL": "scripted"},
            settings=_qwen,
            prefix="mcp__offload__",
            shell=("run_shell_command",),
            command=lambda command: {**_described(command), "is_background": False},
        ),
        Agent(
            id="copilot",
            package="@github/copilot",
            program="copilot",
            arguments=("-p", "{prompt}", "--allow-all-tools"),
            careful=("-p", "{prompt}", "--allow-tool", "shell(pytest)"),
            variables={
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
                "COPILOT_PROVIDER_API_KEY": "x",
                "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "100000",
                "COPILOT_MODEL": "scripted",
            },
            settings=_nothing,
            prefix="offload-",
            shell=("bash",),
            command=_described,
        ),
    )
}
"""By name, in the order in which they are told."""


def converse(
    line: list[str], variables: Mapping[str, str], project: Path
) -> subprocess.CompletedProcess[str]:
    """Run one conversation to its end."""
    return subprocess.run(
        line,
        cwd=project,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
