"""What to write into a client so that its requests go through the gate; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

KEY_VARIABLE: Final = "MCP_OFFLOAD_GATE_KEY"


def _claude_code(url: str, model: str) -> str:
    """Source: https://docs.anthropic.com/en/docs/claude-code/llm-gateway."""
    return f"""export ANTHROPIC_BASE_URL={url}
export ANTHROPIC_AUTH_TOKEN=${KEY_VARIABLE}
export ANTHROPIC_MODEL={model}
export ANTHROPIC_SMALL_FAST_MODEL={model}
"""


def _codex(url: str, model: str) -> str:
    """Source: https://developers.openai.com/codex/config-reference (model_providers)."""
    return f"""# in ~/.codex/config.toml
model = "{model}"
model_provider = "offload"

[model_providers.offload]
name = "offload"
base_url = "{url}/v1"
env_key = "{KEY_VARIABLE}"
wire_api = "responses"
"""


def _opencode(url: str, model: str) -> str:
    """Source: https://opencode.ai/docs/providers (custom provider)."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "offload",
        "options": {"baseURL": f"{url}/v1", "apiKey": f"{{env:{KEY_VARIABLE}}}"},
        "models": {model: {"name": model}},
    }
    config = {"provider": {"offload": provider}, "model": f"offload/{model}"}
    return "// in opencode.json\n" + json.dumps(config, indent=2) + "\n"


def _openai(url: str, model: str) -> str:
    """Source: https://github.com/openai/openai-python (environment variables)."""
    return f"""export OPENAI_BASE_URL={url}/v1
export OPENAI_API_KEY=${KEY_VARIABLE}
# and ask for the model {model}
"""


def _anthropic(url: str, model: str) -> str:
    """Source: https://github.com/anthropics/anthropic-sdk-python (environment variables)."""
    return f"""export ANTHROPIC_BASE_URL={url}
export ANTHROPIC_AUTH_TOKEN=${KEY_VARIABLE}
# and ask for the model {model}
"""


CLIENTS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "opencode": _opencode,
    "openai-sdk": _openai,
    "anthropic-sdk": _anthropic,
}
"""Clients by name, and what tells how to connect each to a URL and a model."""
