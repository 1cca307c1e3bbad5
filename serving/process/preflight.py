"""What can be known to fail before minutes are spent on a start."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from serving.errors import EngineError, MissingExtraError
from serving.profile.model import Profile

_ASK: Final = """
import importlib.metadata as m, sys
for name in sys.argv[1:]:
    try:
        print(m.version(name))
    except m.PackageNotFoundError:
        print()
"""
_ASK_SECONDS: Final = 60.0


def find_program(path: str, environment: Mapping[str, str]) -> str:
    """The absolute path of the ``vllm`` command.

    Args:
        path: as given, a name or a path.
        environment: its PATH is searched.

    Raises:
        MissingExtraError: there is none.
    """
    found = shutil.which(path, path=environment.get("PATH", os.defpath))
    if found is None:
        raise MissingExtraError(
            f"There is no program {path!r}; run: pip install 'mcp-offload[serving]', or give its path with"
            " --vllm."
        )
    return os.path.abspath(found)


def require_version(profile: Profile, program: str, environment: Mapping[str, str]) -> str:
    """The version of vLLM that a command runs.

    Raises:
        EngineError: it is not the release that the profile was made for.
    """
    asked = list(dict.fromkeys((profile.engine, "vllm")))
    found = versions_of(program, asked, environment)
    version = found[0]
    if not version:
        raise EngineError(
            f"{program} does not run {profile.engine}, which profile {profile.name!r} is for; run: pip"
            f" install {profile.engine}=={profile.engine_version}."
        )
    if not all(found):
        raise EngineError(
            f"{profile.engine} {version} looks for its version under the name 'vllm' and does not find it;"
            " docs/how-to/serve.md shows what to add."
        )
    if not same_release(version, profile.engine_version):
        raise EngineError(
            f"{program} is {profile.engine} {version}; profile {profile.name!r} is for"
            f" {profile.engine_version}, and flags change between releases. Run: pip install"
            f" {profile.engine}=={profile.engine_version}, or give --any-version."
        )
    return version


def same_release(version: str, wanted: str) -> bool:
    """Whether a version is of the wanted release, build suffixes left out: 0.33.0+cu129 is 0.33.0."""
    return version.partition("+")[0] == wanted.partition("+")[0]


def require_model(profile: Profile) -> None:
    """A checkpoint that is a folder must be one, with a configuration and weights.

    Raises:
        EngineError: it is not.
    """
    given = profile.model
    if not given.startswith(("/", "./", "../", "~")):
        return  # a name on the hub, or in its cache: the engine finds it or says why not
    folder = Path(given).expanduser()
    if not (folder / "config.json").is_file():
        raise EngineError(f"There is no checkpoint at {folder} (no config.json); name one with --model.")
    if not any(any(folder.glob(pattern)) for pattern in ("*.safetensors", "*.bin", "*.pt", "*.gguf")):
        raise EngineError(f"{folder} holds a config.json but no weights; copy the whole checkpoint there.")


def require_free_port(host: str, port: int, what: str, option: str) -> None:
    """A port that can be listened at.

    Raises:
        EngineError: something listens there, or it is not ours to take.
    """
    try:
        listening_socket(host, port).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise EngineError(
                f"Port {port} of {host}, {what}'s, is in use; end what listens there, or give another with"
                f" {option}."
            ) from error
        raise EngineError(f"{what} cannot listen at {host}:{port}: {error.strerror}.") from error


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound socket; nobody can connect before it listens.

    Raises:
        OSError: it cannot be bound.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def versions_of(program: str, names: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Versions of distributions as the program's own interpreter sees them; empty where there is none.

    Raises:
        EngineError: they cannot be found out.
    """
    interpreter = interpreter_of(program)
    try:
        done = subprocess.run(
            [*interpreter, "-c", _ASK, *names],
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineError(f"The version of {program} cannot be found out: {error}.") from error
    return [line.strip() for line in done.stdout.split("\n")[: len(names)]]


def interpreter_of(program: str) -> list[str]:
    """What a script's first line names. Source: execve(2), interpreter scripts.

    Raises:
        EngineError: it is no script.
    """
    with open(program, "rb") as file:
        first = file.readline(1024)
    if not first.startswith(b"#!"):
        raise EngineError(f"{program} is no script of a Python environment; give the right one with --vllm.")
    words = first[2:].decode("utf-8", "replace").split()
    if words[:1] == ["/bin/sh"]:  # the form for long paths: a shell line that runs the interpreter beside it
        return [str(Path(program).with_name("python"))]
    return words
