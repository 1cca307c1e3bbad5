"""How weights and KV caches are stored: bytes per element, and what the engine calls it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from serving.errors import ModelConfigError
from serving.profile.architecture import Parameters


@dataclass(frozen=True)
class KvFormat:
    """A format of the KV cache.

    Attributes:
        name: as typed.
        flag: the value of vLLM's ``--kv-cache-dtype``.
        element_bytes: of a key's or value's element.
        scale_bytes_per_vector: beside each head's key, and each head's value, of every token.
    """

    name: str
    flag: str
    element_bytes: int
    scale_bytes_per_vector: int = 0


KV_16BIT: Final = KvFormat("16bit", "auto", 2)
KV_FP8: Final = KvFormat("fp8", "fp8_e4m3", 1)
KV_INT8: Final = KvFormat("int8", "int8_per_token_head", 1, 4)
"""Source: TritonAttentionBackend.customize_spec of vLLM 0.33.0: one float32 scale after each vector."""

KV_FORMATS: Final[Mapping[str, KvFormat]] = {form.name: form for form in (KV_16BIT, KV_FP8, KV_INT8)}


@dataclass(frozen=True)
class WeightFormat:
    """A format of the weights. Embedding, head, norms, routers and convolutions stay in 16 bits.

    Attributes:
        name: as typed.
        linear_bits: of a projection's element with its share of the scales.
        expert_bits: of an expert's.
        computes_fp8: True where a GPU with FP8 tensor cores multiplies in FP8.
    """

    name: str
    linear_bits: float
    expert_bits: float
    computes_fp8: bool = False

    def stored_bytes(self, parameters: Parameters) -> int:
        """Bytes of all weights on one copy of the model."""
        wide = parameters.embedding + parameters.head + parameters.small
        return round(
            2 * wide + parameters.linear * self.linear_bits / 8 + parameters.experts * self.expert_bits / 8
        )

    def read_bytes(self, parameters: Parameters, tokens: float) -> float:
        """Bytes of weights that one step with ``tokens`` tokens reads.

        Every projection and the head are read once; of the experts, those that some token is routed to, for
        routing that is even and independent; of the embedding, a few rows.
        """
        fixed = 2 * (parameters.head_or_tied + parameters.small) + parameters.linear * self.linear_bits / 8
        if not parameters.expert_count:
            return fixed
        missed = (1 - parameters.experts_per_token / parameters.expert_count) ** tokens
        return fixed + parameters.experts * self.expert_bits / 8 * (1 - missed)


WEIGHT_FORMATS: Final[Mapping[str, WeightFormat]] = {
    form.name: form
    for form in (
        WeightFormat("bf16", 16, 16),
        WeightFormat("fp8", 8, 8, computes_fp8=True),
        WeightFormat("int8", 8, 8),
        WeightFormat("int4", 4.15625, 4.15625),  # 4 bits, and 16 + 4 bits of scale and zero for 128 elements
        WeightFormat("mxfp4", 16, 4.25),  # experts only: 4 bits, and 8 bits of scale for 32 elements
    )
}


def weights_of(config: Mapping[str, object]) -> str:
    """The name of the format that a checkpoint's ``quantization_config`` states; bf16 where it has none.

    Raises:
        ModelConfigError: it states one that is not understood.
    """
    stated = config.get("quantization_config")
    if not isinstance(stated, Mapping):
        return "bf16"
    quantization = cast("Mapping[str, object]", stated)
    method = str(quantization.get("quant_method", "")).lower()
    algorithm = str(quantization.get("quant_algo", "")).lower()
    if method == "mxfp4":
        return "mxfp4"
    if method == "fp8" or algorithm == "fp8":
        return "fp8"
    bits = quantization.get("bits")
    if method in ("awq", "gptq") and bits in (4, 8):
        return f"int{bits}"
    if method == "compressed-tensors" and (found := _compressed(quantization)):
        return found
    raise ModelConfigError(
        f"The checkpoint's quantization ({method or 'unnamed'} {algorithm}) is not understood; say how its"
        f" weights are stored with --weights: {', '.join(WEIGHT_FORMATS)}."
    )


def _compressed(quantization: Mapping[str, object]) -> str | None:
    groups = quantization.get("config_groups")
    if not isinstance(groups, Mapping):
        return None
    found: set[str] = set()
    for group in cast("Mapping[str, object]", groups).values():
        weights = cast("Mapping[str, object]", group).get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            kind = cast("Mapping[str, object]", weights)
            is_float = kind.get("type") == "float"
            found.add("fp8" if is_float and kind.get("num_bits") == 8 else f"int{kind.get('num_bits')}")
    return found.pop() if len(found) == 1 and found <= set(WEIGHT_FORMATS) else None


def has_kv_scales(config: Mapping[str, object]) -> bool:
    """True where a checkpoint carries scales for an FP8 KV cache; without them the engine takes 1.0."""
    stated = config.get("quantization_config")
    if not isinstance(stated, Mapping):
        return False
    quantization = cast("Mapping[str, object]", stated)
    return bool(quantization.get("kv_cache_quant_algo") or quantization.get("kv_cache_scheme"))
