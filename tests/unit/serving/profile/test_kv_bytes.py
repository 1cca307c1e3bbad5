"""Bytes of KV cache and state, held to figures worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.profile.architecture import AttentionLayers
from serving.profile.catalog import find_model, shipped_models
from serving.profile.formats import KV_16BIT, KV_FP8, KV_INT8
from serving.profile.memory import (
    SequenceBytes,
    block_tokens,
    mtp_bytes,
    replication,
    sequence_bytes,
    token_bytes,
)


def _model(name: str):
    return find_model(name, hub_cache="/nowhere").architecture


# 2 (key, value) x layers with full attention x KV heads x head_dim x bytes:
#   Llama 70B           2 x 80 x 8 x 128 x 2 = 327,680
#   Llama 8B            2 x 32 x 8 x 128 x 2 = 131,072
#   Qwen2.5 Coder 32B   2 x 64 x 8 x 128 x 2 = 262,144
#   Qwen3 Coder 30B     2 x 48 x 4 x 128 x 2 =  98,304
#   Qwen3.6 27B         2 x 16 x 4 x 256 x 2 =  65,536    (every 4th of 64 layers)
#   gpt-oss 120B        2 x 18 x 8 x  64 x 2 =  36,864    (every 2nd of 36 layers)
#   Qwen3 Coder Next    2 x 12 x 2 x 256 x 2 =  24,576    (every 4th of 48 layers)
#   Qwen3.6 35B-A3B     2 x 10 x 2 x 256 x 2 =  20,480    (every 4th of 40 layers)
PER_TOKEN = {
    "llama-3.1-70b-fp8": 327_680,
    "llama-3.1-8b": 131_072,
    "qwen2.5-coder-32b": 262_144,
    "qwen3-coder-30b-a3b": 98_304,
    "qwen3.6-27b": 65_536,
    "gpt-oss-120b": 36_864,
    "qwen3-coder-next": 24_576,
    "qwen3.6-35b-a3b": 20_480,
}


def test_every_shipped_model_has_its_figure() -> None:
    assert set(PER_TOKEN) == set(shipped_models())


@pytest.mark.parametrize("name", PER_TOKEN)
def test_bytes_per_token(name: str) -> None:
    model = _model(name)
    assert sequence_bytes(model, KV_16BIT).per_token == PER_TOKEN[name]
    assert sequence_bytes(model, KV_FP8).per_token * 2 == PER_TOKEN[name]


def test_int8_has_a_float32_scale_beside_each_vector() -> None:
    # Llama 70B: 80 layers x 8 KV heads x 2 vectors x (128 + 4) bytes.
    assert sequence_bytes(_model("llama-3.1-70b-fp8"), KV_INT8).per_token == 168_960


def test_a_window_costs_its_tokens_and_no_more() -> None:
    # gpt-oss 120B: 18 layers x 2 x 8 heads x 64 x 2 bytes x 128 tokens = 4,718,592.
    sequence = sequence_bytes(_model("gpt-oss-120b"), KV_16BIT)
    assert sequence.at(128) == 128 * 36_864 + 4_718_592
    assert sequence.at(100_000) == 100_000 * 36_864 + 4_718_592
    assert sequence.at(64) == 64 * (36_864 + 36_864)
    skipped = sequence_bytes(_model("gpt-oss-120b"), KV_FP8, window_kv=KV_16BIT)
    assert skipped.at(1000) == 1000 * 18_432 + 4_718_592


def test_a_linear_layer_keeps_a_state_whatever_the_length() -> None:
    # Qwen3.6 27B: 48 layers; recurrent 48 heads x 128 x 128 x 4 bytes (its state is float32) = 3,145,728;
    # convolution (2 x 16 x 128 + 48 x 128) channels x 3 x 2 bytes = 61,440; together 3,207,168 a layer.
    sequence = sequence_bytes(_model("qwen3.6-27b"), KV_16BIT)
    assert sequence.state == 48 * 3_207_168 == 153_944_064
    assert sequence_bytes(_model("qwen3.6-27b"), KV_16BIT, state_copies=2).state == 2 * 153_944_064
    # Qwen3 Coder Next says nothing of it, so it is 16 bits: 36 x (32 x 128 x 128 x 2 + 8,192 x 3 x 2).
    assert sequence_bytes(_model("qwen3-coder-next"), KV_16BIT).state == 36 * (1_048_576 + 49_152)


def test_fewer_kv_heads_than_gpus_are_stored_several_times() -> None:
    next_coder = _model("qwen3-coder-next")  # 2 KV heads
    plain = sequence_bytes(next_coder, KV_FP8).per_token
    stored = [sequence_bytes(next_coder, KV_FP8, tensor_parallel=gpus).per_token for gpus in (2, 4, 8)]
    assert stored == [plain, 2 * plain, 4 * plain]
    assert [replication(next_coder, gpus) for gpus in (1, 2, 4, 8)] == [1, 1, 2, 4]


def test_a_latent_is_stored_by_every_gpu() -> None:
    from serving.profile.architecture import LatentLayers

    # DeepSeek V3: 61 layers x (512 + 64) x 2 bytes = 70,272 a GPU.
    latent = LatentLayers(61, 128, 512, 64, 128, 128)
    assert token_bytes(latent, KV_16BIT, 1) == 70_272
    assert token_bytes(latent, KV_16BIT, 8) == 8 * 70_272


def test_a_prediction_layer_keeps_keys_of_its_own() -> None:
    # Qwen3.6 27B has one: 2 x 4 heads x 256 x 1 byte.
    assert mtp_bytes(_model("qwen3.6-27b"), KV_FP8).per_token == 2048
    assert mtp_bytes(_model("llama-3.1-8b"), KV_FP8).per_token == 0


def test_a_block_of_a_hybrid_is_as_large_as_a_state() -> None:
    # Qwen3.6 27B, FP8, one GPU: state 3,207,168 bytes a layer over 2 x 4 x 256 a token = 1,566, rounded up.
    assert block_tokens(_model("qwen3.6-27b"), KV_FP8, 1) == 1568
    assert block_tokens(_model("qwen3.6-27b"), KV_16BIT, 1) == 784
    assert block_tokens(_model("llama-3.1-8b"), KV_FP8, 1) == 16


@given(
    st.integers(1, 10_000),
    st.integers(0, 10_000),
    st.integers(0, 4096),
    st.integers(0, 10**6),
    st.integers(0, 10**10),
)
def test_the_longest_sequence_fits_and_the_next_does_not(
    per_token: int, per_window: int, window: int, state: int, room: int
) -> None:
    sequence = SequenceBytes(per_token, per_window if window else 0, window, state)
    longest = sequence.longest(room)
    assert longest == 0 or sequence.at(longest) <= room
    assert sequence.at(longest + 1) > room


@given(st.integers(1, 64), st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([1, 2, 4, 8]))
def test_a_group_never_stores_less_than_the_model_has(layers: int, kv_heads: int, gpus: int) -> None:
    kind = AttentionLayers(layers, 64, kv_heads, 128)
    assert token_bytes(kind, KV_16BIT, gpus) == token_bytes(kind, KV_16BIT, 1) * max(1, gpus // kv_heads)
