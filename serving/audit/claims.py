"""Holds claims against what memory, bandwidth and arithmetic allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from serving.audit.claim import Claim
from serving.audit.finding import Finding, Judged, Verdict
from serving.errors import ServingUsageError
from serving.plan.assumptions import DEFAULTS
from serving.profile.architecture import Architecture, AttentionLayers
from serving.profile.arithmetic import attention_flops, projection_flops, span_flops
from serving.profile.catalog import find_gpu, find_model
from serving.profile.formats import KV_16BIT, KV_FORMATS, KV_FP8, KvFormat
from serving.profile.memory import SequenceBytes, sequence_bytes
from serving.telemetry.node import Node

NEAR: Final = 0.9
"""Share of a bound above which a figure is doubtful: measured engines reach six to eight tenths of the"
" HBM."""

ROUNDING: Final = 0.05
"""How far a stated size may lie from the true one and still be it."""


def judge(claims: Iterable[Claim], *, hub_cache: str) -> tuple[Judged, ...]:
    """Every claim with what was found.

    Raises:
        ServingUsageError: a model, GPU or format is not known.
    """
    return tuple(
        Judged(claim.name, claim.says, claim.source, tuple(_findings(claim, hub_cache))) for claim in claims
    )


def _findings(claim: Claim, hub_cache: str) -> Iterator[Finding]:
    yield from _consistency(claim)
    if claim.model is None:
        return
    for kv in (claim.kv, claim.draft_kv):
        if kv is not None and kv not in KV_FORMATS:
            raise ServingUsageError(
                f"{claim.name}: kv cannot be {kv!r}; it is one of {', '.join(KV_FORMATS)}."
            )
    model = find_model(claim.model, hub_cache=hub_cache, weights=claim.weights)
    yield from _sizes(claim, model.architecture)
    if claim.gpu is None:
        return
    draft = find_model(claim.draft, hub_cache=hub_cache) if claim.draft else None
    kv = KV_FORMATS[claim.kv] if claim.kv else KV_FP8
    node = Node(
        model=model.architecture,
        weights=model.weights,
        kv=kv,
        gpu=find_gpu(claim.gpu),
        tensor_parallel=claim.gpus,
        draft=draft.architecture if draft else None,
        draft_weights=draft.weights if draft else None,
    )
    yield from _capacity(claim, node)
    yield from _velocity(claim, node)
    yield from _utilization(claim, node)
    yield from _slowdown(claim, node)
    yield from _first_token(claim, node)


# --- the claim against itself --------------------------------------------------------------------


def _consistency(claim: Claim) -> Iterator[Finding]:
    limit, depth = claim.context_limit_tokens, claim.depth_tokens
    if limit is not None and depth is not None:
        why = "a context that is kept under the limit never reaches the depth that the velocity is told for"
        yield _finding("depth", depth, limit, "tokens", why, worse=Verdict.CONTRADICTORY)
    if claim.kv_bytes is not None and claim.kv_bytes_per_token is not None and depth is not None:
        own = claim.kv_bytes_per_token * depth
        same = abs(claim.kv_bytes - own) <= ROUNDING * own
        verdict = Verdict.POSSIBLE if same else Verdict.CONTRADICTORY
        yield Finding("own sizes", verdict, claim.kv_bytes, own, "B", "its own bytes per token x tokens")
    before, after = claim.velocity_before, claim.velocity_after
    if claim.speedup is not None and before and after:
        own = after / before
        verdict = Verdict.POSSIBLE if claim.speedup <= own * (1 + ROUNDING) else Verdict.CONTRADICTORY
        yield Finding(
            "own speed-up", verdict, claim.speedup, own, "ratio", f"its own {before:g} to {after:g} tok/s"
        )
    if claim.slope_16bit is not None and claim.slope_8bit:
        ratio = claim.slope_16bit / claim.slope_8bit
        why = "half the bytes a token are read in no less than half the time; both columns had another load"
        yield _finding("KV format", ratio, 2.0, "ratio of slopes", why)


