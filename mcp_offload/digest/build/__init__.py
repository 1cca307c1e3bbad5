"""Compilers, linkers, build and package tools, linters, sanitizers, and tracebacks outside test runs."""

from __future__ import annotations

from typing import Final

from ..family import Family
from . import (
    cmake,
    crashes,
    docker,
    fortran,
    gnu,
    harness,
    infra,
    jvm,
    lastwords,
    lifecycle,
    link,
    linters,
    make,
    msbuild,
    packages,
    pylint,
    pytrace,
    rust,
    sanitizers,
    traces,
    web,
)

FAMILIES: Final[tuple[Family, ...]] = (
    gnu.FAMILY,
    msbuild.FAMILY,
    fortran.FAMILY,
    rust.FAMILY,
    jvm.FAMILY,
    web.FAMILY,
    pylint.FAMILY,
    linters.FAMILY,
    packages.FAMILY,
    docker.FAMILY,
    infra.FAMILY,
    sanitizers.FAMILY,
    sanitizers.VALGRIND,
    link.FAMILY,
    cmake.FAMILY,
    pytrace.FAMILY,
    traces.FAMILY,
    crashes.FAMILY,
    make.FAMILY,
    lifecycle.FAMILY,
    harness.SHELL,
    lastwords.FAMILY,
    harness.MOZHARNESS,
)
