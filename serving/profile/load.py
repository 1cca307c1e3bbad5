"""Reads profiles from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final, cast

from serving.errors import ProfileError
from serving.profile.fields import FIELDS
from serving.profile.formats import WEIGHT_FORMATS
from serving.profile.model import ENGINES, GATE_MODES, METHODS, Profile, Speculation

_SHIPPED: Final = Path(__file__).with_name("data") / "profiles"
_FLOATS: Final = {
    "gpu_memory_utilization", "cpu_kv_cache_gib", "kv_offloading_gib", "watermark", "min_tokens_per_second",
    "acceptance",
}  # fmt: skip
_BOOLS: Final = {"expert_parallel", "prefix_caching", "enforce_eager", "language_model_only"}
_TEXTS: Final = {
    "name", "summary", "engine", "engine_version", "model", "architecture", "weights", "gpu", "dtype",
    "kv_cache_dtype", "tool_call_parser", "reasoning_parser", "served_model_name", "host", "gate_host",
    "gate_mode",
    "method",
}  # fmt: skip
_MAY_BE_ZERO: Final = {"long_prefill_token_threshold", "cpu_kv_cache_gib", "kv_offloading_gib", "watermark"}


def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that come with the package, in order."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def load_profile(name: str) -> Profile:
    """A shipped profile by its name, or one from a file whose path ends in ``.toml``.

    Raises:
        ProfileError: there is none, or it is malformed.
    """
    given = name.endswith(".toml")
    path = Path(name) if given else _SHIPPED / f"{name}.toml"
    if not given and name not in shipped_profiles():
        raise ProfileError(
            f"There is no profile {name!r}. Shipped are {', '.join(shipped_profiles())};"
            " a file's name ends in .toml."
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path} cannot be read: {error}.") from error
    return parse_profile(text, path.stem)


def parse_profile(text: str, name: str) -> Profile:
    """A profile from TOML. Its fields are those of :class:`Profile`, with tables for speculation and notes.

    Raises:
        ProfileError: it is malformed, has unknown fields, or contradicts itself.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"Profile {name!r} is not TOML: {error}.") from error
    values = dict(_values(table, Profile, name))
    values["name"] = name
    if "speculation" in table:
        values["speculation"] = _speculation(table["speculation"], name)
    if "notes" in table:
        values["notes"] = _notes(table["notes"], name)
    missing = {"summary", "model", "engine_version", "gpu", "max_model_len"} - values.keys()
    if missing:
        raise ProfileError(f"Profile {name!r} has no {', '.join(sorted(missing))}.")
    profile = Profile(**values)  # type: ignore[arg-type]
    for problem in _contradictions(profile):
        raise ProfileError(f"Profile {name!r}: {problem}")
    return profile


def _values(table: Mapping[str, object], cls: type, name: str) -> Iterator[tuple[str, object]]:
    known = {field.name for field in fields(cls)} - {"name"}
    for key, value in table.items():
        if key not in known:
            raise ProfileError(
                f"Profile {name!r} has an unknown field {key!r}; there are {', '.join(sorted(known))}."
            )
        if key not in ("speculation", "notes"):
            yield key, _checked(key, value, name)


def _checked(key: str, value: object, name: str) -> object:
    """The value in its field's type."""
    if key == "kv_cache_dtype_skip_layers":
        entries = cast("list[object]", value) if isinstance(value, list) else [None]
        if all(isinstance(entry, str) for entry in entries):
            return tuple(entries)
        raise ProfileError(f"Profile {name!r}: {key} must be a list of texts, not {value!r}.")
    if key in _TEXTS:
        good, kind = isinstance(value, str) and value != "", "a text"
    elif key in _BOOLS:
        good, kind = isinstance(value, bool), "true or false"
    else:
        number = int | float if key in _FLOATS else int
        least = 0 if key in _MAY_BE_ZERO else 1e-9
        good = isinstance(value, number) and not isinstance(value, bool) and value >= least
        kind = "a number" if key in _FLOATS else "a whole number"
    if not good:
        unit = FIELDS[key].unit if key in FIELDS else ""
        raise ProfileError(f"Profile {name!r}: {key} must be {kind}{unit and f' ({unit})'}, not {value!r}.")
    return value


def _speculation(value: object, name: str) -> Speculation:
    if not isinstance(value, dict):
        raise ProfileError(f"Profile {name!r}: speculation must be a table.")
    values = dict(_values(cast("dict[str, object]", value), Speculation, name))
    if missing := {"method", "tokens"} - values.keys():
        raise ProfileError(f"Profile {name!r}: speculation has no {', '.join(sorted(missing))}.")
    return Speculation(**values)  # type: ignore[arg-type]


def _notes(value: object, name: str) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ProfileError(f"Profile {name!r}: notes must be a table of texts by field.")
    notes = cast("dict[str, object]", value)
    for key, text in notes.items():
        if key not in FIELDS or not isinstance(text, str):
            raise ProfileError(f"Profile {name!r}: notes has {key!r}, which is no field or has no text.")
    return cast("Mapping[str, str]", notes)


def _contradictions(profile: Profile) -> Iterator[str]:
    for key, allowed in (
        ("engine", ENGINES),
        ("gate_mode", GATE_MODES),
        ("weights", tuple(WEIGHT_FORMATS)),
    ):
        if getattr(profile, key) not in allowed:
            yield f"{key} is {getattr(profile, key)!r}; it must be one of {', '.join(allowed)}."
    used = profile.tensor_parallel * profile.data_parallel * profile.replicas
    if used != profile.gpus:
        yield (f"tensor_parallel x data_parallel x replicas is {used}, but gpus is {profile.gpus}.")
    for key in ("port", "gate_port"):
        if getattr(profile, key) > 65_535:
            yield f"{key} is {getattr(profile, key)}; a TCP port is at most 65535."
    if (
        profile.gate_port in range(profile.port, profile.port + profile.replicas)
        and profile.host == profile.gate_host
    ):
        yield f"gate_port {profile.gate_port} is also the engine's port."
    if profile.gpu_memory_utilization > 1 or profile.watermark >= 1:
        yield "gpu_memory_utilization and watermark are shares of 1."
    if profile.speculation is not None:
        yield from _contradictions_of_speculation(profile.speculation, profile)


def _contradictions_of_speculation(speculation: Speculation, profile: Profile) -> Iterator[str]:
    if speculation.method not in METHODS:
        yield f"speculation.method is {speculation.method!r}; it must be one of {', '.join(METHODS)}."
    if speculation.method in ("draft_model", "eagle3") and not speculation.model:
        yield f"speculation by {speculation.method} needs the checkpoint of the draft in speculation.model."
    if speculation.tensor_parallel not in (None, 1, profile.tensor_parallel):
        yield "speculation.tensor_parallel must be 1 or the model's own; the engine takes nothing else."
    if not 0 < speculation.acceptance < 1:
        yield "speculation.acceptance is a probability between 0 and 1."
