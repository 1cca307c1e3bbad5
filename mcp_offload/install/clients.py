"""The clients that can be configured: a table.

Sources: what the clients' own commands wrote, where ``verified`` names a version; else their documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.install.model import Approval, Client, OwnCommand

_PLAIN: Final[Mapping[str, object]] = MappingProxyType({"command": "$COMMAND", "args": "$ARGS"})
_STDIO: Final[Mapping[str, object]] = MappingProxyType({"type": "stdio", **_PLAIN})
_SERVERS: Final = ("mcpServers",)
_PERMISSION: Final = "mcp__offload__$TOOL"

_CLIENTS: Final = (
    Client(
        id="claude-code",
        name="Claude Code",
        format="json",
        files={
            "user": ("{env:CLAUDE_CONFIG_DIR|{home}}/.claude.json",),
            "project": ("{project}/.mcp.json",),
            "local": ("{env:CLAUDE_CONFIG_DIR|{home}}/.claude.json",),
        },
        key=_SERVERS,
        keys={"local": ("projects", "{project}", "mcpServers")},
        # alwaysLoad: else it lists no tools of ours where the server answers after its first request, and
        # hides them behind a search where it has many. It waits 5 s at most.
        entry={**_STDIO, "alwaysLoad": True},
        starts_in="project",
        command=OwnCommand(
            program="claude",
            add=("mcp", "add-json", "$KEY", "$JSON", "-s", "$SCOPE"),
            remove=("mcp", "remove", "$KEY", "-s", "$SCOPE"),
            scopes=("user", "project", "local"),
            careful=True,
        ),
        approval=Approval(
            files={
                "user": "{env:CLAUDE_CONFIG_DIR|{home}/.claude}/settings.json",
                "project": "{project}/.claude/settings.json",
                "local": "{project}/.claude/settings.local.json",
            },
            key=("permissions", "allow"),
            item=_PERMISSION,
        ),
        verified="2.1.197",
        note="A server of project scope is approved once when Claude Code next starts there.",
    ),
    Client(
        id="claude-desktop",
        name="Claude Desktop",
        format="json",
        files={"user": ("{support}/Claude/claude_desktop_config.json",)},
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="nowhere",
        note="Restart it afterwards; it reads its file when it starts.",
    ),
    Client(
        id="cursor",
        name="Cursor",
        format="json",
        files={"user": ("{home}/.cursor/mcp.json",), "project": ("{project}/.cursor/mcp.json",)},
        key=_SERVERS,
        entry=_STDIO,
        starts_in="unknown",
        note="Enable the server in Cursor Settings, MCP.",
    ),
    Client(
        id="vscode",
        name="VS Code",
        format="json",
        files={"user": ("{support}/Code/User/mcp.json",), "project": ("{project}/.vscode/mcp.json",)},
        key=("servers",),
        entry=_STDIO,
        entries={"user": {**_STDIO, "cwd": "${workspaceFolder}"}},
        starts_in="project",
        note="Tools that only read run without asking, since VS Code trusts their annotations.",
    ),
    Client(
        id="windsurf",
        name="Windsurf",
        format="json",
        files={"user": ("{home}/.codeium/windsurf/mcp_config.json",)},
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="unknown",
        note="Refresh the list of servers in the Cascade panel afterwards.",
    ),
    Client(
        id="zed",
        name="Zed",
        format="json",
        files={"user": ("{config}/zed/settings.json",), "project": ("{project}/.zed/settings.json",)},
        windows_files={"user": ("{appdata}/Zed/settings.json",)},
        key=("context_servers",),
        entry={"source": "custom", **_PLAIN},
        starts_in="project",
    ),
    Client(
        id="junie",
        name="JetBrains Junie",
        format="json",
        files={"user": ("{home}/.junie/mcp/mcp.json",), "project": ("{project}/.junie/mcp/mcp.json",)},
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="unknown",
        note="For AI Assistant paste the snippet in Settings, Tools, AI Assistant, MCP.",
    ),
    Client(
        id="codex",
        name="Codex CLI",
        format="toml",
        files={
            "user": ("{env:CODEX_HOME|{home}/.codex}/config.toml",),
            "project": ("{project}/.codex/config.toml",),
        },
        key=("mcp_servers",),
        entry=_PLAIN,
        starts_in="project",
        command=OwnCommand(
            program="codex",
            add=("mcp", "add", "$KEY", "--", "$COMMAND", "$ARGS"),
            remove=("mcp", "remove", "$KEY"),
            scopes=("user",),
        ),
        approval=Approval(table=("tools", {"approval_mode": "approve"})),
        verified="0.171.0",
        note="A file of project scope is read in trusted projects alone. It goes on without a server that"
        " takes over a second to start; with `required = true` in the entry it waits, and needs it to start.",
    ),
    Client(
        id="gemini",
        name="Gemini CLI",
        format="json",
        files={"user": ("{home}/.gemini/settings.json",), "project": ("{project}/.gemini/settings.json",)},
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="project",
        command=OwnCommand(
            program="gemini",
            add=("mcp", "add", "-s", "$SCOPE", "$KEY", "$COMMAND", "--", "$ARGS"),
            remove=("mcp", "remove", "-s", "$SCOPE", "$KEY"),
            scopes=("user", "project"),
        ),
        verified="0.61.0",
        note="Servers are disabled in folders that are not trusted.",
    ),
    Client(
        id="qwen",
        name="Qwen Code",
        format="json",
        files={
            "user": ("{env:QWEN_HOME|{home}/.qwen}/settings.json",),
            "project": ("{project}/.qwen/settings.json",),
        },
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="project",
        command=OwnCommand(
            program="qwen",
            add=("mcp", "add", "-s", "$SCOPE", "$KEY", "$COMMAND", "--", "$ARGS"),
            remove=("mcp", "remove", "-s", "$SCOPE", "$KEY"),
            scopes=("user", "project"),
        ),
        verified="0.15.10",
    ),
    Client(
        id="copilot",
        name="Copilot CLI",
        format="json",
        files={
            "user": ("{env:COPILOT_HOME|{home}/.copilot}/mcp-config.json",),
            "project": ("{project}/.github/mcp.json",),
        },
        key=_SERVERS,
        entry={"type": "local", **_PLAIN, "tools": ["*"]},
        starts_in="project",
        command=OwnCommand(
            program="copilot",
            add=("mcp", "add", "$KEY", "--", "$COMMAND", "$ARGS"),
            remove=("mcp", "remove", "$KEY"),
            scopes=("user",),
        ),
        verified="1.0.102",
        note="A server of project scope is listed in trusted folders alone.",
    ),
    Client(
        id="cline",
        name="Cline CLI",
        format="json",
        files={"user": ("{home}/.cline/data/settings/cline_mcp_settings.json",)},
        key=_SERVERS,
        entry={"transport": {"type": "stdio", **_PLAIN}},
        starts_in="project",
        command=OwnCommand(
            program="cline",
            add=("mcp", "install", "$KEY", "--yes", "--", "$COMMAND", "$ARGS"),
            remove=("mcp", "uninstall", "$KEY"),
            scopes=("user",),
        ),
        verified="3.0.65",
        note="It waits 3 s for the first answer.",
    ),
    Client(
        id="cline-vscode",
        name="Cline for VS Code",
        format="json",
        files={
            "user": (
                "{support}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            )
        },
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="unknown",
        approval=Approval(entry="autoApprove"),
    ),
    Client(
        id="roo",
        name="Roo Code",
        format="json",
        files={
            "user": (
                "{support}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
            "project": ("{project}/.roo/mcp.json",),
        },
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="project",
        approval=Approval(entry="alwaysAllow"),
    ),
    Client(
        id="continue",
        name="Continue",
        format="yaml",
        files={"user": ("{home}/.continue/config.yaml",)},
        key=_SERVERS,
        listed=True,
        entry={"name": "offload", **_PLAIN},
        new_file={"name": "Local Config", "version": "1.0.0", "schema": "v1"},
        starts_in="unknown",
        note="Its command line client starts servers in the project; for its editor plugins name --root.",
    ),
    Client(
        id="opencode",
        name="opencode",
        format="json",
        files={
            "user": ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
            "project": ("{project}/opencode.json", "{project}/opencode.jsonc"),
        },
        key=("mcp",),
        entry={"type": "local", "command": "$LINE", "enabled": True},
        starts_in="project",
        verified="1.18.33",
        note="It asks before no tool of an MCP server unless its permissions say so.",
    ),
    Client(
        id="goose",
        name="goose",
        format="yaml",
        files={"user": ("{config}/goose/config.yaml",)},
        windows_files={"user": ("{appdata}/Block/goose/config/config.yaml",)},
        key=("extensions",),
        entry={
            "name": "offload",
            "type": "stdio",
            "enabled": True,
            "cmd": "$COMMAND",
            "args": "$ARGS",
            "timeout": 300,
        },
        starts_in="project",
    ),
    Client(
        id="kiro",
        name="Kiro",
        format="json",
        files={
            "user": ("{home}/.kiro/settings/mcp.json",),
            "project": ("{project}/.kiro/settings/mcp.json",),
        },
        key=_SERVERS,
        entry=_PLAIN,
        starts_in="unknown",
        approval=Approval(entry="autoApprove"),
    ),
    Client(
        id="amp",
        name="Amp",
        format="json",
        files={"user": ("{config}/amp/settings.json",), "project": ("{project}/.amp/settings.json",)},
        key=("amp.mcpServers",),
        entry=_PLAIN,
        starts_in="project",
    ),
)

CLIENTS: Final[Mapping[str, Client]] = MappingProxyType({client.id: client for client in _CLIENTS})
"""Every client by its name on the command line, in the order in which they are told."""


def client_named(name: str) -> Client:
    """The client of that name.

    Raises:
        InvalidArgumentError: there is none; the message lists them.
    """
    if name not in CLIENTS:
        raise InvalidArgumentError(f"{name!r} is not a known client. They are: {', '.join(CLIENTS)}.")
    return CLIENTS[name]
