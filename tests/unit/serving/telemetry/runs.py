"""Runs made up for the tests of what is computed from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from serving.profile.catalog import find_gpu, find_model
from serving.profile.formats import KV_FORMATS
from serving.telemetry import Node, ServedRequest

REQUEST = ServedRequest(
    session_id="s",
    arrived_unix_seconds=1000.0,
    outcome="answered",
    stream=True,
    prompt_tokens=1000,
    cached_tokens=0,
    output_tokens=101,
    output_exact=True,
    waited_seconds=0.5,
    first_seconds=1.0,
    last_seconds=11.0,
)


def request(**fields: Any) -> ServedRequest:
    return replace(REQUEST, **fields)


def node(model: str, gpu: str = "h100-sxm", gpus: int = 8, kv: str = "fp8") -> Node:
    found = find_model(model, hub_cache="/nowhere")
    return Node(found.architecture, found.weights, KV_FORMATS[kv], find_gpu(gpu), gpus)
