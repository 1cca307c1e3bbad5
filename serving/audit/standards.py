"""The five standards of a node that serves agents: passed, failed or not measurable, with the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from serving.profile.formats import KV_16BIT
from serving.profile.memory import sequence_bytes
from serving.profile.model import Profile
from serving.telemetry.definitions import DEEP_TOKENS, FORMAL_OUTPUT_TOKENS
from serving.telemetry.report import Observed
from serving.telemetry.speed import velocities
from serving.telemetry.statistics import proportion_bounds, quantile

FLOOR: Final = 30.0
"""Tokens per second that a deep stream must keep."""

CHUNK_TOKENS: Final = range(512, 2049)
"""Tokens of a prompt that one step may hold."""

FREEZE_SHARE: Final = 0.001
"""Share of a stream's steps that may take over a second; each is a pause that a person sees."""

DOUBLED: Final = 1.9
"""Ratio of bytes from which capacity counts as doubled; states of hybrid models are not halved."""

SYNTAX_MARGIN: Final = 0.02
"""By how much the share of generations with syntax errors may rise at most, at 95 %."""


class Status(StrEnum):
    """Of a standard."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True)
class Standard:
    """One standard with what was found.

    Attributes:
        name: stable in JSON.
        requires: in a sentence.
        status: passed only where every part was measured and holds; failed where one does not hold.
        evidence: what was found, a sentence each.
        missing: what must be given to measure the rest; empty where nothing is missing.
    """

    name: str
    requires: str
    status: Status
    evidence: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """All that the standards are measured by.

    Attributes:
        observed: records, counters and the node.
        profile: how the engine is run; None where it was not told.
        syntax: generations parsed with the low-bit KV cache and without it, as
            ``{"on": {"generations": N, "errors": K}, "off": {...}}``; None where that was not measured.
        offload: what ``mcp-offload --json stats`` prints; None where it was not told.
    """

    observed: Observed
    profile: Profile | None = None
    syntax: Mapping[str, Any] | None = None
    offload: Mapping[str, Any] | None = None


_Part = tuple[bool | None, str]
"""Whether a part holds, and the evidence; None where it cannot be told, and then what is missing."""


def audit(evidence: Evidence) -> tuple[Standard, ...]:
    """The five standards in order.

    Raises:
        ValueError: the syntax counts or the offload statistics are malformed.
    """
    return (
        _standard(
            "sustained_velocity",
            f"Nine of ten answers of {FORMAL_OUTPUT_TOKENS:,} tokens and more, from {DEEP_TOKENS:,} tokens"
            " of context"
            f" on, decode at {FLOOR:g} tok/s or faster.",
            _velocity(evidence.observed),
        ),
        _standard(
            "paged_memory",
            "KV cache is paged: no sequence has a buffer reserved for its longest possible length.",
            _paging(evidence),
        ),
        _standard(
            "chunked_prefill",
            f"A step computes {CHUNK_TOKENS.start} to {CHUNK_TOKENS.stop - 1:,} tokens of a prompt, and"
            " decoding"
            " never stands still meanwhile.",
            _chunking(evidence),
        ),
        _standard(
            "low_bit_kv",
            "KV cache takes 8 bits, holds twice as much, and generated code has no more syntax errors.",
            _low_bits(evidence),
        ),
        _standard(
            "offloading",
            "Large artifacts stay out of the context: sessions use handles.",
            _offloading(evidence),
        ),
    )


def _standard(name: str, requires: str, parts: Iterator[_Part]) -> Standard:
    found = list(parts)
    if any(holds is False for holds, _ in found):
        status = Status.FAILED
    elif all(holds for holds, _ in found):
        status = Status.PASSED
    else:
        status = Status.NOT_MEASURABLE
    known = tuple(told for holds, told in found if holds is not None)
    return Standard(name, requires, status, known, tuple(told for holds, told in found if holds is None))


def _velocity(observed: Observed) -> Iterator[_Part]:
    deep = [
        request.decode_tokens_per_second
        for request in observed.requests
        if (request.prompt_tokens or 0) >= DEEP_TOKENS and request.output_tokens >= FORMAL_OUTPUT_TOKENS
    ]
    speeds = [speed for speed in deep if speed is not None]
    if not speeds:
        yield None, f"records with answers of {FORMAL_OUTPUT_TOKENS:,} tokens from {DEEP_TOKENS:,} tokens on"
        return
    slow, median = quantile(speeds, 0.1), quantile(speeds, 0.5)
    told = f"p10 {slow:.1f}, median {median:.1f} tok/s over {len(speeds):,} answers"
    wrong = [reading.impossible for reading in velocities(observed.requests, observed.engine, observed.node)]
    if any(wrong):
        yield None, f"records that can be true: {next(why for why in wrong if why)}"
    yield slow >= FLOOR, told


def _paging(evidence: Evidence) -> Iterator[_Part]:
    engine, profile = evidence.observed.engine, evidence.profile
    if engine is None or not engine.blocks or not engine.block_tokens:
        yield None, "a metrics page with vllm:cache_config_info"
        return
    told = f"{engine.blocks:,} blocks of {engine.block_tokens:,} tokens, {engine.kv_usage:.1%} in use"
    if profile is None:
        yield None, f"the profile, for the longest sequence ({told})"
        return
    longest = profile.max_model_len
    yield engine.block_tokens * 8 <= longest, f"{told}; the longest sequence has {longest:,}"


def _chunking(evidence: Evidence) -> Iterator[_Part]:
    engine, profile = evidence.observed.engine, evidence.profile
    if profile is None:
        yield None, "the profile, for the size of a chunk"
    else:
        limit = profile.long_prefill_token_threshold or profile.max_num_batched_tokens
        tokens = min(limit, profile.max_num_batched_tokens)
        yield tokens in CHUNK_TOKENS, f"one prompt takes up to {tokens:,} tokens of a step"
    if engine is None or not engine.steps or not engine.steps_within_second:
        yield None, "a metrics page with vllm:inter_token_latency_seconds, after load"
        return
    slow = max(0.0, engine.steps - engine.steps_within_second)
    yield slow / engine.steps <= FREEZE_SHARE, f"{slow:,.0f} of {engine.steps:,.0f} steps took over a second"


def _low_bits(evidence: Evidence) -> Iterator[_Part]:
    engine, node, profile = evidence.observed.engine, evidence.observed.node, evidence.profile
    dtype = engine.cache_dtype if engine and engine.cache_dtype else profile.kv_cache_dtype if profile else ""
    if not dtype:
        yield None, "a metrics page or the profile, for the KV cache's format"
    else:
        yield dtype.startswith(("fp8", "int8")), f"the KV cache's format is {dtype}"
    if node is None:
        yield None, "the model and the GPU, for the capacity"
    else:
        wide = sequence_bytes(node.model, KV_16BIT, tensor_parallel=node.tensor_parallel).at(DEEP_TOKENS)
        ratio = wide / node.sequence.at(DEEP_TOKENS)
        yield ratio >= DOUBLED, f"a sequence of {DEEP_TOKENS:,} tokens takes 1/{ratio:.2f} of its 16-bit size"
    yield _syntax(evidence.syntax)


def _syntax(counts: Mapping[str, Any] | None) -> _Part:
    if counts is None:
        return (
            None,
            "generated code with the low-bit KV cache on and off (--generations-on and -off, or --syntax)",
        )
    errors, trials = _pair(counts, "on")
    errors_off, trials_off = _pair(counts, "off")
    low, high = proportion_bounds(errors, trials)
    before = errors_off / trials_off
    told = (
        f"{errors:,} of {trials:,} generations do not parse with it, {errors_off:,} of {trials_off:,} without"
        f"{_left_out(counts)}"
    )
    if low > proportion_bounds(errors_off, trials_off)[1]:
        return False, told
    if high <= before + SYNTAX_MARGIN:
        return True, told
    return None, f"more generations: {told}, which could be {high - before:.1%} more"


def _left_out(counts: Mapping[str, Any]) -> str:
    cut = sum(int(counts[key].get("cut", 0)) for key in ("on", "off"))
    return f" ({cut:,} that were cut off are left out)" if cut else ""


def _pair(counts: Mapping[str, Any], key: str) -> tuple[int, int]:
    try:
        errors, trials = int(counts[key]["errors"]), int(counts[key]["generations"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"syntax counts need {key}.generations and {key}.errors as whole numbers") from error
    if not 0 <= errors <= trials or trials == 0:
        raise ValueError(f"{errors} errors cannot come of {trials} generations ({key})")
    return errors, trials


def _offloading(evidence: Evidence) -> Iterator[_Part]:
    if evidence.offload is None:
        yield None, "what mcp-offload delivered (--workspace, or --offload-stats)"
        return
    delivered = cast("Mapping[str, Any] | None", evidence.offload.get("delivered"))
    if not delivered:
        raise ValueError("offload statistics lack `delivered`; give what `mcp-offload --json stats` prints")
    sessions, kept = len(delivered.get("sessions") or ()), delivered.get("kept_out_tokens")
    if not sessions:
        yield False, "no session was served by handle"
    elif kept is None:
        yield None, f"token counts: {sessions:,} sessions were served, but what they kept out was not counted"
    else:
        yield kept > 0, f"{sessions:,} sessions kept {kept:,} tokens out of their contexts"


def failed(standards: Sequence[Standard]) -> bool:
    """Whether one of them failed."""
    return any(standard.status is Status.FAILED for standard in standards)
