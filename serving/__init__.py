"""Serve coding agents from one node: plan it, start it, lease its KV cache, and tell the truth about it.

vLLM does the serving. This package knows what fits (`plan`), starts and checks the engine (`process`),
admits requests by what their KV cache will need (`gateway`), and measures (`telemetry`, `bench`, `audit`).

Each layer imports only from those to its right; names joined by ``|`` never import each other::

    cli > bench | audit > gateway | middleware | process > compaction
        > admission | plan | telemetry | forecast | report > profile > errors

::

    from serving import Load, Request, find_gpu, find_model, make_plan

    model = find_model("qwen3.6-27b", hub_cache="~/.cache/huggingface/hub")
    plan = make_plan(Request(model, find_gpu("h100-sxm"), 2, Load(agents=24, depth_tokens=41_000)))
    print(plan.chosen.topology, plan.chosen.in_memory)

Importing this package costs next to nothing: names load when they are first used. Every function raises
subclasses of :class:`ServingError` and nothing else on purpose. What is not in ``__all__`` is not public.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from mcp_offload import __version__

if TYPE_CHECKING:
    from serving.errors import (
        CompactionError,
        DoesNotFitError,
        EngineError,
        MissingExtraError,
        ModelConfigError,
        ProfileError,
        ServingError,
        ServingUsageError,
    )
    from serving.plan.load import Load
    from serving.plan.plan import Plan, make_plan
    from serving.plan.request import Request
    from serving.profile.catalog import find_gpu, find_model
    from serving.profile.command import engine_argv, engine_variables
    from serving.profile.figure import Basis, Figure
    from serving.profile.load import load_profile
    from serving.profile.model import Profile

__all__ = [
    "Basis",
    "CompactionError",
    "DoesNotFitError",
    "EngineError",
    "Figure",
    "Load",
    "MissingExtraError",
    "ModelConfigError",
    "Plan",
    "Profile",
    "ProfileError",
    "Request",
    "ServingError",
    "ServingUsageError",
    "__version__",
    "engine_argv",
    "engine_variables",
    "find_gpu",
    "find_model",
    "load_profile",
    "make_plan",
]

_HOMES: Final = {
    "Basis": "profile.figure",
    "Figure": "profile.figure",
    "Load": "plan.load",
    "Plan": "plan.plan",
    "Profile": "profile.model",
    "Request": "plan.request",
    "engine_argv": "profile.command",
    "engine_variables": "profile.command",
    "find_gpu": "profile.catalog",
    "find_model": "profile.catalog",
    "load_profile": "profile.load",
    "make_plan": "plan.plan",
}
"""Where a name lives, as far as its ending does not tell: errors end in Error."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
