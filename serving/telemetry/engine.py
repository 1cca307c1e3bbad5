"""What vLLM's metrics page says, as typed values; pure.

Source: vLLM 0.32 and 0.33, ``v1/metrics/loggers.py`` (names), ``v1/core/block_pool.py`` (the null block).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

_COUNTERS: Final[Mapping[str, str]] = {
    "vllm:num_preemptions_total": "preemptions",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:prompt_tokens_cached_total": "cached_tokens",
    "vllm:prefix_cache_queries_total": "prefix_queries",
    "vllm:prefix_cache_hits_total": "prefix_hits",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:request_success_total": "finished",
    "vllm:spec_decode_num_drafts_total": "drafts",
    "vllm:spec_decode_num_draft_tokens_total": "draft_tokens",
    "vllm:spec_decode_num_accepted_tokens_total": "accepted_tokens",
    "vllm:inter_token_latency_seconds_sum": "step_seconds",
    "vllm:inter_token_latency_seconds_count": "steps",
    "vllm:request_prefill_time_seconds_sum": "prefill_seconds",
    "vllm:request_prefill_kv_computed_tokens_sum": "computed_tokens",
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:kv_cache_usage_perc": "kv_usage",
    "vllm:iteration_tokens_total_count": "iterations",
    "vllm:request_num_preemptions_count": "preemption_requests",
    "vllm:request_queue_time_seconds_sum": "queue_seconds",
    "vllm:request_queue_time_seconds_count": "queued",
    "vllm:request_time_per_output_token_seconds_sum": "output_token_seconds",
    "vllm:request_time_per_output_token_seconds_count": "output_token_requests",
    "vllm:estimated_flops_per_gpu_total": "estimated_flops",
    "vllm:estimated_read_bytes_per_gpu_total": "estimated_read_bytes",
}
_BUCKETS: Final[Mapping[str, tuple[float, str]]] = {
    "vllm:request_num_preemptions_bucket": (1, "at_most_once"),
    "vllm:inter_token_latency_seconds_bucket": (1, "steps_within_second"),
}
"""Of a histogram, the one bucket that is kept: its upper end and its name here."""
_POOL: Final = "vllm:cache_config_info"
_PROCESS: Final = "process_start_time_seconds"


@dataclass(slots=True)
class EngineSample:
    """One engine, or data-parallel rank, at one scrape. Counters count since the engine started.

    Attributes:
        blocks: usable KV-cache blocks, without the null block; 0 where the page does not say.
        block_tokens: tokens a block holds.
        kv_tokens: tokens the whole pool holds, which for hybrid models is not the product of the two;
            0 where the page does not say.
        kv_usage: the part of the blocks that running requests hold, from 0 to 1.
        computed_tokens: prompt tokens that were computed rather than taken from the prefix cache.
        steps: of all streams: a step in which ten streams write counts ten times.
        steps_within_second: those of ``steps`` that took a second at most.
        iterations: steps of the engine, in which any number of streams take part.
        preemption_requests: requests that ended and were asked how often they had been preempted.
        at_most_once: those of them that were at most once; the page does not tell none from one.
    """

    blocks: int = 0
    block_tokens: int = 0
    kv_tokens: int = 0
    cache_dtype: str = ""
    prefix_caching: bool | None = None
    preemptions: float = 0.0
    prompt_tokens: float = 0.0
    cached_tokens: float = 0.0
    prefix_queries: float = 0.0
    prefix_hits: float = 0.0
    generation_tokens: float = 0.0
    finished: float = 0.0
    drafts: float = 0.0
    draft_tokens: float = 0.0
    accepted_tokens: float = 0.0
    step_seconds: float = 0.0
    steps: float = 0.0
    prefill_seconds: float = 0.0
    computed_tokens: float = 0.0
    running: float = 0.0
    waiting: float = 0.0
    kv_usage: float = 0.0
    iterations: float = 0.0
    preemption_requests: float = 0.0
    at_most_once: float = 0.0
    steps_within_second: float = 0.0
    queue_seconds: float = 0.0
    queued: float = 0.0
    output_token_seconds: float = 0.0
    output_token_requests: float = 0.0
    estimated_flops: float = 0.0
    estimated_read_bytes: float = 0.0

    @property
    def tokens_per_step(self) -> float:
        """What a stream gained a step on average: 1 without speculation."""
        return 1.0 + self.accepted_tokens / self.drafts if self.drafts else 1.0


@dataclass(slots=True)
class Scrape:
    """One reading of a metrics page; ``engines`` by the page's ``engine`` label."""

    started_seconds: float | None = None
    engines: dict[str, EngineSample] = field(default_factory=dict[str, EngineSample])


