"""Test runners that print text."""

from __future__ import annotations

from ..family import Family
from . import prove, pytest_text

FAMILIES: tuple[Family, ...] = (pytest_text.FAMILY, prove.FAMILY)
