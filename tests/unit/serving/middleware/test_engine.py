"""What the gate makes of its engine's metrics page."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from serving.middleware.asgi import Receive, Scope, Send, send_whole
from serving.middleware.engine import Engine
from serving.middleware.settings import GateSettings

POOL = 'vllm:cache_config_info{engine="0",num_gpu_blocks="101",block_size="16",cache_dtype="fp8"} 1.0'


class Page:
    """An application that has a metrics page alone."""

    def __init__(self) -> None:
        self.counters: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lines = [POOL, *(f'vllm:{name}{{engine="0"}} {value}' for name, value in self.counters.items())]
        await send_whole(send, 200, "\n".join([*lines, ""]).encode(), content_type=b"text/plain")


@pytest.mark.parametrize(
    ("counter", "share"),
    [
        ({}, 1.0),
        ({"prefix_cache_hits_total": 40_000}, 0.0),
        # A tier in host memory gave all of it: its tokens are among those cached, and no local hits.
        ({"prompt_tokens_cached_total": 40_000, "prefix_cache_hits_total": 0}, 0.0),
        ({"prompt_tokens_cached_total": 39_000}, 0.2),
    ],
)
def test_what_a_tier_gave_back_was_not_computed_again(counter: dict[str, int], share: float) -> None:
    async def control() -> float | None:
        now, page = 0.0, Page()
        engine = Engine(page, GateSettings(control_seconds=5.0), lambda: now)
        await engine.read()
        engine.ended(50_000, None, 10_000)
        computed: dict[str, Any] = {
            "request_prefill_time_seconds_sum": 10, "request_prefill_kv_computed_tokens_sum": 10_000,
        }  # fmt: skip
        page.counters, now = {**computed, **counter}, 5.0
        await engine.read()
        engine.close()
        return engine.recompute_share

    assert asyncio.run(control()) == pytest.approx(share)
