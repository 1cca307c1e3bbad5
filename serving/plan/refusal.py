"""Says what cannot be, and what would fit instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from serving.errors import DoesNotFitError, ServingUsageError
from serving.plan.advice import OFFLOADED_DEPTH_TOKENS
from serving.plan.choice import best, candidates
from serving.plan.load import Load
from serving.plan.request import Request
from serving.profile.formats import KV_16BIT, KV_FP8
from serving.profile.gpu import Gpu

_NODE_GPUS = (1, 2, 4, 8)


def check(request: Request, others: Iterable[Gpu] = ()) -> None:
    """Refuse what not even one agent can have.

    Args:
        request: what is asked for.
        others: GPUs that may be named instead.

    Raises:
        ServingUsageError: the depth is beyond what the model was made for.
        DoesNotFitError: not one agent fits, or none reaches the velocity floor.
    """
    refusal = _refusal(request)
    if refusal:
        raise DoesNotFitError(refusal, alternatives=list(alternatives(request, others)))


def _refusal(request: Request) -> str:
    """Why nothing can run; empty where something can."""
    load, longest = request.load, request.model.architecture.max_positions
    if load.depth_tokens > longest:
        raise ServingUsageError(
            f"{request.model.name} was made for {longest:,} tokens;"
            f" a depth of {load.depth_tokens:,} is beyond it."
        )
    found = candidates(request.engine(), request.gpus, load)
    where = f"{request.gpus} x {request.gpu.title}"
    if not any(candidate.weights_fit for candidate in found):
        need = found[0].engine.weight_bytes / 1e9
        return (
            f"The weights of {request.model.name} alone, {need:.1f} GB in {request.model.weights.name},"
            f" leave no room for a KV cache on {where}."
        )
    if all(candidate.in_memory == 0 for candidate in found):
        roomiest = max(found, key=lambda candidate: candidate.engine.pool_bytes)
        engine = roomiest.engine
        return (
            f"Not one agent of {load.depth_tokens:,} tokens fits beside {request.model.name} on {where}:"
            f" it takes {engine.sequence.at(load.depth_tokens) / 1e9:.2f} GB of {request.kv_format.name} KV"
            f" cache, and {engine.pool_bytes / 1e9:.2f} GB are left,"
            f" {engine.sequence.longest(engine.pool_bytes):,} tokens."
        )
    if all(candidate.limit == 0 for candidate in found):
        fastest = max(
            candidate.engine.velocity(1, load.depth_tokens) for candidate in found if candidate.in_memory
        )
        return (
            f"Even one stream of {load.depth_tokens:,} tokens decodes at {fastest:.0f} tok/s on {where},"
            f" under the floor of {load.floor_tokens_per_second:g}."
        )
    return ""


def alternatives(request: Request, others: Iterable[Gpu] = ()) -> Iterator[str]:
    """What would carry the load, smallest change first; each was computed."""
    load = request.load
    if request.kv_format is KV_16BIT and _carries(replace(request, kv=KV_FP8)):
        yield "an FP8 KV cache (--kv fp8)"
    if load.depth_tokens > OFFLOADED_DEPTH_TOKENS:
        bounded = Load(load.agents, OFFLOADED_DEPTH_TOKENS, load.floor_tokens_per_second)
        if _carries(replace(request, load=bounded)):
            yield f"contexts bounded to {OFFLOADED_DEPTH_TOKENS:,} tokens by offloading (--depth 18k)"
    if (fewer := _most_agents(request)) > 0:
        yield f"{fewer} agents of {load.depth_tokens:,} tokens (--agents {fewer})"
    elif (shorter := _longest(request)) >= 1000:
        yield f"one agent of at most {shorter:,} tokens (--agents 1 --depth {shorter // 1000}k)"
    for gpus in _NODE_GPUS:
        if gpus > request.gpus and _carries(replace(request, gpus=gpus)):
            yield f"{gpus} x {request.gpu.title} (--gpus {gpus})"
            break
    for other in others:
        if other.memory_bytes > request.gpu.memory_bytes and _carries(replace(request, gpu=other)):
            yield f"{request.gpus} x {other.title} (--gpu {other.name})"
            break


def _carries(request: Request) -> bool:
    found = candidates(request.engine(), request.gpus, request.load)
    return bool(found) and best(found, request.load).carries(request.load)


def _most_agents(request: Request) -> int:
    """The most agents at the load's depth."""
    found = candidates(request.engine(), request.gpus, request.load)
    return max((candidate.limit for candidate in found), default=0)


def _longest(request: Request) -> int:
    """The longest single context that any topology holds, full thousands."""
    rooms = [
        candidate.engine.sequence.longest(candidate.engine.pool_bytes)
        for candidate in candidates(request.engine(), request.gpus, request.load)
    ]
    return min(max(rooms, default=0), request.model.architecture.max_positions) // 1000 * 1000