# --- sizes ---------------------------------------------------------------------------------------


def _sizes(claim: Claim, model: Architecture) -> Iterator[Finding]:
    formats = [KV_FORMATS[claim.kv]] if claim.kv else [KV_16BIT, KV_FP8]
    sizes = [sequence_bytes(model, kv) for kv in formats]
    if claim.kv_bytes_per_token is not None:
        true = [float(size.per_token) for size in sizes]
        yield _size(
            "KV bytes per token", claim.kv_bytes_per_token, true, formats, _without_groups(claim, model)
        )
    if claim.kv_bytes is not None and claim.depth_tokens is not None:
        true = [size.at(claim.depth_tokens) for size in sizes]
        yield _size("KV bytes of a sequence", claim.kv_bytes, true, formats, "")


def _size(check: str, claimed: float, true: list[float], formats: list[KvFormat], hint: str) -> Finding:
    nearest = min(true, key=lambda size: abs(size - claimed))
    known = ", ".join(f"{size:,.0f} in {kv.name}" for size, kv in zip(true, formats, strict=True))
    right = abs(claimed - nearest) <= ROUNDING * nearest
    why = f"layers x KV heads x head_dim: {known}" + ("" if right else hint)
    return Finding(check, Verdict.POSSIBLE if right else Verdict.IMPOSSIBLE, claimed, nearest, "B", why)


def _without_groups(claim: Claim, model: Architecture) -> str:
    """Says so where the claim forgot that query heads share keys."""
    for size in (1, 2):
        every = sum(
            layers.count * layers.heads * 2 * layers.head_dim * size
            for layers in model.layers
            if isinstance(layers, AttentionLayers)
        )
        if every and abs((claim.kv_bytes_per_token or 0) - every) <= ROUNDING * every:
            return f"; the claim is what one KV head for each query head would take at {size} B"
    return ""


# --- memory --------------------------------------------------------------------------------------


