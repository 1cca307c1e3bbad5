"""What an artifact's name says about its format, without a look at its bytes."""

from __future__ import annotations

import re
from typing import Final

LOCK_NAMES: Final = frozenset(
    (
        *("cargo.lock", "pdm.lock", "poetry.lock", "uv.lock"),
        *("composer.lock", "npm-shrinkwrap.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"),
        "go.sum",
    )
)
REQUIREMENTS: Final = re.compile(r"(?:.*[._-])?(?:requirements|constraints)(?:[._-].*)?\.txt")
MAY_BE_COVERAGE: Final = re.compile(r".*\.(?:xml|json|info|lcov)\Z")
_OTHERS: Final = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".map", ".tar", ".tar.gz", ".tgz")


def base_name(name: str) -> str:
    """The last part of a path."""
    return name.replace("\\", "/").rpartition("/")[2]


def is_lock(base: str) -> bool:
    """True for the names that package managers give their lock files; ``base`` in lower case."""
    return base in LOCK_NAMES or REQUIREMENTS.fullmatch(base) is not None


def may_have_card(name: str, *, binary: bool) -> bool:
    """False for text whose name alone says that it needs no card; True is no promise."""
    base = base_name(name).lower()
    return binary or base.endswith(_OTHERS) or is_lock(base) or MAY_BE_COVERAGE.match(base) is not None
