"""Every number of a plan with its basis, formula and source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from serving.plan.assumptions import SOURCES
from serving.plan.choice import Candidate
from serving.plan.engine import Engine
from serving.plan.request import Request
from serving.profile.figure import Basis, Figure

_UNITS = {
    "utilization": "share of 1",
    "overhead_bytes": "B",
    "bandwidth_efficiency": "share of 1",
    "parallel_layer_seconds": "s",
    "sparse_layer_seconds": "s",
    "prefill_efficiency": "share of 1",
    "busy": "share of 1",
    "output_tokens": "tokens",
    "fresh_share": "share of 1",
}


def figures(request: Request, chosen: Candidate) -> tuple[Figure, ...]:
    """All figures of the chosen topology under the load."""
    return (
        *_memory(request, chosen),
        *_sequence(request, chosen.engine),
        *_velocity(request, chosen),
        *_prefill(request, chosen.engine),
        *_hardware(request),
        *_assumed(request),
    )


def _computed(name: str, value: float, unit: str, formula: str, source: str = "") -> Figure:
    return Figure(name, value, unit, Basis.COMPUTED, formula, source)


def _sequence(request: Request, engine: Engine) -> Iterator[Figure]:
    depth, sequence = request.load.depth_tokens, engine.sequence
    yield _computed(
        "kv_bytes_per_token",
        sequence.per_token,
        "B per pool",
        "2 x layers x GPUs x max(1, KV heads / GPUs) x head_dim x bytes; latent:"
        " layers x GPUs x (rank + rope) x bytes",
        "AttentionSpec and MLAAttentionSpec of vLLM 0.33.0",
    )
    window = sequence.per_window_token * min(depth, sequence.window_tokens)
    yield _computed(
        "window_bytes_per_sequence", window, "B per pool", "the same, for the last window of tokens"
    )
    yield _computed(
        "state_bytes_per_sequence",
        sequence.state,
        "B per pool",
        "linear layers x (recurrent + convolution state) x copies; 2 copies with prefix caching",
        "MambaSpec of vLLM 0.33.0",
    )


def _memory(request: Request, chosen: Candidate) -> Iterator[Figure]:
    engine = chosen.engine
    parameters = request.model.architecture.parameters
    config = request.model.source
    yield _computed(
        "parameters", parameters.total, "parameters", "sum over the layers of its config.json", config
    )
    yield _computed(
        "active_parameters", parameters.active, "parameters", "what one token is multiplied with", config
    )
    yield _computed(
        "weight_bytes",
        engine.weight_bytes,
        "B per pool",
        f"parameters x bytes of {request.model.weights.name}; embedding, head and norms in 16 bits",
    )
    yield _computed(
        "pool_bytes",
        engine.pool_bytes,
        "B per pool",
        "GPUs x (memory x utilization - overhead) - weights; utilization and overhead are assumed",
    )
    yield _computed(
        "block_tokens",
        engine.block_tokens,
        "tokens",
        "16; in a hybrid as many as make a layer's keys and values as large as its state",
        "vllm/platforms/interface.py of 0.33.0",
    )
    yield _computed("pools", chosen.topology.pools, "pools", "data-parallel ranks x servers")
    yield _computed(
        "agents_in_memory", chosen.in_memory, "agents", "pools x floor(pool_bytes / bytes of whole blocks)"
    )


def _velocity(request: Request, chosen: Candidate) -> Iterator[Figure]:
    engine, depth = chosen.engine, request.load.depth_tokens
    yield _computed(
        "agents_above_floor",
        chosen.above_floor,
        "agents",
        "most streams whose expected velocity keeps the floor, over the busy share; rests on assumptions",
    )
    yield _computed(
        "velocity_alone_bound",
        engine.velocity(1, depth, least_time=True),
        "tok/s",
        "1 / max(bytes read / bandwidth, operations / peak); nothing exceeds it",
        "roofline: Williams et al. 2009",
    )
    yield _computed(
        "velocity_alone",
        engine.velocity(1, depth),
        "tok/s",
        "1 / (bound time / bandwidth_efficiency + layers x layer_seconds); rests on assumptions",
    )
    yield _computed(
        "velocity_loaded_bound", chosen.velocity_bound, "tok/s", "the same with the load's streams"
    )
    yield _computed("velocity_loaded", chosen.velocity, "tok/s", "the same, expected; rests on assumptions")


def _prefill(request: Request, engine: Engine) -> Iterator[Figure]:
    depth = request.load.depth_tokens
    formula = "(2 x active + 4 x heads x head_dim x mean context x layers) x tokens / operations per second"
    yield _computed(
        "prefill_cold_floor", engine.prefill_seconds(depth, least=True), "s", f"{formula}, at the peak"
    )
    yield _computed(
        "prefill_cold",
        engine.prefill_seconds(depth),
        "s",
        f"{formula} x prefill_efficiency; rests on assumptions",
    )
    fresh = depth * request.assume.fresh_share
    yield _computed(
        "prefill_turn",
        engine.prefill_seconds(fresh, depth - fresh),
        "s",
        "the fresh share of the depth behind a cached prefix; rests on assumptions",
    )


def _hardware(request: Request) -> Iterator[Figure]:
    gpu = request.gpu
    seen = gpu.sources["memory_bytes"]
    yield Figure("gpu_memory_bytes", gpu.memory_bytes, "B", Basis.ASSUMED, "", seen)
    sheet = gpu.sources["bandwidth_bytes_per_second"]
    yield _computed("gpu_bandwidth", gpu.bandwidth_bytes_per_second, "B/s", "data sheet", sheet)
    yield _computed(
        "gpu_bf16_flops", gpu.bf16_flops, "FLOP/s", "data sheet, dense", gpu.sources["bf16_flops"]
    )
    formula = "data sheet, dense" if gpu.fp8_flops else "its tensor cores have no FP8"
    yield Figure("gpu_fp8_flops", gpu.fp8_flops, "FLOP/s", Basis.COMPUTED, formula, gpu.sources["fp8_flops"])


def _assumed(request: Request) -> Iterator[Figure]:
    for field in fields(request.assume):
        value: float = getattr(request.assume, field.name)
        yield Figure(field.name, value, _UNITS[field.name], Basis.ASSUMED, "", SOURCES[field.name])
