"""Finds models and GPUs: shipped as data, in a folder, or in the hub's cache on this disk."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from serving.errors import ModelConfigError, ServingUsageError
from serving.profile.checkpoint import Model
from serving.profile.config import read_architecture
from serving.profile.formats import WEIGHT_FORMATS, WeightFormat, has_kv_scales, weights_of
from serving.profile.gpu import Gpu

_DATA: Final = Path(__file__).with_name("data")


def shipped_models() -> tuple[str, ...]:
    """Names of the models whose configurations come with the package, in order."""
    return tuple(sorted(path.stem for path in (_DATA / "models").glob("*.json")))


def find_model(name: str, *, hub_cache: str, weights: str | None = None) -> Model:
    """A shipped model, else a folder or ``config.json``, else one in the hub's cache.

    Args:
        name: the shipped name, a path, or a name on the hub such as ``Qwen/Qwen3-8B``.
        hub_cache: the folder of the hub's cache, which need not exist.
        weights: how the weights are stored, where the configuration does not tell or should be overruled.

    Raises:
        ModelConfigError: there is none, or it is not understood.
    """
    if name.lower() in shipped_models():
        shipped = _json(_DATA / "models" / f"{name.lower()}.json")
        config = cast("Mapping[str, object]", shipped["config"])
        return Model(
            name=name.lower(),
            checkpoint=str(shipped["checkpoint"]),
            source=str(shipped["source"]),
            reconstructed=bool(shipped["reconstructed"]),
            architecture=read_architecture(config),
            weights=_format(weights or str(shipped["weights"])),
            has_kv_scales=has_kv_scales(config),
            quantized_in_checkpoint=weights in (None, shipped["weights"]),
            has_vision=bool(shipped["has_vision"]),
            tool_call_parser=cast("str | None", shipped["tool_call_parser"]),
            reasoning_parser=cast("str | None", shipped["reasoning_parser"]),
        )
    path = _config_path(name, Path(hub_cache))
    config = _with_quantization(_json(path), path)
    return Model(
        name=name,
        checkpoint=name,
        source=f"read from {path.name}",
        reconstructed=False,
        architecture=read_architecture(config),
        weights=_format(weights or weights_of(config)),
        has_kv_scales=has_kv_scales(config),
        quantized_in_checkpoint=weights is None or _is_stored_as(config, weights),
        has_vision="vision_config" in config,
    )


def gpus() -> Mapping[str, Gpu]:
    """Every GPU of the table by name."""
    table = tomllib.loads((_DATA / "gpus.toml").read_text(encoding="utf-8"))
    origins = table.pop("sources")
    found: dict[str, Gpu] = {}
    for name, row in table.items():
        stated = row.pop("sources")
        row.setdefault("fp8_flops", None)
        sources = {key: origins[stated.get(key, stated["default"])] for key in row if key != "title"}
        found[name] = Gpu(name=name, sources=sources, **row)
    return found


def find_gpu(name: str) -> Gpu:
    """A GPU of the table.

    Raises:
        ServingUsageError: there is none of that name.
    """
    table = gpus()
    if name.lower() not in table:
        raise ServingUsageError(f"There is no GPU {name!r} in the table; there are {', '.join(table)}.")
    return table[name.lower()]


def _format(name: str) -> WeightFormat:
    if name not in WEIGHT_FORMATS:
        raise ModelConfigError(f"Weights cannot be {name!r}; they are {', '.join(WEIGHT_FORMATS)}.")
    return WEIGHT_FORMATS[name]


def _with_quantization(config: Mapping[str, object], path: Path) -> Mapping[str, object]:
    """The configuration with what NVIDIA's quantizer writes into a file of its own beside it."""
    beside = path.with_name("hf_quant_config.json")
    if "quantization_config" in config or not beside.is_file():
        return config
    stated = _json(beside).get("quantization")
    if not isinstance(stated, dict):
        return config
    told = cast("Mapping[str, object]", stated)
    return {**config, "quantization_config": {"quant_method": "modelopt", **told}}


def _is_stored_as(config: Mapping[str, object], weights: str) -> bool:
    """Whether a checkpoint says that its weights are stored so; not where it says nothing understood."""
    try:
        return weights_of(config) == weights
    except ModelConfigError:
        return False


def _config_path(name: str, hub_cache: Path) -> Path:
    given = Path(name)
    if given.is_file():
        return given
    if (given / "config.json").is_file():
        return given / "config.json"
    # Source: the cache layout of huggingface_hub: models--ORG--NAME/snapshots/COMMIT/, newest by refs/main.
    cached = hub_cache / f"models--{name.replace('/', '--')}"
    reference = cached / "refs" / "main"
    if reference.is_file():
        found = cached / "snapshots" / reference.read_text(encoding="utf-8").strip() / "config.json"
        if found.is_file():
            return found
    raise ModelConfigError(
        f"{name!r} is neither a shipped model ({', '.join(shipped_models())}), nor a folder with a"
        " config.json, nor in the hub's cache. Nothing is downloaded: name a folder."
    )


def _json(path: Path) -> Mapping[str, object]:
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelConfigError(f"{path} cannot be read: {error}.") from error
    if not isinstance(value, dict):
        raise ModelConfigError(f"{path} holds no object; is it a model's configuration?")
    return cast("Mapping[str, object]", value)
