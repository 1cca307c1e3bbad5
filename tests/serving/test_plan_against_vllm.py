"""What a plan computes beside what vLLM itself allocates and accepts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from serving.profile.catalog import find_model
from serving.profile.command import engine_argv
from serving.profile.formats import KV_16BIT, KV_FP8
from serving.profile.load import load_profile, shipped_profiles
from serving.profile.memory import sequence_bytes
from tests.serving import environment, models

pytestmark = [pytest.mark.serving, pytest.mark.timeout(900)]

PROBE = Path(__file__).with_name("kv_probe.py")
PARSE = Path(__file__).with_name("parse_argv.py")
POOL_BYTES = 1 << 30
LONG_TOKENS = 32_768

SMALL: dict[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": LONG_TOKENS,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, "moe_intermediate_size": 64}
CONFIGS: dict[str, dict[str, Any]] = {
    "latent": {
        **SMALL,
        **EXPERTS,
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "num_key_value_heads": 4,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        "q_lora_rank": 64,
        "n_routed_experts": 8,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
        "n_group": 1,
        "topk_group": 1,
        "topk_method": "noaux_tc",
        "scoring_func": "sigmoid",
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
    },
    "window": {
        **SMALL,
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "sliding_window": 128,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "attention_bias": True,
        "tie_word_embeddings": False,
        "rope_theta": 150000,
    },
    "hybrid": {
        **SMALL,
        **EXPERTS,
        "architectures": ["Qwen3NextForCausalLM"],
        "model_type": "qwen3_next",
        "num_experts": 8,
        "shared_expert_intermediate_size": 64,
        "decoder_sparse_step": 1,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 64,
        "linear_value_head_dim": 64,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "full_attention_interval": 4,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    },
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of models: real and tiny ones with weights, and configurations whose weights vLLM makes up."""
    root = tmp_path_factory.mktemp("configs")
    for name, config in CONFIGS.items():
        (root / name).mkdir()
        (root / name / "config.json").write_text(json.dumps(config))
    made = {name: str(root / name) for name in CONFIGS}
    return made | {"tiny": str(models.tiny()), "real": str(models.smollm2()), "draft": str(models.draft(6))}


@pytest.fixture(scope="module")
def pools(folders: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What vLLM allocates for each, from one process that loads one after the other."""
    dummy = {"load_format": "dummy", "skip_tokenizer_init": True, "max_model_len": LONG_TOKENS}
    asked: dict[str, dict[str, Any]] = {
        "tiny": {"model": folders["tiny"]},
        "tiny fp8": {"model": folders["tiny"], "kv_cache_dtype": "fp8"},
        "real": {"model": folders["real"]},
        "real with draft": {
            "model": folders["real"],
            "speculative_config": {
                "method": "draft_model",
                "model": folders["draft"],
                "num_speculative_tokens": 2,
            },
        },
        **{name: {"model": folders[name], **dummy} for name in CONFIGS},
    }
    home = tmp_path_factory.mktemp("home")
    variables = environment.variables(home) | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    done = subprocess.run(
        [environment.python(), PROBE, json.dumps(list(asked.values()))],
        env=variables,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("PROBED "))
    return dict(zip(asked, json.loads(line.removeprefix("PROBED ")), strict=True))


def _planned(folders: dict[str, str], name: str):
    return find_model(folders[name], hub_cache="/nowhere").architecture


@pytest.mark.parametrize(
    ("pool", "name"), [("tiny", "tiny"), ("tiny fp8", "tiny"), ("real", "real"), ("latent", "latent")]
)
def test_bytes_per_token_are_what_vllm_allocates(
    pools: dict[str, dict[str, Any]], folders: dict[str, str], pool: str, name: str
) -> None:
    told = pools[pool]
    kv = KV_FP8 if pool.endswith("fp8") else KV_16BIT
    computed = sequence_bytes(_planned(folders, name), kv).per_token
    (block,) = told["block_tokens"]
    assert told["bytes"] == told["blocks"] * block * computed
    assert told["tokens"] == told["blocks"] * block
    assert told["blocks"] == POOL_BYTES // (block * computed)


def test_a_draft_shares_the_pool(pools: dict[str, dict[str, Any]], folders: dict[str, str]) -> None:
    together = sequence_bytes(_planned(folders, "real"), KV_16BIT) + sequence_bytes(
        _planned(folders, "draft"), KV_16BIT
    )
    told = pools["real with draft"]
    # 36 layers of 2 x 3 x 64 x 2 bytes.
    assert together.per_token == 36 * 768
    assert told["tokens"] == pytest.approx(POOL_BYTES / together.per_token, rel=0.005)


@pytest.mark.parametrize("name", ["window", "hybrid"])
def test_sequences_of_mixed_layers_are_what_vllm_logs(
    pools: dict[str, dict[str, Any]], folders: dict[str, str], name: str
) -> None:
    """vLLM counts whole blocks of every group, and a window with the chunk that is being filled."""
    computed = POOL_BYTES / sequence_bytes(_planned(folders, name), KV_16BIT).at(LONG_TOKENS)
    logged = pools[name]["tokens"] / LONG_TOKENS
    assert logged <= computed
    assert logged == pytest.approx(computed, rel=0.05)


def test_vllm_accepts_the_command_of_every_profile(tmp_path: Path) -> None:
    lines = [engine_argv(load_profile(name)) for name in shipped_profiles()]
    done = subprocess.run(
        [environment.python(), PARSE],
        input=json.dumps(lines),
        env=environment.variables(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    accepted = json.loads(done.stdout.splitlines()[-1])
    assert [entry["max_model_len"] for entry in accepted] == [
        load_profile(name).max_model_len for name in shipped_profiles()
    ]
