"""Every error of the tree has its entry, its documentation and the same name everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload import errors
from mcp_offload.cli.main import error_code
from mcp_offload.errors import OffloadError
from mcp_offload.wire.errors import (
    ERROR_KINDS,
    UNKNOWN_KIND,
    error_handles,
    error_json,
    error_text,
    kind_of_error,
)

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "protocol.md"


def _leaves(error: type[OffloadError] = OffloadError) -> Iterator[type[OffloadError]]:
    children = error.__subclasses__()
    if not children:
        yield error
    for child in children:
        yield from _leaves(child)


def _example(kind: type[OffloadError]) -> OffloadError:
    match kind:
        case errors.HandleGoneError:
            return errors.HandleGoneError("gone", reason="evicted")
        case errors.SymbolNotFoundError:
            return errors.SymbolNotFoundError("none", near=["f1#a"])
        case errors.SymbolAmbiguousError:
            return errors.SymbolAmbiguousError("several", candidates=["f1#a", "f1#b"])
        case errors.ConflictError:
            return errors.ConflictError("conflict", expected="f1@1", actual="f1@2")
        case _:
            return kind("message")


LEAVES = [kind for kind in _leaves() if kind.__module__ == errors.__name__]


def test_the_tree_is_walked() -> None:
    assert len(LEAVES) > 20


def test_every_leaf_is_in_the_table_and_nothing_else_is() -> None:
    assert set(ERROR_KINDS) == set(LEAVES)


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda kind: kind.__name__)
def test_every_leaf_is_mapped_and_documented(leaf: type[OffloadError]) -> None:
    kind = kind_of_error(_example(leaf))
    assert kind is ERROR_KINDS[leaf]
    assert kind.meaning.endswith(".")
    assert kind.next_step.endswith(".")
    assert leaf.__name__ in (errors.__doc__ or "")
    row = f"| `{kind.code}` | {kind.meaning} | {kind.next_step} |"
    assert row in REFERENCE.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda kind: kind.__name__)
def test_the_command_line_uses_the_same_codes(leaf: type[OffloadError]) -> None:
    assert error_code(leaf) == ERROR_KINDS[leaf].code


def test_codes_are_distinct() -> None:
    codes = [kind.code for kind in ERROR_KINDS.values()] + [UNKNOWN_KIND.code]
    assert len(codes) == len(set(codes))


def test_a_class_without_an_entry_takes_its_nearest_ancestors() -> None:
    class Special(errors.StoreFullError):
        """A kind of error that a later release may add."""

    assert kind_of_error(Special("x")) is ERROR_KINDS[errors.StoreFullError]
    assert kind_of_error(OffloadError("x")) is UNKNOWN_KIND
    assert kind_of_error(ValueError("x")) is UNKNOWN_KIND


def test_the_text_names_each_handle_once() -> None:
    error = errors.SymbolAmbiguousError("several fit: f1#a", candidates=["f1#a", "f1#b"])
    assert error_text(error) == "several fit: f1#a\nf1#b"
    assert error_text(errors.ConflictError("x", expected="f1@1", actual=None)) == "x"
    assert error_text(errors.StoreFullError("")) == ERROR_KINDS[errors.StoreFullError].meaning


def test_programs_get_code_message_and_handles() -> None:
    error = errors.SymbolNotFoundError("none", near=["f1#a"])
    told = {"type": "symbol_not_found", "message": "none", "handles": ["f1#a"]}
    assert error_json(error) == {"error": told}
    assert error_handles(errors.StoreFullError("x")) == ()


def test_what_nobody_foresaw_is_not_quoted() -> None:
    told = error_json(ValueError("SECRET"))
    assert "SECRET" not in str(told)
    assert "internal" in str(told)
