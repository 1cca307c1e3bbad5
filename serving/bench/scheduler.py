"""vLLM's own scheduler and KV-cache manager, driven by a clock instead of a GPU.

Runs where vLLM is installed; nothing else of the project imports this module.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from vllm.engine.arg_utils import EngineArgs
from vllm.sampling_params import SamplingParams
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

from serving.bench.workload import Roofline


@dataclass(slots=True)
class Live:
    """A request inside the engine."""

    request: Any
    output_tokens: int
    wanted_tokens: int
    known_tokens: int = 0
    computed_prompt_tokens: int = 0
    first_seconds: float | None = None


@dataclass(slots=True)
class Tallies:
    """What the engine did since it was made."""

    steps: int = 0
    computed_prompt_tokens: int = 0
    reloaded_prompt_tokens: int = 0
    output_tokens: int = 0
    preemptions: int = 0
    preempted_requests: int = 0
    usage_seconds: float = 0.0
    prefill_seconds: float = 0.0
    busy_seconds: float = 0.0


class Engine:
    """A vLLM engine without weights: schedules, allocates, caches prefixes and preempts as vLLM does.

    Args:
        model: a folder with a model's configuration, for vLLM's own set-up; its size does not matter.
        blocks: the pool, the null block included.
        block_tokens: tokens a block holds.
        roofline: how long a step takes.
        chunk_tokens: ``max_num_batched_tokens``.
        watermark: vLLM's own watermark.
        host_bytes_per_second: the way from a KV-cache tier in host memory that holds every token ever
            computed; None without one. A model: vLLM schedules those tokens as if they were computed, in
            chunks, but they take the time of the transfer, beside what the step computes.
    """

    def __init__(
        self,
        model: Path,
        *,
        blocks: int,
        block_tokens: int,
        roofline: Roofline,
        chunk_tokens: int = 2048,
        watermark: float | None = None,
        host_bytes_per_second: float | None = None,
    ) -> None:
        more: dict[str, Any] = {} if watermark is None else {"watermark": watermark}
        config = EngineArgs(
            model=str(model),
            max_model_len=131_072,
            block_size=block_tokens,
            max_num_batched_tokens=chunk_tokens,
            max_num_seqs=256,
            enable_prefix_caching=True,
            enforce_eager=True,
            async_scheduling=False,
            **more,
        ).create_engine_config()
        config.cache_config.num_gpu_blocks = blocks
        spec = FullAttentionSpec(block_size=block_tokens, num_kv_heads=1, head_size=1, dtype=torch.float32)
        self.now = 0.0
        self.tallies = Tallies()
        self.live: dict[str, Live] = {}
        self._roofline = roofline
        self._host_bytes_per_second = host_bytes_per_second
        self._scheduler = Scheduler(
            vllm_config=config,
            kv_cache_config=KVCacheConfig(blocks, [], [KVCacheGroupSpec(["layer"], spec)]),
            structured_output_manager=StructuredOutputManager(config),
            block_size=block_tokens,
            log_stats=True,
        )
        logging.getLogger("vllm").setLevel(logging.ERROR)
        init_none_hash(_hash)
        self._hasher = get_request_block_hasher(block_tokens, _hash)

    @property
    def usage(self) -> float:
        """The part of the blocks that running requests hold."""
        return self._scheduler.kv_cache_manager.usage

    @property
    def running(self) -> int:
        """Requests inside the engine."""
        return len(self.live)

    def submit(
        self, name: str, prompt: list[int], wanted_tokens: int, limit_tokens: int, known_tokens: int = 0
    ) -> None:
        """Give the engine a request that stops by itself after ``wanted_tokens``.

        The first ``known_tokens`` of its prompt were computed for an earlier request.
        """
        params = SamplingParams(max_tokens=limit_tokens, ignore_eos=True)
        request = Request(name, prompt, params, None, arrival_time=self.now, block_hasher=self._hasher)
        self._scheduler.add_request(request)
        self.live[name] = Live(request, 0, min(wanted_tokens, limit_tokens), known_tokens)

    def step(self, wrote: Callable[[str, int], None]) -> list[tuple[str, int]]:
        """One step: the clock goes on by what it takes.

        Returns the requests that ended with it, and how many prompt tokens each had computed.
        """
        plan = self._scheduler.schedule()
        scheduled: dict[str, int] = plan.num_scheduled_tokens
        context = computed = prompt_tokens = reloaded = 0
        for name, tokens in scheduled.items():
            request = self.live[name].request
            done: int = request.num_computed_tokens  # schedule() has advanced it already
            context += done
            computed += tokens
            of_prompt = max(0, min(done, request.num_prompt_tokens) - (done - tokens))
            read_back = self._reloaded(self.live[name], done, tokens)
            self.live[name].computed_prompt_tokens += of_prompt - read_back
            reloaded += read_back
            prompt_tokens += of_prompt
        seconds = self._seconds(computed, reloaded, context)
        self.tallies.reloaded_prompt_tokens += reloaded
        self._count(seconds, computed - reloaded, prompt_tokens - reloaded)
        self._scheduler.update_from_output(plan, self._sampled(scheduled))
        return self._ended(scheduled, wrote)

    def _reloaded(self, live: Live, done: int, tokens: int) -> int:
        """Tokens that come from the tier: vLLM counts them as cached, wherever they were cached.

        Source: vLLM 0.32, ``v1/metrics/stats.py``, ``PrefillStats``.
        """
        if self._host_bytes_per_second is None:
            return 0
        return max(0, min(done, live.known_tokens) - (done - tokens))

    def _seconds(self, computed: int, reloaded: int, context: int) -> float:
        if self._host_bytes_per_second is None:
            return self._roofline.step_seconds(computed, context)
        transfer = reloaded * self._roofline.kv_bytes_per_token / self._host_bytes_per_second
        return max(self._roofline.step_seconds(computed - reloaded, context), transfer)

    def _count(self, seconds: float, computed: int, prompt_tokens: int) -> None:
        tallies = self.tallies
        self.now += seconds
        tallies.steps += 1
        tallies.busy_seconds += seconds
        tallies.usage_seconds += self.usage * seconds
        tallies.computed_prompt_tokens += prompt_tokens
        if computed:
            tallies.prefill_seconds += seconds * prompt_tokens / computed

    def _sampled(self, scheduled: dict[str, int]) -> ModelRunnerOutput:
        names = list(scheduled)
        tokens: list[list[int]] = []
        for name in names:
            live = self.live[name]
            whole = live.request.num_computed_tokens >= live.request.num_tokens
            tokens.append([live.output_tokens + 7] if whole else [])
        return ModelRunnerOutput(names, {name: i for i, name in enumerate(names)}, tokens)

    def _ended(self, scheduled: dict[str, int], wrote: Callable[[str, int], None]) -> list[tuple[str, int]]:
        ended: list[tuple[str, int]] = []
        for name in scheduled:
            live = self.live[name]
            written: int = live.request.num_output_tokens
            if written != live.output_tokens:
                self.tallies.output_tokens += written - live.output_tokens
                live.output_tokens = written
                if live.first_seconds is None:
                    live.first_seconds = self.now
                wrote(name, written)
            if written >= live.wanted_tokens:
                ended.append((name, live.computed_prompt_tokens))
        for name, _ in ended:
            self._finish(name)
        return ended

    def _finish(self, name: str) -> None:
        from vllm.v1.request import RequestStatus

        live = self.live.pop(name)
        self.tallies.preemptions += live.request.num_preemptions
        self.tallies.preempted_requests += live.request.num_preemptions > 0
        if not live.request.is_finished():
            self._scheduler.finish_requests(name, RequestStatus.FINISHED_STOPPED)


def _hash(value: Any) -> bytes:
    return hash(value).to_bytes(8, "little", signed=True)
