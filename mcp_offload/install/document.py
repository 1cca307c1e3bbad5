"""A configuration file as bytes, edited and checked: it must read as the edits say, or nothing is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, cast

from mcp_offload.errors import RegistrationError
from mcp_offload.install import json_edit, toml_edit, yaml_edit
from mcp_offload.install.data import Data, get, with_drop, with_put
from mcp_offload.install.model import Format, Path

_BOM: Final = b"\xef\xbb\xbf"
_EDITORS: Final[Mapping[Format, ModuleType]] = {"json": json_edit, "toml": toml_edit, "yaml": yaml_edit}


@dataclass(frozen=True, slots=True)
class Put:
    """Have ``value`` stand at ``path``."""

    path: Path
    value: object


@dataclass(frozen=True, slots=True)
class Drop:
    """Have nothing stand at ``path``, nor in up to ``prune`` parents that this empties."""

    path: Path
    prune: int = 0


def read(form: Format, data: bytes) -> Data:
    """The values in a file.

    Raises:
        RegistrationError: it cannot be parsed, is not UTF-8, or is not an object.
    """
    return _load(_EDITORS[form], _text(data))


def edited(form: Format, data: bytes, edits: Sequence[Put | Drop]) -> bytes:
    """The file after ``edits``; everything that they do not concern is byte for byte what it was.

    Raises:
        RegistrationError: it cannot be parsed or edited safely.
    """
    editor = _EDITORS[form]
    text: str = _text(data)
    wanted: Any = _load(editor, text)
    for edit in edits:
        if isinstance(edit, Put):
            if get(wanted, edit.path) == edit.value:
                continue
            text = editor.put(text, edit.path, edit.value)
            wanted = with_put(wanted, edit.path, edit.value)
        else:
            text = editor.drop(text, edit.path, edit.prune)
            wanted = _dropped(wanted, edit, _settled(_load(editor, text), form), form)
    _check(editor, form, text, wanted)
    return (_BOM if data.startswith(_BOM) else b"") + text.encode("utf-8")


def _dropped(wanted: Any, edit: Drop, found: Any, form: Format) -> Any:
    """What a drop should come to: fewer parents may go than were allowed to, as where one holds a comment."""
    choices = [with_drop(wanted, edit.path, prune) for prune in range(edit.prune, -1, -1)]
    return next((choice for choice in choices if _settled(choice, form) == found), choices[0])


def _check(editor: ModuleType, form: Format, text: str, wanted: Any) -> None:
    try:
        sound = _settled(_load(editor, text), form) == _settled(wanted, form)
    except RegistrationError:
        sound = False
    if not sound:
        raise RegistrationError("it is written in a way that cannot be edited safely; edit it by hand")


def _text(data: bytes) -> str:
    try:
        return data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as exc:
        raise RegistrationError(f"it is not UTF-8 at byte {exc.start}") from None


def _load(editor: ModuleType, text: str) -> Data:
    value: object = editor.load(text)
    if not isinstance(value, dict):
        raise RegistrationError("its outermost value is not an object")
    return cast("Data", value)


def _settled(data: Any, form: Format) -> Any:
    """What counts when two results are compared: TOML writes no table that holds nothing."""
    if isinstance(data, Mapping):
        members = {key: _settled(item, form) for key, item in cast("Mapping[str, Any]", data).items()}
        return {key: item for key, item in members.items() if form != "toml" or item != {}}
    if isinstance(data, list | tuple):
        return [_settled(item, form) for item in cast("list[Any]", data)]
    return data
