"""Arithmetic and bytes of a run over what the GPUs could have done: MFU, HFU, MBU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from serving.profile.arithmetic import attention_flops, projection_flops, span_flops
from serving.telemetry.definitions import make, missing
from serving.telemetry.engine import EngineSample
from serving.telemetry.node import Node
from serving.telemetry.reading import Reading
from serving.telemetry.requests import ServedRequest, new_tokens, wall_seconds

AGREEMENT: Final = 0.05
"""How far the records' and the engine's count of tokens written may lie apart to be of the same run."""


@dataclass(frozen=True)
class Work:
    """What requests came to.

    Attributes:
        useful_flops: of new prompt tokens and of what was written.
        recomputed_flops: of prompt tokens that the session had held before and that were not cached.
        kv_read_bytes: by decoding, each step reading its stream's context once, at one token a step.
        kv_written_bytes: of prompt tokens computed and tokens decoded.
        output_tokens: written.
        computed_tokens: of prompts.
        prompts_without_cached: requests that did not tell what was cached; taken as all but the new tokens.
    """

    useful_flops: float
    recomputed_flops: float
    kv_read_bytes: float
    kv_written_bytes: float
    output_tokens: int
    computed_tokens: int
    prompts_without_cached: int


def work_of(requests: Sequence[ServedRequest], node: Node) -> Work:
    """The arithmetic and the traffic of these requests, apart from weights."""
    model, sequence = node.model, node.sequence
    useful = recomputed = read = written = 0.0
    output = computed = unknown = 0
    for place, fresh in new_tokens(requests).items():
        request = requests[place]
        prompt, out = request.prompt_tokens or 0, request.output_tokens
        held = prompt - fresh
        cached = min(prompt, request.cached_tokens if request.cached_tokens is not None else held)
        unknown += request.cached_tokens is None
        decoded = max(0, out - 1)  # the first token comes from the prompt's own pass
        useful += projection_flops(model, fresh, min(1, out)) + span_flops(model, held, prompt)
        useful += projection_flops(model, decoded, decoded) + span_flops(model, prompt, prompt + decoded)
        if cached < held:
            recomputed += projection_flops(model, held - cached, 0) + span_flops(model, cached, held)
        read += decoded * sequence.at(prompt + decoded / 2)
        written += (prompt - cached + decoded) * (sequence.per_token + sequence.per_window_token)
        output += out
        computed += prompt - cached
    return Work(useful, recomputed, read, written, output, computed, unknown)


def utilization(
    requests: Sequence[ServedRequest],
    engine: EngineSample | None,
    node: Node | None,
    seconds: float | None = None,
) -> Iterator[Reading]:
    """MFU, HFU and MBU; with what is missing where one cannot be had. ``seconds``: as in recomputing."""
    seconds = wall_seconds(requests) if seconds is None else seconds
    if node is None or seconds <= 0:
        for name in ("mfu", "hfu", "mbu"):
            yield missing(name, "needs the model and the GPU" if node is None else "no record tells a time")
        return
    work = work_of(requests, node)
    apart = _apart(work, engine)
    mfu = work.useful_flops / (seconds * node.peak_flops)
    note = apart or _unknown(work)
    yield make("mfu", mfu, impossible=_over("arithmetic", mfu), note=note)
    if engine is None or apart:
        why = apart or "needs the engine's metrics page: drafts and steps"
        yield missing("hfu", why, low=mfu, bounds="at least the MFU")
        yield missing("mbu", why)
        return
    flops = work.useful_flops + work.recomputed_flops + _drafting_flops(work, engine, node)
    hfu = flops / (seconds * node.peak_flops)
    yield make("hfu", hfu, impossible=_over("arithmetic", hfu), note=note)
    yield _mbu(work, engine, node, seconds)


def _mbu(work: Work, engine: EngineSample, node: Node, seconds: float) -> Reading:
    if not engine.iterations:
        return missing("mbu", "the page tells no steps of the engine (vllm:iteration_tokens_total)")
    steps, parameters = engine.iterations, node.model.parameters
    each = (work.output_tokens + work.computed_tokens) / steps
    verified = 1 + engine.draft_tokens / engine.drafts if engine.drafts else 1.0
    traffic = work.kv_read_bytes / engine.tokens_per_step + work.kv_written_bytes
    traffic += _draft_bytes(engine, node)
    limit = seconds * node.bandwidth_bytes_per_second
    value = (steps * node.weights.read_bytes(parameters, each * verified) + traffic) / limit
    low = (steps * node.weights.read_bytes(parameters, 1) + traffic) / limit
    wrong = _over("memory traffic", low)
    note = (
        _unknown(work)
        or "iteration_tokens_total counts a chunked prompt whole; prefill's KV reads are left out"
    )
    bounds = "low: each step reads the experts of one token"
    return make("mbu", value, low=low, bounds=bounds, impossible=wrong, note=note)


def _drafting_flops(work: Work, engine: EngineSample, node: Node) -> float:
    rejected = max(0.0, engine.draft_tokens - engine.accepted_tokens)
    mean = work.kv_read_bytes / max(1, work.output_tokens) / max(1, node.sequence.per_token)
    flops = rejected * (2 * node.model.parameters.active + attention_flops(node.model, mean))
    if node.draft is not None:
        drafted = 2 * node.draft.parameters.active + attention_flops(node.draft, mean)
        flops += engine.draft_tokens * drafted
    return flops


def _draft_bytes(engine: EngineSample, node: Node) -> float:
    """A draft model's weights, read for each token that is drafted in a step for all streams together."""
    if node.draft is None or node.draft_weights is None or not engine.drafts or not engine.steps:
        return 0.0
    each = node.draft_weights.read_bytes(node.draft.parameters, 1)
    return engine.iterations * engine.draft_tokens / engine.drafts * each


def _apart(work: Work, engine: EngineSample | None) -> str:
    if engine is None:
        return ""
    told = engine.generation_tokens
    if abs(told - work.output_tokens) <= AGREEMENT * max(told, work.output_tokens):
        return ""
    return (
        f"records tell {work.output_tokens:,} tokens written, the engine {told:,.0f}: they are not of the"
        " same"
        " run; give pages from its begin and its end"
    )


def _unknown(work: Work) -> str:
    if not work.prompts_without_cached:
        return ""
    return f"{work.prompts_without_cached:,} records tell no cached tokens; taken as all that was held before"


def _over(what: str, share: float) -> str:
    if share <= 1:
        return ""
    return f"{share:.2f} times the {what} that the GPUs can do: model, format, GPU or the records are wrong"


def counter_defects(
    node: Node, *, compressed_tensors: bool = False, speculation: bool = False
) -> tuple[str, ...]:
    """Why vLLM's own estimated counters must not be used for this node; empty where they agree with ours.

    Source: vLLM 0.33.0, ``v1/metrics/perf.py``, measured against hand-counted steps.
    """
    found: list[str] = []
    if speculation:
        found.append("a step that verifies drafts is billed as prefill: KV at 2 bytes, the head's work once")
        found.append("the draft is left out")
    if compressed_tensors and node.weights.linear_bits == 8:
        found.append("compressed-tensors FP8 weights are billed at half a byte")
    if node.model.is_hybrid or node.model.has_window:
        found.append("layers with a state or a window are billed as full attention")
    if node.model.is_sparse:
        found.append(
            "a step is taken to read min(tokens x experts per token, experts), as if routing never met"
        )
    return tuple(found)
