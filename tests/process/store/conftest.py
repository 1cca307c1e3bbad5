"""A place for stores that costs no disk traffic: a kill is no crash of the host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.store.helpers import quick_folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder
