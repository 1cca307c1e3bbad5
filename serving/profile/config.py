"""Reads a Hugging Face ``config.json`` as an :class:`Architecture`. Pure.

Source: the model classes of transformers 5.19 and vLLM 0.33, whose projections are counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias, cast

from serving.errors import ModelConfigError
from serving.profile.architecture import (
    Architecture,
    AttentionLayers,
    LatentLayers,
    Layers,
    LinearLayers,
    Parameters,
)

Config: TypeAlias = Mapping[str, object]

_PLAIN: Final = {"llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen3_moe", "gpt_oss"}
_HYBRID: Final = {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}
_LATENT: Final = {"deepseek_v2", "deepseek_v3", "kimi_k2"}

UNDERSTOOD: Final = tuple(sorted(_PLAIN | _HYBRID | _LATENT))
"""Values of ``model_type`` whose layers are known."""

_DTYPE_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}


def read_architecture(config: Config) -> Architecture:
    """Count layers, parameters and state from a configuration.

    Raises:
        ModelConfigError: a field is missing, or the model has layers that are not understood.
    """
    text = _text(config)
    model_type = _text_field(text, "model_type")
    if model_type not in _PLAIN | _HYBRID | _LATENT:
        raise ModelConfigError(
            f"model_type {model_type!r} is not understood; planned are {', '.join(UNDERSTOOD)}."
            " A plan for other layers would be a guess."
        )
    attention = _attention_layers(text, model_type)
    parameters = _parameters(text, model_type, attention)
    mtp_layers = _optional(text, "mtp_num_hidden_layers") or _optional(text, "num_nextn_predict_layers")
    return Architecture(
        model_type=model_type,
        hidden=_int(text, "hidden_size"),
        vocabulary=_int(text, "vocab_size"),
        max_positions=_int(text, "max_position_embeddings"),
        layers=attention,
        parameters=parameters,
        mtp_layers=mtp_layers,
        mtp=_mtp_attention(attention, mtp_layers),
        mtp_parameters=mtp_layers * _mtp_layer_parameters(text, model_type, attention),
    )


# --- layers -------------------------------------------------------------------------------------


def _attention_layers(text: Config, model_type: str) -> tuple[Layers, ...]:
    count = _int(text, "num_hidden_layers")
    heads = _int(text, "num_attention_heads")
    if model_type in _LATENT:
        return (
            LatentLayers(
                count=count,
                heads=heads,
                rank=_int(text, "kv_lora_rank"),
                rope_dim=_int(text, "qk_rope_head_dim"),
                nope_dim=_int(text, "qk_nope_head_dim"),
                value_dim=_int(text, "v_head_dim"),
            ),
        )
    kv_heads = _optional(text, "num_key_value_heads") or heads
    head_dim = _optional(text, "head_dim") or _int(text, "hidden_size") // heads
    found: list[Layers] = []
    for kind, number in _kinds(text, model_type, count).items():
        if kind == "linear_attention":
            found.append(_linear(text, number))
        elif kind in ("full_attention", "sliding_attention"):
            window = _int(text, "sliding_window") if kind == "sliding_attention" else None
            found.append(AttentionLayers(number, heads, kv_heads, head_dim, window))
        else:
            raise ModelConfigError(f"layer_types has {kind!r}, a kind of layer that is not understood.")
    return tuple(found)


def _kinds(text: Config, model_type: str, count: int) -> Counter[str]:
    """Layers by kind, in the order in which the kinds first appear."""
    types = text.get("layer_types")
    if isinstance(types, list):
        named = cast("list[object]", types)
        if len(named) != count:
            raise ModelConfigError(f"layer_types names {len(named)} layers, num_hidden_layers says {count}.")
        return Counter(str(kind) for kind in named)
    if model_type in _HYBRID:
        full = count // _int(text, "full_attention_interval")
        return Counter({"linear_attention": count - full, "full_attention": full})
    if text.get("use_sliding_window") is True or (model_type == "mistral" and text.get("sliding_window")):
        if model_type != "mistral":
            raise ModelConfigError("use_sliding_window without layer_types does not say which layers slide.")
        return Counter({"sliding_attention": count})
    return Counter({"full_attention": count})


def _linear(text: Config, count: int) -> LinearLayers:
    # vLLM takes the recurrent state's type from mamba_ssm_dtype, else that of the model.
    # Source: vllm/model_executor/models/config.py of 0.33.0.
    dtype = str(text.get("mamba_ssm_dtype") or "bfloat16")
    if dtype not in _DTYPE_BYTES:
        raise ModelConfigError(f"mamba_ssm_dtype {dtype!r} is not understood.")
    return LinearLayers(
        count=count,
        key_heads=_int(text, "linear_num_key_heads"),
        value_heads=_int(text, "linear_num_value_heads"),
        key_dim=_int(text, "linear_key_head_dim"),
        value_dim=_int(text, "linear_value_head_dim"),
        conv_kernel=_int(text, "linear_conv_kernel_dim"),
        state_bytes_per_element=_DTYPE_BYTES[dtype],
    )


def _mtp_attention(layers: tuple[Layers, ...], count: int) -> AttentionLayers | LatentLayers | None:
    """A prediction layer attends as the model's full-attention layers do."""
    if not count:
        return None
    for kind in layers:
        if isinstance(kind, LatentLayers):
            return LatentLayers(count, kind.heads, kind.rank, kind.rope_dim, kind.nope_dim, kind.value_dim)
        if isinstance(kind, AttentionLayers) and kind.window is None:
            return AttentionLayers(count, kind.heads, kind.kv_heads, kind.head_dim)
    raise ModelConfigError(
        "The model has prediction layers but no layer with full attention to shape them by."
    )


# --- parameters ---------------------------------------------------------------------------------


def _parameters(text: Config, model_type: str, layers: tuple[Layers, ...]) -> Parameters:
    hidden = _int(text, "hidden_size")
    count = _int(text, "num_hidden_layers")
    table = _int(text, "vocab_size") * hidden
    experts = _expert_count(text)
    sparse = _sparse_layers(text, count) if experts else 0
    linear = sum(kind.count * _projections(kind, text, model_type) for kind in layers)
    linear += (count - sparse) * 3 * hidden * _dense_width(text, count - sparse)
    linear += sparse * 3 * hidden * _shared_width(text)
    small = 2 * count * hidden + hidden + sparse * hidden * experts
    small += sum(_small_of(kind, hidden) for kind in layers)
    return Parameters(
        embedding=table,
        head=0 if text.get("tie_word_embeddings") else table,
        linear=linear,
        experts=sparse * experts * 3 * hidden * _expert_width(text) if sparse else 0,
        small=small,
        expert_count=experts if sparse else 0,
        experts_per_token=_int(text, "num_experts_per_tok") if sparse else 0,
    )


def _projections(kind: Layers, text: Config, model_type: str) -> int:
    """Parameters of one layer's attention."""
    hidden = _int(text, "hidden_size")
    if isinstance(kind, LinearLayers):
        keys, values = kind.key_heads * kind.key_dim, kind.value_heads * kind.value_dim
        return hidden * (2 * keys + 2 * values) + values * hidden
    if isinstance(kind, LatentLayers):
        query_rank = _optional(text, "q_lora_rank")
        queries = kind.heads * (kind.nope_dim + kind.rope_dim)
        into = hidden * query_rank + query_rank * queries if query_rank else hidden * queries
        compressed = hidden * (kind.rank + kind.rope_dim)
        expanded = kind.rank * kind.heads * (kind.nope_dim + kind.value_dim)
        return into + compressed + expanded + kind.heads * kind.value_dim * hidden
    queries = kind.heads * kind.head_dim
    gated = 2 if model_type in _HYBRID and text.get("attn_output_gate", True) else 1
    return hidden * queries * gated + 2 * hidden * kind.kv_heads * kind.head_dim + queries * hidden


def _small_of(kind: Layers, hidden: int) -> int:
    """Parameters of these layers that no quantization touches, beside norms."""
    if not isinstance(kind, LinearLayers):
        return 0
    return kind.count * (kind.conv_channels * kind.conv_kernel + 2 * hidden * kind.value_heads)


def _expert_count(text: Config) -> int:
    for name in ("num_experts", "num_local_experts", "n_routed_experts"):
        if found := _optional(text, name):
            return found
    return 0


def _expert_width(text: Config) -> int:
    return _optional(text, "moe_intermediate_size") or _int(text, "intermediate_size")


def _dense_width(text: Config, layers: int) -> int:
    return _int(text, "intermediate_size") if layers else 0


def _shared_width(text: Config) -> int:
    """Width of the expert that every token passes."""
    if found := _optional(text, "shared_expert_intermediate_size"):
        return found
    return _optional(text, "n_shared_experts") * _optional(text, "moe_intermediate_size")


def _sparse_layers(text: Config, count: int) -> int:
    """Layers with routed experts."""
    if text.get("mlp_only_layers"):
        raise ModelConfigError("mlp_only_layers is set; models of that kind are not understood.")
    step = _optional(text, "decoder_sparse_step") or _optional(text, "moe_layer_freq") or 1
    if step != 1:
        raise ModelConfigError(
            f"Only every {step}th layer has experts; models of that kind are not understood."
        )
    return count - _optional(text, "first_k_dense_replace")


def _mtp_layer_parameters(text: Config, model_type: str, layers: tuple[Layers, ...]) -> int:
    """One prediction layer: a layer with full attention, and the projection that joins its inputs."""
    hidden = _int(text, "hidden_size")
    kinds = [kind for kind in layers if not isinstance(kind, LinearLayers)]
    experts = _expert_count(text)
    width = (
        experts * _expert_width(text) + _shared_width(text) if experts else _int(text, "intermediate_size")
    )
    return _projections(kinds[0], text, model_type) + 3 * hidden * width + 2 * hidden * hidden


# --- fields -------------------------------------------------------------------------------------


def _text(config: Config) -> Config:
    """The part that describes the language model."""
    inner = config.get("text_config")
    if not isinstance(inner, Mapping):
        return config
    text = dict(cast("Config", inner))
    text.setdefault("tie_word_embeddings", config.get("tie_word_embeddings", False))
    return text


def _int(text: Config, name: str) -> int:
    value = text.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ModelConfigError(f"config.json has no usable {name}: {value!r}; it must be a positive integer.")
    return value


def _optional(text: Config, name: str) -> int:
    value = text.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ModelConfigError(f"config.json has an unusable {name}: {value!r}; it must be an integer.")
    return value


def _text_field(text: Config, name: str) -> str:
    value = text.get(name)
    if not isinstance(value, str):
        raise ModelConfigError(f"config.json has no {name}; is it a model's configuration?")
    return value
