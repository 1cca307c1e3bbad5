"""A small HTTP client for asking a node, and what its profile's plan says of its pool."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from serving.errors import EngineError, ModelConfigError
from serving.plan.assumptions import DEFAULTS
from serving.plan.engine import Draft, Engine
from serving.plan.topology import Topology
from serving.process.check import Expected, parse_json
from serving.profile.catalog import find_gpu, find_model
from serving.profile.formats import KV_16BIT, KV_FORMATS, KV_FP8, WEIGHT_FORMATS, KvFormat
from serving.profile.model import Profile

_GIB: Final = 2**30
_KV_32BIT: Final = KvFormat("32bit", "auto", 4)
"""Not among the formats of plans: float32 is for comparing outputs."""


class HttpClient:
    """Asks a node over HTTP.

    Args:
        url: of the engine or its gate, without a path.
        key: of the gate, where it asks for one.
        timeout_seconds: for each answer.
    """

    def __init__(self, url: str, key: str | None = None, timeout_seconds: float = 600.0) -> None:
        self._url = url.rstrip("/")
        self._headers = {"content-type": "application/json"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._timeout_seconds = timeout_seconds

    def get(self, path: str) -> bytes:
        """The body of an answer with status 200.

        Raises:
            EngineError: there is none.
        """
        return self._ask(path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A JSON answer with status 200.

        Raises:
            EngineError: there is none.
        """
        return parse_json(self._ask(path, json.dumps(body).encode()))

    def _ask(self, path: str, body: bytes | None) -> bytes:
        request = urllib.request.Request(self._url + path, body, self._headers)  # noqa: S310  (the user's own)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_seconds) as answer:  # noqa: S310
                return answer.read()
        except urllib.error.HTTPError as error:
            said = error.read(300).decode("utf-8", "replace")
            raise EngineError(f"{self._url}{path} answered {error.code}: {said}") from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise EngineError(
                f"{self._url} cannot be asked: {reason}; is the node up, and is this its address?"
            ) from error


def expected_pool(profile: Profile, hub_cache: str) -> Expected:
    """How many tokens one pool of a profile should hold, as the plan computes it."""
    try:
        engine = _engine(profile, hub_cache)
    except ModelConfigError as error:
        return Expected(None, f"the model's shape is not known here: {error}")
    at = float(profile.max_model_len)
    if profile.gpu == "cpu":
        pool_bytes = profile.cpu_kv_cache_gib * _GIB
        basis = f"{profile.cpu_kv_cache_gib:g} GiB at {engine.sequence.at(at) / at:,.0f} bytes a token"
        return Expected(pool_bytes / engine.sequence.at(at) * at, basis, exact=True)
    basis = f"{engine.pool_bytes / _GIB:,.1f} GiB at {engine.sequence.at(at) / at:,.0f} bytes a token"
    return Expected(engine.pool_bytes / engine.sequence.at(at) * at, basis)


def checkpoint_has_kv_scales(profile: Profile, hub_cache: str) -> bool | None:
    """Whether the checkpoint states scales for its KV cache; None where it is not on this disk."""
    try:
        return find_model(profile.model, hub_cache=hub_cache).has_kv_scales
    except ModelConfigError:
        return None


def _engine(profile: Profile, hub_cache: str) -> Engine:
    model = find_model(profile.architecture or profile.model, hub_cache=hub_cache)
    gpu = find_gpu("h100-sxm" if profile.gpu == "cpu" else profile.gpu)
    return Engine(
        model=model.architecture,
        weights=WEIGHT_FORMATS[profile.weights],
        kv=_kv_format(profile),
        gpu=gpu,
        topology=Topology(
            profile.tensor_parallel, profile.data_parallel, profile.replicas, profile.expert_parallel
        ),
        assume=replace(DEFAULTS, utilization=profile.gpu_memory_utilization),
        draft=_draft(profile, hub_cache),
        prefix_caching=profile.prefix_caching,
        window_kv=KV_16BIT if "sliding_window" in profile.kv_cache_dtype_skip_layers else None,
    )


def _kv_format(profile: Profile) -> KvFormat:
    if profile.kv_cache_dtype.startswith("fp8"):
        return KV_FP8
    if profile.kv_cache_dtype == "auto" and profile.dtype in {"float32", "float"}:
        return _KV_32BIT
    return next((form for form in KV_FORMATS.values() if form.flag == profile.kv_cache_dtype), KV_16BIT)


def _draft(profile: Profile, hub_cache: str) -> Draft | None:
    told = profile.speculation
    if told is None:
        return None
    name = told.architecture or told.model
    if told.method != "draft_model" or name is None:
        return Draft(told.method, told.tokens, told.acceptance)
    model = find_model(name, hub_cache=hub_cache)
    return Draft(told.method, told.tokens, told.acceptance, model.architecture, model.weights)
