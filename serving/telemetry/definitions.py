"""What each metric means. The reference page and every reading are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from serving.profile.figure import Basis
from serving.telemetry.reading import Reading

FORMAL_OUTPUT_TOKENS: Final = 4_000
"""Tokens out from which a velocity counts as sustained."""

DEEP_TOKENS: Final = 32_000
"""Context from which a velocity counts as deep."""


@dataclass(frozen=True)
class Definition:
    """One metric.

    Attributes:
        unit: of the value.
        basis: measured where it is counted in a run, computed where a run is put into a formula.
        meaning: one sentence.
        formula: how it is come by.
        source: of the formula or the counters.
        pitfalls: how it misleads.
    """

    unit: str
    basis: Basis
    meaning: str
    formula: str
    source: str
    pitfalls: str


_RECORDS: Final = "the gate's records"
_VLLM: Final = "vLLM 0.33.0's metrics page"
_M, _C = Basis.MEASURED, Basis.COMPUTED

DEFINITIONS: Final[dict[str, Definition]] = {
    "sustained_velocity_median": Definition(
        "tok/s",
        _M,
        "How fast one stream decodes in long answers, by the context it starts from.",
        "median over requests with >= 4,000 tokens out of (output - 1) / (last byte - first byte)",
        _RECORDS,
        "Never 1 / inter-token latency: under speculation that has one sample a step, not a token. Only"
        " streamed,"
        " complete answers whose token count the engine told. Buckets are prompt tokens; the context grows"
        " while"
        " the answer is written.",
    ),
    "sustained_velocity_p10": Definition(
        "tok/s",
        _M,
        "What nine of ten long answers exceed.",
        "10th percentile of the same",
        _RECORDS,
        "Under ten requests it is the slowest of them.",
    ),
    "decode_velocity_median": Definition(
        "tok/s",
        _M,
        "The same for answers of 32 tokens and more; agents write short ones.",
        "median of (output - 1) / (last byte - first byte)",
        _RECORDS,
        "No sustained figure: a short answer sees one moment of the load. Quote it with its bucket.",
    ),
    "preemption_events": Definition(
        "per request",
        _M,
        "How often the engine threw a running request's KV cache away and computed it again.",
        "num_preemptions / requests that ended",
        f"{_VLLM}: num_preemptions_total, request_success_total",
        "Low while the cache thrashes: idle agents lose their prefixes without a preemption. See"
        " recompute_factor.",
    ),
    "preempted_requests": Definition(
        "share of 1",
        _M,
        "Requests that were preempted at least once.",
        "exact where no event, or no second one of a request, was seen; else only its bounds are known",
        f"{_VLLM}: request_num_preemptions; Clopper, Pearson 1934",
        "The first bucket of vLLM's histogram holds requests preempted never and once together. The bounds"
        " are"
        " one-sided at 95 % each and take requests as independent, which preemptions are not: they come in"
        " bursts.",
    ),
    "preemption_claim_requests": Definition(
        "requests",
        _C,
        "Requests without any preemption after which under 0.05 % may be claimed at 95 %.",
        "ln(0.05) / ln(1 - 0.0005), about 3 / 0.0005",
        "rule of three: Hanley, Lippman-Hand 1983",
        "One preemption starts the count anew.",
    ),
    "recompute_factor": Definition(
        "ratio",
        _C,
        "Prompt tokens that were computed, over those that had to be.",
        "sum(prompt - cached) / sum max(0, prompt - (prompt + output before it in the session))",
        _RECORDS,
        "1 is ideal. A compacted context counts as recomputed, and agents that share a system prompt can"
        " bring it"
        " under 1. Without told cached tokens, taken from the engine's prompt_tokens_cached.",
    ),
    "recompute_share": Definition(
        "share of 1",
        _C,
        "Time spent computing prompt tokens that had been computed before: the figure to alarm on.",
        "excess prompt tokens x prefill seconds per token / (seconds x engines)",
        f"{_RECORDS}; {_VLLM}: request_prefill_time_seconds, request_prefill_kv_computed_tokens",
        "vLLM's prefill time is each request's own wait, so requests prefilled together count twice; low"
        " is what"
        " the arithmetic takes at the GPU's peak.",
    ),
    "prefix_hit_share": Definition(
        "share of 1",
        _M,
        "Prompt tokens that the prefix cache spared.",
        "prefix_cache_hits / prefix_cache_queries",
        f"{_VLLM}: prefix_cache_queries_total, prefix_cache_hits_total",
        "In tokens of full blocks. High values are normal for agents and say nothing of what is lost: 95 %"
        " of a"
        " 100,000-token prompt leaves 5,000 to compute.",
    ),
    "tokens_per_step": Definition(
        "tokens",
        _M,
        "What a stream gains a step.",
        "1 + accepted / drafts",
        f"{_VLLM}: spec_decode_num_accepted_tokens_total, spec_decode_num_drafts_total",
        "More tokens a step is no speed: the step takes longer. See speculation_gain.",
    ),
    "acceptance": Definition(
        "share of 1",
        _M,
        "Drafted tokens that were kept.",
        "accepted / drafted",
        f"{_VLLM}: spec_decode_num_accepted_tokens_total, spec_decode_num_draft_tokens_total",
        "Not the chance that one token is accepted: those after a rejected one count as rejected too.",
    ),
    "speculation_gain": Definition(
        "ratio",
        _C,
        "What speculation makes of a stream's velocity.",
        "tokens_per_step x step seconds without speculation / step seconds with it",
        f"{_VLLM}: inter_token_latency_seconds; the step without is told by whoever measured it",
        "Needs the same load without speculation. It is never more than tokens_per_step.",
    ),
    "kv_active": Definition(
        "share of 1",
        _M,
        "Blocks that running requests hold.",
        "kv_cache_usage_perc",
        _VLLM,
        "Blocks that only cache a prefix count as free, so that a thrashing pool may look half empty.",
    ),
    "kv_leased": Definition(
        "share of 1",
        _M,
        "Blocks that the gate has promised to running requests.",
        "leased blocks / leasable blocks",
        "the gate's /gate/status",
        "More than is written yet, on purpose.",
    ),
    "kv_warm": Definition(
        "share of 1",
        _M,
        "Blocks that live agents need, those included that wait for a tool.",
        "session blocks / leasable blocks",
        "the gate's /gate/status",
        "Above 1 the node is overcommitted; that pays up to some 1.3. No fixed alarm suits it.",
    ),
    "mfu": Definition(
        "share of 1",
        _C,
        "Useful arithmetic over the GPUs' peak.",
        "sum(projections + attention) of new prompt tokens and of emitted ones / (seconds x GPUs x peak)",
        "PaLM, arXiv 2204.02311, appendix B, for inference; peaks dense",
        "Decoding is bound by memory: a few percent are normal, and a high value means much prefill. Peak"
        " is FP8's"
        " where projections are multiplied in FP8. Attention counts in causal form, windows as windows;"
        " linear"
        " layers' own state is left out.",
    ),
    "hfu": Definition(
        "share of 1",
        _C,
        "All arithmetic over the GPUs' peak: what was recomputed, and drafts, included.",
        "mfu + (recomputed prompt tokens + rejected drafts + the draft model) / (seconds x GPUs x peak)",
        "PaLM, arXiv 2204.02311, appendix B",
        "Raising it is no aim: recomputing raises it.",
    ),
    "mbu": Definition(
        "share of 1",
        _C,
        "Bytes that had to move over what the HBM moves at its peak.",
        "(engine steps x weights read + KV read by each decoded step + KV written) / (seconds x GPUs x"
        " bandwidth)",
        f"{_VLLM}: iteration_tokens_total; {_RECORDS}",
        "The estimated_read_bytes counters of vLLM 0.33.0 are wrong under speculation (KV at 2 bytes), for"
        " compressed-tensors FP8 (weights at half a byte), in hybrid and windowed models (billed as full"
        " attention)"
        " and leave the draft out. Over 1 the measurement is wrong, not the machine fast.",
    ),
    "queue_wait_p50": Definition(
        "s",
        _M,
        "Wait at the gate, median.",
        "waited_seconds",
        _RECORDS,
        "The engine's own queue comes on top.",
    ),
    "queue_wait_p99": Definition(
        "s", _M, "Wait at the gate, 99th percentile.", "waited_seconds", _RECORDS, "Refused requests count."
    ),
    "engine_queue_mean": Definition(
        "s",
        _M,
        "Wait in the engine's own queue, mean.",
        "request_queue_time_seconds sum / count",
        _VLLM,
        "A mean: the page has buckets, but no request behind them.",
    ),
    "first_token_p99": Definition(
        "s",
        _M,
        "Until the first byte of the answer, 99th percentile.",
        "first_byte_seconds",
        _RECORDS,
        "Under 100 requests it is the slowest one.",
    ),
    "latency_p99": Definition(
        "s",
        _M,
        "Until the last byte, 99th percentile.",
        "last_byte_seconds",
        _RECORDS,
        "Depends on how long answers are.",
    ),
    "latency_volatility": Definition(
        "ratio",
        _M,
        "How much worse the worst are than the middle.",
        "p99 / median of last_byte_seconds",
        _RECORDS,
        "Answers of different lengths raise it without any fault.",
    ),
    "lease_overruns": Definition(
        "requests",
        _M,
        "Requests that wrote past a lease which could not grow.",
        "overruns since the gate started",
        "the gate's /gate/status",
        "None under strict leases; under expected ones a few are the price.",
    ),
    "engine_restarts": Definition(
        "restarts",
        _M,
        "How often the engine was started again.",
        "restarts since `up` began; without `up`, pages whose process began at another time than the last",
        "the gate's /gate/status; process_start_time_seconds",
        "Every lease and every cached prefix is lost with it, so that a storm of recomputing follows.",
    ),
    "memory_failures": Definition(
        "failures",
        _M,
        "How often the engine ended for want of memory.",
        "failures whose cause, read from the engine's log, is out_of_memory",
        "the gate's /gate/status under `up`",
        "The kernel's own killing (signal 9) leaves no word in the log and counts as `killed`, not here.",
    ),
    "cost_per_session": Definition(
        "currency",
        _C,
        "What an agent's work cost: a session is one agent's task.",
        "price per hour x hours / sessions",
        "the price is told",
        "Idle time counts; a session that was cut off counts as a whole one.",
    ),
}


def make(name: str, value: float | None, **more: Any) -> Reading:
    """A reading of a metric, with all that its definition tells.

    Raises:
        KeyError: there is no such metric.
    """
    known = DEFINITIONS[name]
    return Reading(name, value, known.unit, known.basis, known.formula, known.source, **more)


def missing(name: str, note: str, **more: Any) -> Reading:
    """A reading that could not be made, and why."""
    return make(name, None, note=note, **more)
