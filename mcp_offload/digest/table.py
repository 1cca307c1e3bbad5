"""The table of everything that is recognised. Earlier rows win where two claim the same failure."""

from __future__ import annotations

from typing import Final

from . import build, ci, machine, tests
from .family import Document, Family

FAMILIES: Final[tuple[Family, ...]] = (
    *machine.FAMILIES,
    *tests.FAMILIES,
    *build.FAMILIES,
    ci.FAMILY,
)
DOCUMENTS: Final[tuple[Document, ...]] = machine.DOCUMENTS
