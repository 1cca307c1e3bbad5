"""Configuration as plain data: what an edit of the text must come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from mcp_offload.errors import RegistrationError
from mcp_offload.install.model import Element, Path

Data: TypeAlias = dict[str, Any]

MISSING: Any = object()
"""What :func:`get` answers where nothing stands; None is a value."""


def get(data: object, path: Path) -> Any:
    """The value at ``path``, or :data:`MISSING`."""
    for step in path:
        data = child(data, step)
        if data is MISSING:
            return MISSING
    return data


def child(data: object, step: str | Element) -> Any:
    """The value one step down, or :data:`MISSING`."""
    if isinstance(step, Element):
        items = cast("list[object]", data) if isinstance(data, list) else []
        return next((item for item in items if step.fits(item)), MISSING)
    if isinstance(data, dict):
        return cast("Data", data).get(step, MISSING)
    return MISSING


def depth(data: object, path: Path) -> int:
    """How many steps of ``path`` lead to something that is there."""
    for count, step in enumerate(path):
        data = child(data, step)
        if data is MISSING:
            return count
    return len(path)


def with_put(data: Any, path: Path, value: object) -> Any:
    """A copy of ``data`` in which ``value`` stands at ``path``; what leads there is made where missing.

    Raises:
        RegistrationError: something else than an object or a list stands in the way.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    if data is MISSING or data is None:
        data = [] if isinstance(step, Element) else {}
    below = with_put(child(data, step), rest, value)
    if isinstance(step, Element):
        if not isinstance(data, list):
            raise RegistrationError(in_the_way(path))
        items = cast("list[Any]", data)
        place = next((index for index, item in enumerate(items) if step.fits(item)), len(items))
        return [*items[:place], below, *items[place + 1 :]]
    if not isinstance(data, dict):
        raise RegistrationError(in_the_way(path))
    return {**cast("Data", data), step: below}


def with_drop(data: Any, path: Path, prune: int) -> Any:
    """A copy of ``data`` without what stands at ``path``, nor up to ``prune`` parents that this empties."""
    if get(data, path) is MISSING:
        return data
    step, rest = path[0], path[1:]
    below = child(data, step)
    if rest:
        kept = with_drop(below, rest, prune)
        if kept or len(rest) > prune:
            return with_put(data, (step,), kept)
    if isinstance(step, Element):
        items = cast("list[Any]", data)
        place = next(index for index, item in enumerate(items) if step.fits(item))
        return [*items[:place], *items[place + 1 :]]
    return {key: value for key, value in cast("Data", data).items() if key != step}


def merged(old: object, new: Mapping[str, object]) -> dict[str, object]:
    """``new`` over ``old``: keys that a user added, such as a timeout, stay.

    Lists of the new entry are completed by what the old one held beside it, except argument lists.
    """
    before: Data = cast("Data", old) if isinstance(old, dict) else {}
    result: dict[str, object] = {**before, **new}
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(before.get(key), dict):
            result[key] = merged(before[key], cast("Data", value))
        elif key in {"autoApprove", "alwaysAllow"} and isinstance(before.get(key), list):
            kept = cast("list[object]", before[key])
            result[key] = [*kept, *(item for item in cast("list[object]", value) if item not in kept)]
    return result


def in_the_way(path: Path) -> str:
    """What to say where ``path`` cannot be followed."""
    name = path[0].label if isinstance(path[0], Element) else path[0]
    return f"the place for {name!r} holds something else than an object or a list; correct it by hand."
