"""The demonstration: from a failing test run to a fixed package, by handle."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
from mcp import Client

from mcp_offload.cli.demo.agent import Agent, Ledger, StepError, first_handle, server, table, totals
from mcp_offload.cli.demo.fixes import Fix, find_fixes
from mcp_offload.cli.demo.material import BROKEN, FIXED, PACKAGE, Material, MaterialError, prepare
from mcp_offload.tokens import TokenCounter

CONTEXT_TOKENS = 18_000
COMPARED_FILES = 6

Say = Callable[[str], None]


def run_demo(say: Say) -> bool:
    """Walk the task, saying each step and then the table; False where anything was not as it must be."""
    failures: list[Exception] = []
    with tempfile.TemporaryDirectory(prefix="mcp-offload-demo-") as folder:
        try:
            say(f"fetching {PACKAGE} {BROKEN} and {FIXED} from the package index")
            material = prepare(Path(folder))
            anyio.run(_walk, material, Path(folder), say)
        # What is raised while a client is open arrives in groups, one per task group around it.
        except* (MaterialError, StepError) as group:
            failures = _leaves(group)
    for failure in failures:
        say(f"FAILED: {failure}")
    return not failures


def _leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    leaves: list[Exception] = []
    for inner in group.exceptions:
        leaves += _leaves(inner) if isinstance(inner, BaseExceptionGroup) else [inner]
    return leaves


@dataclass(frozen=True, slots=True)
class _Scene:
    """What every step works with."""

    material: Material
    agent: Agent
    say: Say

    def raw(self, *paths: Path) -> int:
        """Tokens of whole files, as an agent without handles would read or write them."""
        return sum(self.agent.ledger.counter.count(path.read_bytes()) for path in paths)


async def _walk(material: Material, folder: Path, say: Say) -> None:
    ledger = Ledger(TokenCounter())
    say(f"running the tests of {FIXED} on the sources of {BROKEN}")
    log, status = material.run_tests()
    if status != 1:
        raise StepError(
            f"the tests were to fail, but pytest ended with {status}: {log.read_bytes()[-500:]!r}"
        )
    parameters = server(material.project, folder / "store", folder / "state")
    async with Client(parameters) as client:
        scene = _Scene(material, Agent(client, ledger), say)
        with ledger.row("tool definitions and instructions", 0):
            await scene.agent.introduce()
        await _look(scene, log)
        edited = await _repair(scene)
        await _verify(scene, edited)
        await _compare_bytes(scene)
    for line in ("", *table(ledger.rows), ""):
        say(line)
    peak, raw = ledger.context_tokens, ledger.raw_tokens
    figures = {"peak context of the agent": peak, "limit": CONTEXT_TOKENS, "without offloading": raw}
    for line in totals(figures):
        say(line)
    if peak >= CONTEXT_TOKENS:
        raise StepError(f"the agent's context reached {peak} tokens, over {CONTEXT_TOKENS}")
    say("every byte compared was identical")


async def _look(scene: _Scene, log: Path) -> None:
    """Store the sources and the failing log, and find out what fails."""
    agent, material = scene.agent, scene.material
    sources = sorted((material.project / PACKAGE).rglob("*.py"))
    with agent.ledger.row(f"{len(sources)} source files", scene.raw(*sources)):
        scene.say((await agent.call("store_artifact", source=PACKAGE)).split("\n")[0])
        await agent.call("outline_handle", handle=PACKAGE, max_tokens=1200)
    with agent.ledger.row("failing test log", scene.raw(log)):
        digest = await agent.call("store_artifact", source="test.log")
        handle = first_handle(digest)
        scene.say("\n".join(digest.split("\n")[:4]))
        await agent.call("read_handle", handles=[f"{handle}#!1"], max_tokens=800)
        await agent.call("search_handles", pattern=r"^FAILED \S+", handles=[handle], max_tokens=800)


async def _repair(scene: _Scene) -> list[Fix]:
    """Read each function at fault by handle and replace it by handle; the files follow."""
    agent, material = scene.agent, scene.material
    fixes = find_fixes(material.project / PACKAGE, material.fixed)
    files = sorted({material.project / fix.path for fix in fixes})
    with agent.ledger.row(f"{len(files)} files rewritten", scene.raw(*files)):
        for fix in fixes:
            await agent.call("read_handle", handles=[fix.handle], max_tokens=1500)
            reply = await agent.call("edit_handle", handle=fix.handle, text=fix.text)
            scene.say(f"edited {reply.split(';')[0]}")
    first = fixes[0]
    with agent.ledger.row("diff of an edited file", None):
        outline = await agent.call("outline_handle", handle=first.path, max_tokens=400)
        latest = first_handle(outline)
        original = latest.partition("@")[0] + "@1"
        diff = await agent.call("diff_handles", before=original, after=latest, max_tokens=800)
        if "\n+" not in diff:
            raise StepError(f"the diff of {first.path} shows no added line: {diff[:300]}")
    return fixes


async def _verify(scene: _Scene, fixes: list[Fix]) -> None:
    """Run the tests again on what the edits left on disk."""
    agent, material = scene.agent, scene.material
    log, status = material.run_tests()
    with agent.ledger.row("test log after the fixes", scene.raw(log)):
        reply = await agent.call("store_artifact", source="test.log")
        latest = first_handle(reply)
        await agent.call("diff_handles", before=f"{latest.partition('@')[0]}@1", after=latest)
    scene.say(f"{len(fixes)} edits later: {reply.splitlines()[1]}")
    if status != 0:
        raise StepError(f"the tests still fail (pytest ended with {status})")


async def _compare_bytes(scene: _Scene) -> None:
    """Export by handle and compare with the originals, the binary build artifact among them."""
    agent, material = scene.agent, scene.material
    (material.project / "out").mkdir()
    wheel = material.wheel.relative_to(material.project)
    with agent.ledger.row(f"build artifact {wheel.name}", None):
        handle = first_handle(await agent.call("store_artifact", source=str(wheel)))
        await agent.call("export_handle", handle=handle, path="out/copy.whl")
    _same(material.wheel, material.project / "out" / "copy.whl")
    compared = sorted((material.project / PACKAGE).rglob("*.py"))[:COMPARED_FILES]
    compared.append(material.project / "test.log")
    with agent.ledger.row(f"{len(compared)} files exported and compared", None):
        for number, path in enumerate(compared):
            source = str(path.relative_to(material.project))
            await agent.call("export_handle", handle=source, path=f"out/{number}")
            _same(path, material.project / "out" / str(number))
    scene.say(f"{len(compared) + 1} exports compared with their originals")


def _same(original: Path, copy: Path) -> None:
    if original.read_bytes() != copy.read_bytes():
        raise StepError(f"{copy.name} differs from {original.name}")
