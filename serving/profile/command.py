"""A profile as the engine's command line, one reason a flag. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from serving.profile.fields import FIELDS
from serving.profile.model import Profile, Speculation


@dataclass(frozen=True)
class Flag:
    """One option of ``vllm serve``.

    Attributes:
        words: the option and its value, as they stand on the command line.
        why: the reason that it is set.
    """

    words: tuple[str, ...]
    why: str


_VALUED: Final = (
    "served_model_name", "host", "port", "dtype", "max_model_len", "tensor_parallel", "data_parallel",
    "gpu_memory_utilization", "kv_cache_dtype", "kv_offloading_gib", "max_num_seqs", "max_num_batched_tokens",
    "long_prefill_token_threshold", "watermark", "tool_call_parser", "reasoning_parser",
)  # fmt: skip
_ALWAYS: Final = {"host", "port", "max_model_len", "kv_cache_dtype", "max_num_seqs", "max_num_batched_tokens"}
_SINGLE: Final = {"tensor_parallel", "data_parallel"}


def engine_flags(profile: Profile, replica: int = 0) -> tuple[Flag, ...]:
    """The options of one server.

    Args:
        profile: what is served.
        replica: which of its servers, from 0; each takes the next port.
    """
    return tuple(_flags(profile, replica))


def engine_argv(profile: Profile, replica: int = 0) -> list[str]:
    """``vllm serve MODEL`` with every option, as a list of words."""
    words = [word for flag in engine_flags(profile, replica) for word in flag.words]
    return ["vllm", "serve", profile.model, *words]


def engine_variables(profile: Profile) -> dict[str, str]:
    """Environment variables that the engine needs beside its options."""
    variables = {"VLLM_NO_USAGE_STATS": "1"}
    if profile.engine == "vllm-cpu":
        variables["VLLM_CPU_KVCACHE_SPACE"] = f"{profile.cpu_kv_cache_gib:g}"
        # With both of two cores bound, decoding fell to a third.
        variables["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
        variables["OMP_NUM_THREADS"] = "1"
    return variables


def rendered(profile: Profile, replica: int = 0) -> str:
    """The command for a shell, one option a line."""
    lines = [shlex.join(("vllm", "serve", profile.model))]
    lines += [f"  {shlex.join(flag.words)}" for flag in engine_flags(profile, replica)]
    return " \\\n".join(lines)


def why(profile: Profile, name: str) -> str:
    """The reason for a field: the profile's own, else the field's."""
    return profile.notes.get(name) or FIELDS[name].why


def _flags(profile: Profile, replica: int) -> Iterator[Flag]:
    for name in _VALUED:
        value: object = getattr(profile, name)
        if name == "port":
            value = profile.port + replica
        if _is_told(profile, name, value):
            yield Flag((FIELDS[name].flag, _word(value)), why(profile, name))
        if name == "tool_call_parser" and value:
            yield Flag(("--enable-auto-tool-choice",), "the model decides itself when to call a tool")
        if name == "kv_cache_dtype" and profile.kv_cache_dtype_skip_layers:
            skipped = FIELDS["kv_cache_dtype_skip_layers"].flag
            yield Flag(
                (skipped, *profile.kv_cache_dtype_skip_layers), why(profile, "kv_cache_dtype_skip_layers")
            )
    negation = "" if profile.prefix_caching else "no-"
    yield Flag((f"--{negation}enable-prefix-caching",), why(profile, "prefix_caching"))
    yield Flag(("--enable-chunked-prefill",), "prompts are filled in pieces between decode steps")
    yield Flag(("--enable-scale-out",), "the gate has the engine count prompts exactly, as rendered")
    yield Flag(("--enable-prompt-tokens-details",), "the gate learns what the prefix cache saved")
    yield Flag(
        ("--disable-access-log-for-endpoints", "/health,/metrics"),
        "the gate reads these every two seconds; the log is for what clients asked",
    )
    if profile.expert_parallel:
        yield Flag((FIELDS["expert_parallel"].flag,), why(profile, "expert_parallel"))
    if profile.enforce_eager:
        yield Flag((FIELDS["enforce_eager"].flag,), why(profile, "enforce_eager"))
    if profile.language_model_only:
        yield Flag((FIELDS["language_model_only"].flag,), why(profile, "language_model_only"))
    if profile.speculation is not None:
        told = json.dumps(speculative_config(profile.speculation), separators=(",", ":"))
        yield Flag((FIELDS["speculation"].flag, told), why(profile, "speculation"))


def _is_told(profile: Profile, name: str, value: object) -> bool:
    """Whether an option stands on the line: not where it is empty, nor a part of nothing."""
    if name in _ALWAYS:
        return True
    if name in _SINGLE:
        return value != 1
    if name == "dtype":
        return value != "auto"
    if name == "gpu_memory_utilization":
        return profile.engine != "vllm-cpu"
    return bool(value)


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def speculative_config(speculation: Speculation) -> dict[str, object]:
    """The value of ``--speculative-config``. Source: SpeculativeConfig of vLLM 0.33.0."""
    told: dict[str, object] = {
        "method": speculation.method,
        "num_speculative_tokens": speculation.tokens,
    }
    if speculation.model:
        told["model"] = speculation.model
    if speculation.tensor_parallel:
        told["draft_tensor_parallel_size"] = speculation.tensor_parallel
    if speculation.method == "ngram":
        told["prompt_lookup_max"] = 4
        told["prompt_lookup_min"] = 2
    return told
