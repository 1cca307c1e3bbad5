"""Results as JSON objects with stable field names: the result's own fields. Pure.

Enumerations become their values, tuples lists, and dataclasses objects. Lone surrogates, which JSON
readers refuse, become U+FFFD.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, cast

from mcp_offload.tokens import replace_surrogates

if TYPE_CHECKING:
    from mcp_offload.models import ReadResult

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def to_json(value: object) -> Json:
    """The JSON form of a result.

    Several reads become ``{"reads": [...]}``, a single one its own object.
    """
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return str(value.value)
        case str():
            return replace_surrogates(value)
        case Mapping():
            items = cast("Mapping[str, object]", value)
            return {key: to_json(item) for key, item in items.items()}
        case list() | tuple():
            return [to_json(item) for item in cast("Sequence[object]", value)]
        case _:
            if is_dataclass(value) and not isinstance(value, type):
                return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
            raise TypeError(f"{type(value).__name__} has no JSON form")


def reads_json(results: Sequence[ReadResult]) -> Json:
    """One read's object, or ``{"reads": [...]}``."""
    return to_json(results[0]) if len(results) == 1 else {"reads": to_json(list(results))}
