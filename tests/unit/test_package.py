"""The public API of the package."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

import mcp_offload
from mcp_offload import errors, models

PACKAGE = Path(mcp_offload.__file__).parent


def test_every_public_name_is_there_and_is_what_it_says() -> None:
    for name in mcp_offload.__all__:
        value = getattr(mcp_offload, name)
        assert name == "__version__" or value.__name__ == name
        assert name in dir(mcp_offload)


def test_a_name_is_one_object_however_it_is_reached() -> None:
    assert mcp_offload.ConflictError is errors.ConflictError
    assert mcp_offload.ReadResult is models.ReadResult


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = mcp_offload.nothing  # type: ignore[attr-defined]


def test_every_result_is_public() -> None:
    results = {name for name in vars(models) if name.endswith(("Result", "Hits", "Entry"))}
    assert len(results) > 12
    assert results - set(mcp_offload.__all__) == set()


def test_the_type_checker_sees_what_is_loaded_lazily() -> None:
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    checked = source.partition("if TYPE_CHECKING:")[2].partition("\n__version__")[0]
    seen = set(re.findall(r"\b\w+(?=[,\n])", checked))
    assert set(mcp_offload.__all__) - seen == {"__version__"}
    assert (PACKAGE / "py.typed").exists()


def test_the_version_is_the_installed_one() -> None:
    assert mcp_offload.__version__ == importlib.metadata.version("mcp-offload")