def _capacity(claim: Claim, node: Node) -> Iterator[Finding]:
    if claim.agents is None or claim.depth_tokens is None:
        return
    each = _sequence(claim, node).at(claim.depth_tokens)
    weights = node.weights.stored_bytes(node.model.parameters)
    if node.draft is not None and node.draft_weights is not None:
        weights += node.draft_weights.stored_bytes(node.draft.parameters)
    whole = node.gpus * node.gpu.memory_bytes
    served = node.gpus * (node.gpu.memory_bytes * DEFAULTS.utilization - DEFAULTS.overhead_bytes)
    most, usual = (max(0, int((memory - weights) // each)) for memory in (whole, served))
    kept = f"({whole / 1e9:,.0f} GB - {weights / 1e9:,.1f} GB of weights) / {each / 1e9:,.2f} GB a sequence"
    if claim.saturated:
        share = claim.agents * each / (served - weights)
        verdict = Verdict.POSSIBLE if share >= NEAR else Verdict.CONTRADICTORY
        why = f"{usual} such sequences fit; the claim fills {share:.0%} of what is left beside the weights"
        yield Finding("saturation", verdict, claim.agents, usual, "agents", why)
        return
    if claim.agents > most:
        yield Finding(
            "memory", Verdict.IMPOSSIBLE, claim.agents, most, "agents", f"{kept}: nothing else may be there"
        )
    elif claim.agents > usual:
        overhead = f"{DEFAULTS.overhead_bytes / 1e9:g} GB a GPU"
        why = f"{kept}, but an engine gets {DEFAULTS.utilization:.0%} of it and needs {overhead} besides"
        yield Finding("memory", Verdict.DOUBTFUL, claim.agents, usual, "agents", why)
    else:
        yield Finding("memory", Verdict.POSSIBLE, claim.agents, usual, "agents", kept)


def _sequence(claim: Claim, node: Node) -> SequenceBytes:
    if node.draft is None:
        return node.sequence
    kv = KV_FORMATS[claim.draft_kv] if claim.draft_kv else node.kv
    return node.sequence + sequence_bytes(node.draft, kv, tensor_parallel=node.tensor_parallel)


# --- time ----------------------------------------------------------------------------------------


def _velocity(claim: Claim, node: Node) -> Iterator[Finding]:
    if claim.velocity is None or claim.depth_tokens is None:
        return
    streams, tokens = claim.agents or 1, 1 + (claim.draft_tokens or 0)
    bound = node.velocity_bound(claim.depth_tokens, tokens, streams)
    read = node.step_bytes(claim.depth_tokens * streams, streams)
    why = f"{tokens} token(s) a step; {streams} stream(s) read {read / 1e9:,.1f} GB in it at the HBM's peak"
    yield _finding("bandwidth", claim.velocity, bound, "tok/s", why)


def _utilization(claim: Claim, node: Node) -> Iterator[Finding]:
    if claim.mfu is None:
        return
    peak = node.gpus * node.gpu.bf16_flops
    if not claim.decode_only or claim.depth_tokens is None:
        yield _finding("arithmetic", claim.mfu, 1.0, "share of 1", "of the 16-bit peak, dense")
        return
    each = projection_flops(node.model, 1, 1) + attention_flops(node.model, claim.depth_tokens)
    if claim.velocity is not None:
        rate = claim.velocity * (claim.agents or 1)
        how = f"{rate:,.0f} tok/s x {each / 1e9:,.0f} GFLOP a token"
    else:
        # More streams share the weights, until memory is full.
        left = node.gpus * node.gpu.memory_bytes - node.weights.stored_bytes(node.model.parameters)
        streams = max(1, int(left // node.sequence.at(claim.depth_tokens)))
        rate = streams * node.velocity_bound(claim.depth_tokens, 1 + (claim.draft_tokens or 0), streams)
        how = f"{streams} streams fill the memory and decode {rate:,.0f} tok/s at most"
        how += f", {each / 1e9:,.0f} GFLOP a token"
    bound = rate * each / peak
    prompt = projection_flops(node.model, 1, 0) + attention_flops(node.model, claim.depth_tokens / 2)
    short = (claim.mfu - bound) * peak / prompt
    why = f"{how}; the rest would be some {short:,.0f} uncached prompt tok/s" if short > 0 else how
    yield _finding("arithmetic", claim.mfu, bound, "share of 1", why)


def _slowdown(claim: Claim, node: Node) -> Iterator[Finding]:
    before, after, grown = claim.velocity_before, claim.velocity_after, claim.grown_tokens
    if not before or not after or grown is None:
        return
    depth = claim.depth_tokens or 0
    bound = node.step_bytes(depth + grown, 1) / node.step_bytes(depth, 1)
    own = (node.step_bytes(depth + grown, 1) - node.step_bytes(depth, 1)) / 1e9
    why = f"its own {grown:,} tokens add {own:,.2f} GB to what a step reads; something else slows it down"
    yield _finding("slow-down", before / after, bound, "ratio", why)


def _first_token(claim: Claim, node: Node) -> Iterator[Finding]:
    if claim.first_token_seconds is None or claim.depth_tokens is None:
        return
    projections = projection_flops(node.model, claim.depth_tokens, 1) / node.peak_flops
    attention = span_flops(node.model, 0, claim.depth_tokens) / (node.gpus * node.gpu.bf16_flops)
    least = projections + attention
    why = "projections at the peak of the weights' format, attention at 16 bits'"
    fast = claim.first_token_seconds < least
    verdict = Verdict.IMPOSSIBLE if fast else Verdict.POSSIBLE
    yield Finding("prefill", verdict, claim.first_token_seconds, least, "s", why)


def _finding(
    check: str, claimed: float, most: float, unit: str, why: str, *, worse: Verdict = Verdict.IMPOSSIBLE
) -> Finding:
    """Held against what is the most there can be."""
    if claimed > most:
        verdict = worse
    elif claimed > NEAR * most and worse is Verdict.IMPOSSIBLE:
        verdict = Verdict.DOUBTFUL
    else:
        verdict = Verdict.POSSIBLE
    return Finding(check, verdict, claimed, most, unit, why)
