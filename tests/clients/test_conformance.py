"""The official conformance suite, in both revisions that it has requirements for.

It runs against the real server with the fixtures that it asks for, where every scored scenario must pass,
and against ``mcp-offload serve --http`` as it is, where those must that need no fixture.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.clients.conftest import Record
from tests.clients.node import NodeEnvironment, prepare
from tests.clients.served import served
from tests.process.stdio.rig import server_command

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]

SUITE = "@modelcontextprotocol/conformance"
REVISIONS = ("2025-11-25", "2026-07-28")
EACH_REVISION = pytest.mark.parametrize("revision", REVISIONS)

UNSCORED_AND_FAILING: dict[str, set[str]] = {
    # Streams that are resumed: a tool that ends its stream on purpose, and events kept for later.
    "2025-11-25": {"server-sse-polling"},
    # The extension io.modelcontextprotocol/tasks, which this server does not offer.
    "2026-07-28": {
        "tasks-lifecycle",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-dispatch-and-envelope",
        "tasks-required-task-error",
        "tasks-mrtr-composition",
    },
}
"""What the suite runs and does not score, and what does not pass; the fixtures are not to blame."""

NOT_APPLICABLE: dict[str, set[str]] = {
    "2025-11-25": set(),
    # The lists never change, so no subscription is offered and the suite skips these.
    "2026-07-28": {
        "sep-2575-server-sends-subscription-ack",
        "sep-2575-server-tags-subscription-id",
        "sep-2575-server-honors-notification-filter",
        "sep-2575-server-sends-prompts-list-changed-on-subscription",
        "sep-2575-server-sends-tools-list-changed-on-subscription",
    },
}
"""Checks of scored scenarios that the suite itself skips."""

WITHOUT_FIXTURES: dict[str, set[str]] = {
    "2025-11-25": {
        "server-initialize",
        "ping",
        "tools-list",
        "tools-call-error",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "server-session-lifecycle",
    },
    "2026-07-28": {
        "tools-list",
        "tools-call-error",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "sep-2164-resource-not-found",
        "caching",
        "http-header-validation",
        "input-required-result-unsupported-methods",
    },
}
"""Scenarios that the server passes as users run it."""


@pytest.fixture(scope="module")
def node() -> NodeEnvironment:
    return prepare("protocol")


def _required(node: NodeEnvironment, revision: str) -> set[str]:
    """The scenarios for servers that the suite scores."""
    text = (node.package(SUITE) / "requirements" / f"{revision}.yaml").read_text(encoding="utf-8")
    return set(YAML(typ="safe").load(text)["server"])


def _run(node: NodeEnvironment, url: str, revision: str, folder: Path) -> dict[str, list[dict[str, str]]]:
    """Run the suite; the checks by scenario."""
    out = folder / "out"
    command = node.command("conformance", "server", "--url", url, "--requirements", revision, "-o", str(out))
    done = subprocess.run(
        command,
        cwd=folder,
        env=node.variables(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    checks: dict[str, list[dict[str, str]]] = {}
    for path in out.glob("server-*/checks.json"):
        name = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z", path.parent.name)
        assert name, path
        checks[name[1]] = json.loads(path.read_text(encoding="utf-8"))
    assert checks, done.stdout + done.stderr
    return checks


def _with_status(checks: list[dict[str, str]], *statuses: str) -> list[str]:
    return [f"{one['id']}: {one.get('errorMessage', '')}" for one in checks if one["status"] in statuses]


@EACH_REVISION
def test_every_scored_scenario_passes(
    node: NodeEnvironment, revision: str, tmp_path: Path, record: Record
) -> None:
    command = [sys.executable, "-m", "tests.clients.conformance", str(tmp_path)]
    with served(command, "stdout") as url:
        checks = _run(node, url, revision, tmp_path)
    required = _required(node, revision)
    assert len(required) >= 30
    assert required - checks.keys() == set(), "not run"
    failed = {name: _with_status(found, "FAILURE", "WARNING") for name, found in checks.items()}
    failed = {name: found for name, found in failed.items() if found}
    assert {name: found for name, found in failed.items() if name in required} == {}
    assert failed.keys() - required == UNSCORED_AND_FAILING[revision]
    skipped = {one["id"] for name in required for one in checks[name] if one["status"] == "SKIPPED"}
    assert skipped == NOT_APPLICABLE[revision]
    passed = sum(one["status"] == "SUCCESS" for name in required for one in checks[name])
    what = f"passed all {len(required)} scored scenarios with its fixtures ({passed} checks)"
    record(
        "MCP conformance suite",
        node.version(SUITE),
        what,
        kind="checker",
        protocol=revision,
        transport="HTTP",
    )


@EACH_REVISION
def test_the_server_as_it_is_passes_what_needs_no_fixture(
    node: NodeEnvironment, revision: str, tmp_path: Path, record: Record
) -> None:
    command = server_command(tmp_path, "--http", "0", "--rate", "1000")
    with served(command) as url:
        checks = _run(node, url, revision, tmp_path)
    expected = WITHOUT_FIXTURES[revision]
    assert {name: _with_status(checks[name], "FAILURE", "WARNING") for name in expected} == {
        name: [] for name in expected
    }
    record(
        "MCP conformance suite",
        node.version(SUITE),
        f"passed the {len(expected)} scenarios that need no fixture",
        kind="checker",
        protocol=revision,
        transport="HTTP",
    )
