"""A claim: figures that somebody states of a model on some GPUs."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Final, cast

from serving.errors import ServingUsageError


@dataclass(frozen=True)
class Claim:
    """What is stated; fields that are not stated are None, and checks that need them are not made.

    Attributes:
        name: short, unique in its table.
        says: the statement, in a sentence.
        source: who states it, and where.
        model: as ``plan`` takes it.
        weights: their format; None takes the checkpoint's.
        kv: the KV cache's format; None grants the smallest.
        gpu: a name of the table of GPUs.
        gpus: of the node.
        draft: a draft model.
        draft_kv: its cache's format; None takes ``kv``.
        draft_tokens: drafted a step; without it one token a step is taken.
        depth_tokens: context of each agent.
        context_limit_tokens: that the same source states elsewhere for the same case.
        agents: sessions in memory at once, all at that depth.
        saturated: those agents are said to fill the memory.
        velocity: of one stream while ``agents`` decode, tok/s.
        mfu: share of the 16-bit peak; stated of decoding where ``decode_only``.
        decode_only: no prompt is computed meanwhile.
        kv_bytes_per_token: of the KV cache.
        kv_bytes: of one sequence of ``depth_tokens``.
        first_token_seconds: for a cold prompt of ``depth_tokens``.
        velocity_before, velocity_after: of one stream, before and after a change, tok/s.
        grown_tokens: the change is that its own context grew by so much.
        speedup: the change is said to bring this factor.
        slope_16bit, slope_8bit: by how much a token of context lengthens a step, by KV format, seconds.
    """

    name: str
    says: str = ""
    source: str = ""
    model: str | None = None
    weights: str | None = None
    kv: str | None = None
    gpu: str | None = None
    gpus: int = 1
    draft: str | None = None
    draft_kv: str | None = None
    draft_tokens: int | None = None
    depth_tokens: int | None = None
    context_limit_tokens: int | None = None
    agents: int | None = None
    saturated: bool = False
    velocity: float | None = None
    mfu: float | None = None
    decode_only: bool = False
    kv_bytes_per_token: float | None = None
    kv_bytes: float | None = None
    first_token_seconds: float | None = None
    velocity_before: float | None = None
    velocity_after: float | None = None
    grown_tokens: int | None = None
    speedup: float | None = None
    slope_16bit: float | None = None
    slope_8bit: float | None = None


SHIPPED: Final = Path(__file__).with_name("data") / "design-claims.toml"
"""Claims of the designs that the project began with."""


def load_claims(path: Path) -> tuple[Claim, ...]:
    """A table of claims: TOML or JSON with a list ``claims``, or CSV whose first line names the fields.

    Raises:
        ServingUsageError: the file cannot be read, or a field is unknown or of the wrong type.
    """
    try:
        text = path.read_text(encoding="utf-8")
        rows = _rows(text, path.suffix.lower())
    except (OSError, ValueError) as error:
        raise ServingUsageError(f"{path} cannot be read: {error}.") from error
    claims = tuple(_claim(row, path) for row in rows)
    names = [claim.name for claim in claims]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ServingUsageError(f"{path} names {', '.join(sorted(twice))} twice.")
    return claims


def _rows(text: str, suffix: str) -> Sequence[Mapping[str, Any]]:
    if suffix == ".csv":
        table = csv.DictReader(text.splitlines())
        return [{key: value for key, value in row.items() if value} for row in table]
    if suffix not in (".toml", ".json"):
        raise ValueError("its name must end in .toml, .json or .csv")
    whole: object = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    rows: object = cast("Mapping[str, Any]", whole).get("claims") if isinstance(whole, dict) else whole
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in cast("list[object]", rows)):
        raise ValueError("it has no list of claims")
    return cast("list[Mapping[str, Any]]", rows)


def _claim(row: Mapping[str, Any], path: Path) -> Claim:
    known = {field.name: field for field in fields(Claim)}
    if unknown := row.keys() - known.keys():
        names = ", ".join(sorted(map(str, unknown)))
        raise ServingUsageError(f"{path}: {names} is no field of a claim; there are {', '.join(known)}.")
    required = [name for name, field in known.items() if field.default is MISSING]
    if lacking := [name for name in required if name not in row]:
        raise ServingUsageError(f"{path}: a claim has no {', '.join(lacking)}.")
    values: dict[str, Any] = {name: _typed(name, str(known[name].type), row[name], path) for name in row}
    return Claim(**values)


def _typed(name: str, kind: str, value: object, path: Path) -> object:
    """The value in its field's type; CSV gives texts alone."""
    try:
        if kind.startswith("str"):
            return str(value)
        if kind.startswith("bool"):
            return {"true": True, "false": False, "1": True, "0": False}[str(value).lower()]
        number = float(cast("Any", value))
        if not 0 <= number < float("inf") or isinstance(value, bool):
            raise ValueError(value)
        if kind.startswith("int") and number != int(number):
            raise ValueError(value)
        return int(number) if kind.startswith("int") else number
    except (KeyError, TypeError, ValueError) as error:
        raise ServingUsageError(f"{path}: {name} cannot be {value!r}.") from error