_GAUGES: Final = {"running", "waiting", "kv_usage"}
_POOL_FIELDS: Final = {"blocks", "block_tokens", "kv_tokens", "cache_dtype", "prefix_caching"}


def total(scrape: Scrape, before: Scrape | None = None) -> EngineSample:
    """All engines of a page together: counters summed, less those of ``before``; ``kv_usage`` the mean.

    What an engine counted before it was started anew is not subtracted.
    """
    restarted = before is not None and before.started_seconds != scrape.started_seconds
    sums = EngineSample()
    for name, sample in scrape.engines.items():
        earlier = None if before is None or restarted else before.engines.get(name)
        for field_name in EngineSample.__slots__:
            value = getattr(sample, field_name)
            if field_name in _POOL_FIELDS:
                if field_name in ("blocks", "kv_tokens"):
                    setattr(sums, field_name, getattr(sums, field_name) + value)
                else:
                    setattr(sums, field_name, value)
                continue
            if earlier is not None and field_name not in _GAUGES:
                value -= getattr(earlier, field_name)
            setattr(sums, field_name, getattr(sums, field_name) + value)
    sums.kv_usage /= max(1, len(scrape.engines))
    return sums


def parse(page: str) -> Scrape:
    """Read a metrics page; names that are not known here are passed over.

    Raises:
        ValueError: a line of a known name is malformed.
    """
    scrape = Scrape()
    for name, labels, value in _samples(page):
        if name == _PROCESS:
            scrape.started_seconds = value
            continue
        sample = scrape.engines.setdefault(labels.get("engine", "0"), EngineSample())
        if name == _POOL:
            _read_pool(sample, labels)
        elif name in _BUCKETS:
            end, attribute = _BUCKETS[name]
            if float(labels.get("le", "inf")) == end:
                setattr(sample, attribute, getattr(sample, attribute) + value)
        else:
            attribute = _COUNTERS[name]
            setattr(sample, attribute, getattr(sample, attribute) + value)
    return scrape


def _samples(page: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Only lines of known names are parsed: a page has thousands of histogram buckets besides."""
    wanted: list[str] = []
    for line in page.splitlines():
        name = line[: min((i for i in (line.find("{"), line.find(" ")) if i >= 0), default=len(line))]
        if name in _COUNTERS or name in {_POOL, _PROCESS} or name in _BUCKETS:
            wanted.append(line)
    for family in text_string_to_metric_families("\n".join(wanted) + "\n"):
        for sample in family.samples:
            yield sample.name, sample.labels, float(sample.value)


def _read_pool(sample: EngineSample, labels: Mapping[str, str]) -> None:
    blocks = _number(labels.get("num_gpu_blocks"))
    sample.blocks = max(0, blocks - 1)
    sample.block_tokens = _number(labels.get("block_size"))
    sample.kv_tokens = _number(labels.get("kv_cache_size_tokens"))
    sample.cache_dtype = labels.get("cache_dtype", "")
    told = labels.get("enable_prefix_caching")
    sample.prefix_caching = None if told is None else told == "True"


def _number(text: str | None) -> int:
    try:
        return int(float(text or 0))
    except ValueError:
        return 0
