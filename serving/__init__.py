"""Serve coding agents from one node: plan it, start it, lease its KV cache, and tell the truth about it.

vLLM does the serving. This package knows what fits (`plan`), starts and checks the engine (`process`),
admits requests by what their KV cache will need (`gateway`), and measures (`telemetry`, `bench`, `audit`).

Each layer imports only from those to its right; names joined by ``|`` never import each other::

    cli > bench | audit > gateway | middleware | process > compaction
        > admission | plan | telemetry | forecast | report > profile > errors

Importing this package costs next to nothing: names load when they are first used. Every function raises
subclasses of :class:`ServingError` and nothing else on purpose. What is not in ``__all__`` is not public.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from mcp_offload import __version__

if TYPE_CHECKING:
    from serving.errors import (
        DoesNotFitError,
        EngineError,
        MissingExtraError,
        ModelConfigError,
        ProfileError,
        ServingError,
        ServingUsageError,
    )

__all__ = [
    "DoesNotFitError",
    "EngineError",
    "MissingExtraError",
    "ModelConfigError",
    "ProfileError",
    "ServingError",
    "ServingUsageError",
    "__version__",
]

_HOMES: Final[dict[str, str]] = {}
"""Where a name lives, as far as its ending does not tell: errors end in Error."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
