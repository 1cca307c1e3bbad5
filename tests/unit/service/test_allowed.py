from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.service.allowed import require_allowed
from mcp_offload.settings import Settings

Check = Callable[..., bool]


@pytest.fixture
def check(settings: Settings, project: Path) -> Check:
    for folder in ("scripts", "other", "bin"):
        (project / folder).mkdir()
        (project / folder / "tool").write_text("#!/bin/sh\n")
        (project / folder / "tool").chmod(0o755)
    (project / "link").symlink_to("scripts")

    def check(program: str, *patterns: str, cwd: str = ".") -> bool:
        environment = {"PATH": str(project / "bin")}
        some = replace(settings, run_allow=patterns, run_environment=environment)
        try:
            require_allowed(program, str(project / cwd), some)
        except InvalidArgumentError:
            return False
        return True

    return check


def test_nothing_is_allowed_by_default(check: Check) -> None:
    assert not check("true")


@pytest.mark.parametrize(
    ("program", "pattern", "allowed"),
    [
        ("pytest", "pytest", True),
        ("pytest", "py*", True),
        ("pytest", "pytes", False),
        ("pytest", "*", True),
        ("./pytest", "pytest", False),
        ("./pytest", "*", True),
        ("/bin/sh", "sh", True),
        ("/bin/sh", "pytest", False),
        ("scripts/tool", "scripts/", True),
        ("scripts/../other/tool", "scripts/", False),
        ("other/tool", "scripts/", False),
        ("scripts/tool", "scripts/tool", True),
        ("scripts/tool", "other/tool", False),
        ("link/tool", "scripts/", True),
        ("scripts/tool", "link/", True),
        ("tool", "bin/", True),
        ("tool", "scripts/", False),
        ("missing", "bin/", False),
    ],
)
def test_a_pattern_allows_what_it_names(check: Check, program: str, pattern: str, allowed: bool) -> None:
    assert check(program, pattern) is allowed
    assert check(program, "something-else", pattern) is allowed


def test_a_relative_program_starts_from_where_it_is_run(check: Check) -> None:
    assert check("./tool", "scripts/", cwd="scripts")
    assert not check("./tool", "scripts/", cwd="other")


def test_a_refusal_says_what_is_allowed(settings: Settings) -> None:
    with pytest.raises(InvalidArgumentError, match="rm may not be run here"):
        require_allowed("/bin/rm", "/", replace(settings, run_allow=("pytest", "npm")))
