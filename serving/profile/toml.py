"""Writes a profile as TOML. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields

from serving.profile.fields import FIELDS
from serving.profile.model import Profile, Speculation


def as_toml(profile: Profile) -> str:
    """The text that :func:`serving.profile.load.parse_profile` reads back as the same, but for the name.

    Fields that have their default and no note are left out.
    """
    return "\n".join(_lines(profile)) + "\n"


def _lines(profile: Profile) -> Iterator[str]:
    for field in fields(Profile):
        value: object = getattr(profile, field.name)
        if field.name in ("name", "speculation", "notes") or _is_default(field, value):
            continue
        unit = FIELDS[field.name].unit
        yield f"{field.name} = {_written(value)}{unit and f'  # {unit}'}"
    if profile.speculation is not None:
        yield "\n[speculation]"
        for field in fields(Speculation):
            value = getattr(profile.speculation, field.name)
            if not _is_default(field, value):
                yield f"{field.name} = {_written(value)}"
    if profile.notes:
        yield "\n[notes]"
        yield from _notes(profile.notes)


def _is_default(field: Field[object], value: object) -> bool:
    return field.default is not MISSING and value == field.default


def _notes(notes: Mapping[str, str]) -> Iterator[str]:
    for name in FIELDS:
        if name in notes:
            yield f"{name} = {_written(notes[name])}"


def _written(value: object) -> str:
    """JSON's texts, numbers, lists and booleans are TOML's, but for DEL, which TOML wants escaped."""
    text = list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
