"""Configurations as models publish them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serving import ModelConfigError, ServingUsageError
from serving.profile.catalog import find_gpu, find_model, gpus
from serving.profile.config import read_architecture
from serving.profile.formats import WEIGHT_FORMATS, has_kv_scales, weights_of

PLAIN: dict[str, Any] = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}

LATENT: dict[str, Any] = {
    **PLAIN,
    "model_type": "deepseek_v3",
    "kv_lora_rank": 32,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "q_lora_rank": 24,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 1,
}


# Billions of parameters as the models' makers publish them.
@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("llama-3.1-70b-fp8", 70.55, 69.50),
        ("llama-3.1-8b", 8.03, 7.50),
        ("qwen2.5-coder-32b", 32.76, 31.98),
        ("qwen3-coder-30b-a3b", 30.53, 3.03),
        ("gpt-oss-120b", 116.8, 5.12),
        ("qwen3-coder-next", 79.7, 3.51),
    ],
)
def test_parameters_are_those_of_the_model(name: str, total: float, active: float) -> None:
    parameters = find_model(name, hub_cache="/nowhere").architecture.parameters
    assert parameters.total / 1e9 == pytest.approx(total, rel=1e-3)
    assert parameters.active / 1e9 == pytest.approx(active, rel=1e-3)


def test_parameters_by_hand() -> None:
    model = read_architecture(PLAIN)
    # Attention: 64 x 64 for queries, 2 x 64 x 32 for keys and values, 64 x 64 out = 12,288.
    # MLP: 3 x 64 x 128 = 24,576. Norms: 2 x 64 a layer and 64 at the end.
    assert model.parameters.linear == 2 * (12_288 + 24_576)
    assert model.parameters.embedding == 64_000
    assert model.parameters.head == 0
    assert model.parameters.small == 2 * 2 * 64 + 64


def test_latent_attention_by_hand() -> None:
    model = read_architecture(LATENT)
    # Queries 64 x 24 + 24 x 4 x 24 = 3,840; latent 64 x 40 = 2,560; keys and values 32 x 4 x 32 = 4,096;
    # out 4 x 16 x 64 = 4,096; together 14,592 a layer. MLP: one dense layer of 3 x 64 x 128, one shared
    # expert of 3 x 64 x 32.
    assert model.parameters.linear == 2 * 14_592 + 24_576 + 6_144
    assert model.parameters.experts == 8 * 3 * 64 * 32
    assert model.mtp_layers == 1
    assert model.mtp is not None


def test_what_is_not_understood_is_refused() -> None:
    for change, told in (
        ({"model_type": "mamba"}, "'mamba' is not understood"),
        ({"model_type": None}, "no model_type"),
        ({"hidden_size": None}, "no usable hidden_size"),
        ({"num_hidden_layers": -1}, "num_hidden_layers"),
        ({"num_key_value_heads": "two"}, "num_key_value_heads"),
        ({"layer_types": ["full_attention"]}, "names 1 layers"),
        ({"layer_types": ["chunked_attention"] * 2}, "'chunked_attention'"),
        ({"use_sliding_window": True}, "which layers slide"),
        ({"num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [0]}, "mlp_only_layers"),
        ({"num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 2}, "2th layer"),
    ):
        with pytest.raises(ModelConfigError, match=told):
            read_architecture({**PLAIN, **change})


@pytest.mark.parametrize(
    ("stated", "weights", "scales"),
    [
        (None, "bf16", False),
        ({"quant_method": "fp8"}, "fp8", False),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}, "fp8", True),
        ({"quant_method": "mxfp4"}, "mxfp4", False),
        ({"quant_method": "awq", "bits": 4}, "int4", False),
        ({"quant_method": "gptq", "bits": 8}, "int8", False),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"type": "float", "num_bits": 8}}},
                "kv_cache_scheme": {"num_bits": 8},
            },
            "fp8",
            True,
        ),
    ],
)
def test_the_checkpoints_quantization(stated: object, weights: str, scales: bool) -> None:
    config = {**PLAIN, **({"quantization_config": stated} if stated else {})}
    assert weights_of(config) == weights
    assert has_kv_scales(config) is scales


def test_an_unknown_quantization_asks_to_be_told() -> None:
    with pytest.raises(ModelConfigError, match="--weights"):
        weights_of({"quantization_config": {"quant_method": "bitsandbytes"}})


def test_experts_read_grow_with_the_tokens_of_a_step() -> None:
    parameters = read_architecture(LATENT).parameters
    form = WEIGHT_FORMATS["bf16"]
    one, many = form.read_bytes(parameters, 1), form.read_bytes(parameters, 10_000)
    assert one - form.read_bytes(parameters, 0) == pytest.approx(2 * parameters.experts * 2 / 8)
    assert many == pytest.approx(form.stored_bytes(parameters) - 2 * parameters.embedding + 2 * 64_000)


def test_models_are_found_in_a_folder_and_in_the_hubs_cache(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(PLAIN))
    assert find_model(str(folder), hub_cache="/nowhere").architecture == read_architecture(PLAIN)
    assert find_model(str(folder / "config.json"), hub_cache="/nowhere", weights="fp8").weights.name == "fp8"
    cached = tmp_path / "hub" / "models--org--name"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("abc")
    (cached / "snapshots" / "abc").mkdir(parents=True)
    (cached / "snapshots" / "abc" / "config.json").write_text(json.dumps(PLAIN))
    assert find_model("org/name", hub_cache=str(tmp_path / "hub")).checkpoint == "org/name"
    with pytest.raises(ModelConfigError, match="Nothing is downloaded"):
        find_model("org/other", hub_cache=str(tmp_path / "hub"))
    (folder / "config.json").write_text("[")
    with pytest.raises(ModelConfigError, match="cannot be read"):
        find_model(str(folder), hub_cache="/nowhere")
    (folder / "config.json").write_text("[]")
    with pytest.raises(ModelConfigError, match="holds no object"):
        find_model(str(folder), hub_cache="/nowhere")


def test_quantization_beside_the_configuration_and_overruled(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PLAIN))
    quantization = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps({"quantization": quantization}))
    model = find_model(str(tmp_path), hub_cache="/nowhere")
    assert (model.weights.name, model.has_kv_scales, model.quantized_in_checkpoint) == ("fp8", True, True)
    assert not find_model(str(tmp_path), hub_cache="/nowhere", weights="int4").quantized_in_checkpoint
    (tmp_path / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "NVFP4"}}))
    with pytest.raises(ModelConfigError, match="modelopt nvfp4"):
        find_model(str(tmp_path), hub_cache="/nowhere")
    assert find_model(str(tmp_path), hub_cache="/nowhere", weights="int4").weights.name == "int4"


def test_every_gpu_tells_where_its_figures_are_from() -> None:
    assert {"h100-sxm", "h100-pcie", "h100-nvl", "h200", "a100-80", "a100-40"} <= set(gpus())
    for gpu in gpus().values():
        assert gpu.sources["memory_bytes"] and gpu.sources["bandwidth_bytes_per_second"]
        assert 1e12 < gpu.bandwidth_bytes_per_second < 1e13
        assert gpu.fp8_flops is None or gpu.fp8_flops == pytest.approx(2 * gpu.bf16_flops, rel=1e-2)
    with pytest.raises(ServingUsageError, match="h100-sxm"):
        find_gpu("h100")
