"""SIGKILL at any moment loses nothing that was acknowledged and damages nothing."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload.store import StoreConfig
from mcp_offload.store.failpoints import NAMES
from tests.process.store.harness import Promises, Writer, Zygote, settings

ROUNDS = int(os.environ.get("MCP_OFFLOAD_KILL_ROUNDS", "10"))
WRITERS = 4

pytestmark = [pytest.mark.process, pytest.mark.timeout(60 + 5 * ROUNDS)]


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[Zygote]:
    zygote = Zygote(tmp_path)
    yield zygote
    zygote.close()


@pytest.fixture
def config(tmp_path: Path) -> StoreConfig:
    return StoreConfig(store_dir=str(tmp_path / "store"), state_dir=str(tmp_path / "state"), reserve_bytes=0)


def test_four_writers_killed_again_and_again(zygote: Zygote, config: StoreConfig) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    promises = Promises()
    for turn in range(ROUNDS):
        writers = [
            Writer(zygote, job="write_for_ever", writer=f"{turn}.{n}", config=settings(config))
            for n in range(WRITERS)
        ]
        before = set(promises.held)
        for _ in range(chance.randrange(1, 40)):
            promises.hear(chance.choice(writers).acks.readline().rstrip("\n"))
        for writer in writers:
            writer.kill()
        for writer in writers:
            status, rest = writer.finish()
            assert os.WTERMSIG(status) == signal.SIGKILL, rest
            for line in rest:
                promises.hear(line)
        fresh = set(promises.held) - before
        old = chance.sample(sorted(before), min(20, len(before)))
        assert promises.broken(config, fresh | set(old)) == [], f"round {turn} of seed {seed}"
    assert len(promises.held) > ROUNDS
    assert promises.broken(config) == [], f"seed {seed}"


@pytest.mark.parametrize("name", NAMES)
def test_a_kill_at_each_named_step(zygote: Zygote, config: StoreConfig, name: str) -> None:
    durability = "host" if name in {"stage.synced", "commit.synced", "mark.synced"} else "process"
    config = dataclasses.replace(config, durability=durability, quota_bytes=400_000, wal_limit_bytes=100_000)
    promises = Promises()
    failpoints = [f"{name}=kill", "commit.before@5=enospc"]  # a full disk once, for the ballast's steps
    if name == "commit.before":
        failpoints.pop()
    writer = Writer(zygote, job="every_step", writer="a", config=settings(config), failpoints=failpoints)
    status, lines = writer.finish()
    assert os.WIFSIGNALED(status), f"the step was never reached: {lines}"
    assert os.WTERMSIG(status) == signal.SIGKILL
    for line in lines:
        promises.hear(line)
    assert promises.broken(config) == []

    again = Writer(zygote, job="every_step", writer="b", config=settings(config))
    status, lines = again.finish()
    assert status == 0
    for line in lines:
        promises.hear(line)
    assert promises.broken(config) == []
    assert len(promises.held) >= 6


@pytest.mark.parametrize(
    ("job", "step"),
    [
        pytest.param("ack_first", "commit.before", id="acknowledged before the commit"),
        pytest.param("rows_first", "commit.after", id="rows committed before their file is named"),
    ],
)
def test_the_harness_sees_a_wrong_order(zygote: Zygote, config: StoreConfig, job: str, step: str) -> None:
    promises = Promises()
    order = {"job": job, "writer": "a", "config": settings(config)}
    _, lines = Writer(zygote, **order, failpoints=[f"{step}=kill"]).finish()
    for line in [*lines, "put 1 a 3"][:1]:
        promises.hear(line)
    assert promises.broken(config) != []


def test_the_same_jobs_are_sound_where_nobody_kills_them(zygote: Zygote, config: StoreConfig) -> None:
    promises = Promises()
    status, lines = Writer(zygote, job="ack_first", writer="a", config=settings(config)).finish()
    assert status == 0
    for line in lines:
        promises.hear(line)
    assert len(promises.held) == 1
    assert promises.broken(config) == []
