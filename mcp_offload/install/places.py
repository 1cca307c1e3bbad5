"""Where clients keep their configuration, as a pure function of the machine's properties."""

from __future__ import annotations

import ntpath
import posixpath
import re
from types import ModuleType
from typing import Final

from mcp_offload.install.model import Client, Path, Places, Scope

VARIABLES: Final = (
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "QWEN_HOME",
    "XDG_CONFIG_HOME",
)
"""The variables that move a client's files. Source: each client's documentation."""

_VARIABLE: Final = re.compile(r"\{env:(\w+)\|([^{}]*(?:\{\w+\}[^{}]*)?)\}")


def fill(template: str, places: Places) -> str:
    """A template's absolute path, with the separators of ``places.system``."""

    def chosen(match: re.Match[str]) -> str:
        return places.variables.get(match[1]) or match[2]

    text = _VARIABLE.sub(chosen, template)
    for name, value in _directories(places).items():
        text = text.replace(f"{{{name}}}", value)
    return _flavour(places).normpath(text)


def candidates(client: Client, scope: Scope, places: Places) -> tuple[str, ...]:
    """Every name that the client's file of a scope may have, the preferred one first."""
    files = client.files
    if places.system == "windows" and scope in client.windows_files:
        files = client.windows_files
    return tuple(fill(template, places) for template in files[scope])


def servers_path(client: Client, scope: Scope, places: Places) -> Path:
    """Where in the file the client's servers stand."""
    key = client.keys.get(scope, client.key)
    return tuple(places.project if part == "{project}" else part for part in key)


def _flavour(places: Places) -> ModuleType:
    return ntpath if places.system == "windows" else posixpath


def _directories(places: Places) -> dict[str, str]:
    """``support`` is where desktop programs of the system keep their data."""
    join = _flavour(places).join
    home, variables = places.home, places.variables
    xdg = variables.get("XDG_CONFIG_HOME", "")
    config = xdg if _flavour(places).isabs(xdg) else join(home, ".config")
    appdata = variables.get("APPDATA") or join(home, "AppData", "Roaming")
    support = {
        "linux": config,
        "macos": join(home, "Library", "Application Support"),
        "windows": appdata,
    }[places.system]
    return {
        "home": home,
        "project": places.project,
        "config": config,
        "appdata": appdata,
        "support": support,
    }
