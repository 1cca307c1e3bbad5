"""Test runners that print text."""

from __future__ import annotations

from ..family import Family
from . import (
    cargo_text,
    ctest_text,
    doctest_text,
    dotnet_text,
    exunit_text,
    go_text,
    gtest_text,
    jest_text,
    junit4_text,
    jvm_text,
    minitest_text,
    mocha_text,
    mozilla_text,
    node_text,
    phpunit_text,
    playwright_text,
    prove,
    pytest_text,
    rspec_text,
    unittest_text,
    vitest_text,
)

FAMILIES: tuple[Family, ...] = (
    pytest_text.FAMILY,
    unittest_text.FAMILY,
    doctest_text.FAMILY,
    jest_text.FAMILY,
    vitest_text.FAMILY,
    playwright_text.FAMILY,
    mocha_text.FAMILY,
    node_text.FAMILY,
    go_text.FAMILY,
    cargo_text.FAMILY,
    jvm_text.FAMILY,
    junit4_text.FAMILY,
    ctest_text.FAMILY,
    gtest_text.FAMILY,
    rspec_text.FAMILY,
    minitest_text.FAMILY,
    phpunit_text.FAMILY,
    exunit_text.FAMILY,
    dotnet_text.FAMILY,
    prove.FAMILY,
    mozilla_text.FAMILY,
)
