"""Turns a choice into the engine's settings, with a reason for each that this load decided."""

from __future__ import annotations

from collections.abc import Sequence

from serving.plan.choice import Candidate
from serving.plan.request import FP8_PAYS_TOKENS, Request
from serving.plan.speculation import SpeculationVerdict
from serving.profile.formats import KV_16BIT, KV_FP8
from serving.profile.model import Profile, Speculation, SpeculationMethod

_HEADROOM = 1.25
"""Room for output and growth beyond the depth that is planned for."""


def planned_profile(
    request: Request, chosen: Candidate, verdicts: Sequence[SpeculationVerdict], name: str = "planned"
) -> Profile:
    """The profile that a plan recommends."""
    engine, load, kv = chosen.engine, request.load, request.kv_format
    model = request.model
    streams = max(1, min(engine.agents_in_memory(load.depth_tokens), _per_pool(chosen)))
    speculation = _speculation(request, chosen, verdicts)
    return Profile(
        name=name,
        summary=f"{load.agents} agents of {load.depth_tokens:,} tokens, {request.gpus} x {request.gpu.title}",
        model=model.checkpoint,
        architecture=model.name,
        weights=model.weights.name,
        engine_version=request.engine_version,
        gpu=request.gpu.name,
        gpus=request.gpus,
        tensor_parallel=chosen.topology.tensor_parallel,
        data_parallel=chosen.topology.data_parallel,
        replicas=chosen.topology.replicas,
        expert_parallel=chosen.topology.expert_parallel,
        gpu_memory_utilization=request.assume.utilization,
        kv_cache_dtype=kv.flag,
        kv_cache_dtype_skip_layers=("sliding_window",) if engine.window_kv is not None else (),
        max_model_len=_longest(request, chosen),
        max_num_seqs=streams,
        speculation=speculation,
        language_model_only=model.has_vision,
        tool_call_parser=model.tool_call_parser,
        reasoning_parser=model.reasoning_parser,
        served_model_name=model.checkpoint.rsplit("/", 1)[-1].lower(),
        min_tokens_per_second=load.floor_tokens_per_second,
        notes=_notes(request, chosen, streams),
    )


def _per_pool(chosen: Candidate) -> int:
    return chosen.above_floor // chosen.topology.pools


def _longest(request: Request, chosen: Candidate) -> int:
    """The depth with room to grow, no longer than the model and the pool allow."""
    engine = chosen.engine
    room = engine.sequence.longest(engine.pool_bytes)
    wanted = -(-round(request.load.depth_tokens * _HEADROOM) // 1024) * 1024
    return min(wanted, room, request.model.architecture.max_positions)


def _speculation(
    request: Request, chosen: Candidate, verdicts: Sequence[SpeculationVerdict]
) -> Speculation | None:
    if not request.acceptance_measured:
        return None
    paying = [verdict for verdict in verdicts if verdict.pays(chosen.agents_per_pool)]
    if not paying:
        return None
    draft = max(paying, key=lambda verdict: verdict.loaded).draft
    method: SpeculationMethod = draft.method  # type: ignore[assignment]
    checkpoint = request.draft_checkpoint if method in ("draft_model", "eagle3") else None
    return Speculation(method, draft.tokens, model=checkpoint, acceptance=draft.acceptance)


def _notes(request: Request, chosen: Candidate, streams: int) -> dict[str, str]:
    load, topology, kv = request.load, chosen.topology, request.kv_format
    notes = {
        "max_model_len": f"{load.depth_tokens:,} tokens and a quarter more, as far as pool and model allow",
        "max_num_seqs": (
            f"{streams} of {load.depth_tokens:,} tokens fit each pool and keep"
            f" {load.floor_tokens_per_second:g} tok/s"
        ),
    }
    if topology.tensor_parallel > 1:
        notes["tensor_parallel"] = f"each copy lies on {topology.tensor_parallel} GPUs"
        if chosen.stored_times > 1:
            notes["tensor_parallel"] += f"; each key is stored {chosen.stored_times:g} times"
    if topology.data_parallel > 1:
        notes["data_parallel"] = f"{topology.data_parallel} KV caches, each key stored once in its own"
    if kv is KV_FP8:
        scales = "the checkpoint's scales" if request.model.has_kv_scales else "scale 1.0: check its output"
        notes["kv_cache_dtype"] = f"half the bytes of 16 bits, so twice the tokens; {scales}"
    elif kv is KV_16BIT and request.kv is None:
        notes["kv_cache_dtype"] = (
            f"16 bits: with keys of {request.model.architecture.largest_head_dim} elements FP8 pays from"
            f" about {FP8_PAYS_TOKENS:,} tokens on"
        )
    return notes
