"""Compilers, linkers, build and package tools, linters, sanitizers, and tracebacks outside test runs."""

from __future__ import annotations

from typing import Final

from ..family import Family
from . import cmake, gnu, link, make, msbuild

FAMILIES: Final[tuple[Family, ...]] = (
    gnu.FAMILY,
    msbuild.FAMILY,
    link.FAMILY,
    cmake.FAMILY,
    make.FAMILY,
)
