"""The agent clients that are run: how each is pointed at a model on loopback and started without a person.

Sources: what each documents, and what was seen when it ran.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.clients.node import NodeEnvironment

SECONDS: Final = 120
"""The longest that one conversation may take."""


@dataclass(frozen=True)
class Agent:
    """One client.

    Attributes:
        id: its name for ``mcp-offload install``.
        package: its name on npm.
        program: what is started.
        arguments: with ``{prompt}``.
        variables: of the environment; ``{url}`` is the model's address.
        settings: writes what is needed into the home directory, given that and the model's address.
        shell: the names of its tool for shell commands, and which argument holds the command.
        tool: what it makes of the name of a tool of ours; a prefix.
    """

    id: str
    package: str
    program: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    settings: Callable[[Path, str], None]
    shell: tuple[tuple[str, ...], str] = (("bash",), "command")
    more: Mapping[str, Any] = field(default_factory=dict)
    tool: str = ""

    def line(self, environment: NodeEnvironment, prompt: str) -> list[str]:
        """The command line of one conversation."""
        return environment.command(self.program, *(part.format(prompt=prompt) for part in self.arguments))

    def environment(self, node: NodeEnvironment, home: Path, url: str) -> dict[str, str]:
        """The variables of one conversation."""
        return node.variables(home, **{name: value.format(url=url) for name, value in self.variables.items()})


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
            "permission": {"*": "allow"},
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
            arguments=("-p", "{prompt}", "--allowedTools", "mcp__offload", "--output-format", "json"),
            variables={
                "ANTHROPIC_BASE_URL": "{url}",
                "ANTHROPIC_API_KEY": "x",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            settings=_claude,
            shell=(("Bash",), "command"),
            tool="mcp__offload__",
        ),
        Agent(
            id="codex",
            package="@openai/codex",
            program="codex",
            arguments=("exec", "--skip-git-repo-check", "{prompt}"),
            variables={"MODEL_KEY": "x"},
            settings=_codex,
            shell=(("shell_command", "exec_command"), "command"),
            tool="",
        ),
        Agent(
            id="opencode",
            package="opencode-ai",
            program="opencode",
            arguments=("run", "{prompt}"),
            variables={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
            settings=_opencode,
            more={"description": "as asked"},
            tool="offload_",
        ),
        Agent(
            id="gemini",
            package="@google/gemini-cli",
            program="gemini",
            arguments=("-y", "--skip-trust", "-p", "{prompt}"),
            variables={"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "x"},
            settings=_gemini,
            shell=(("run_shell_command",), "command"),
            tool="mcp_offload_",
        ),
        Agent(
            id="qwen",
            package="@qwen-code/qwen-code",
            program="qwen",
            arguments=("-y", "-p", "{prompt}"),
            variables={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "x", "OPENAI_MODEL": "scripted"},
            settings=_qwen,
            shell=(("run_shell_command",), "command"),
            more={"is_background": False, "description": "as asked"},
            tool="mcp__offload__",
        ),
        Agent(
            id="copilot",
            package="@github/copilot",
            program="copilot",
            arguments=("-p", "{prompt}", "--allow-all-tools"),
            variables={
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
                "COPILOT_PROVIDER_API_KEY": "x",
                "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "100000",
                "COPILOT_MODEL": "scripted",
            },
            settings=_nothing,
            more={"description": "as asked"},
            tool="offload-",
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
