"""Artifacts whose bytes still arrive: a file each that is only ever appended to, beside the catalog.

Until such an artifact is complete the catalog knows no more of it than that its number was issued. Its
file is held under ``flock`` by whoever writes to it, in whichever processes; the kernel drops the lock
when the last of them is gone, however that came about, and the file may then be committed by anybody.
What was appended is visible at once and survives the death of every process. Reading it gives version 1,
as far as it has come: bytes are added to it and never changed, so lines read early stay what they are.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
from array import array
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from blake3 import blake3

from mcp_offload.models import Artifact, Kind, Version
from mcp_offload.store.config import BLOCK_BYTES
from mcp_offload.store.places import ensure_private_dir
from mcp_offload.store.reader import BlobReader
from mcp_offload.store.staged import pread_all

_FOLDER: Final = "growing"
_OUTPUT, _NOTES, _ABOUT = ".out", ".notes", ".about"
_NAME_CHARS: Final = 40
_SNIFF_BYTES: Final = 4096


@dataclass(slots=True)
class Growing:
    """An artifact that is being written, or was and is not committed yet.

    Attributes:
        output_fd: opened for appending and reading, and locked; a process that inherits it holds the
            lock as well.
        notes_fd: opened for appending and reading; what is noted there is the writer's affair.
    """

    artifact: Artifact
    output_fd: int
    notes_fd: int

    def close(self) -> None:
        """Let go of it; it stays where it is."""
        for fd in (self.output_fd, self.notes_fd):
            if fd >= 0:
                os.close(fd)
        self.output_fd = self.notes_fd = -1


class GrowingDir:
    """The files of the artifacts that grow in one store. Thread-safe."""

    def __init__(self, store_dir: str) -> None:
        self._path = os.path.join(store_dir, _FOLDER)
        self._counts: dict[str, array[int]] = {}
        self._lock = threading.Lock()

    def create(self, artifact: Artifact) -> Growing:
        """Begin one, empty.

        Raises:
            OSError, StoreError: it cannot be made.
        """
        os.close(ensure_private_dir(self._path))
        name = _name(artifact.workspace, artifact.number)
        about = {
            "workspace": artifact.workspace,
            "number": artifact.number,
            "kind": artifact.kind.value,
            "name": artifact.name,
            "created_at": artifact.created_at,
        }
        with open(self._file(name, _ABOUT), "x", encoding="utf-8", opener=_private) as file:
            json.dump(about, file)
        notes_fd = self._open(name, _NOTES, os.O_CREAT | os.O_EXCL)
        # Locked before it can be found: whoever finds it unlocked takes it for complete.
        output_fd = self._open(name, ".new", os.O_CREAT | os.O_EXCL)
        fcntl.flock(output_fd, fcntl.LOCK_EX)
        os.rename(self._file(name, ".new"), self._file(name, _OUTPUT))
        return Growing(artifact, output_fd, notes_fd)

    def artifact(self, workspace: str, number: int) -> Artifact | None:
        """One that grows, or waits to be committed."""
        return self._artifact(_name(workspace, number))

    def artifacts(self, workspace: str) -> list[Artifact]:
        """All of a workspace, newest first."""
        found = [artifact for name in self._names() if (artifact := self._artifact(name)) is not None]
        own = [artifact for artifact in found if artifact.workspace == workspace]
        return sorted(own, key=lambda artifact: -artifact.number)

    def listed(
        self, workspace: str, kind: Kind | None, name_contains: str | None
    ) -> list[tuple[Artifact, Version]]:
        """Those of a kind and name, with what has come of each."""
        if kind not in (None, Kind.LOG):
            return []
        found = [a for a in self.artifacts(workspace) if (name_contains or "").lower() in a.name.lower()]
        versions = [(artifact, self.version(artifact)) for artifact in found]
        return [(artifact, version) for artifact, version in versions if version is not None]

    def ended(self) -> Iterator[Growing]:
        """Those that nobody writes to any more, locked for the caller, who closes them."""
        for name in self._names():
            grown = self._take(name)
            if grown is not None:
                yield grown

    def take_ended(self, workspace: str, number: int) -> Growing | None:
        """One that nobody writes to any more, locked for the caller, who closes it."""
        return self._take(_name(workspace, number))

    def is_written(self, workspace: str, number: int) -> bool:
        """True while somebody holds its file."""
        taken = self.take_ended(workspace, number)
        if taken is not None:
            taken.close()
            return False
        return os.path.exists(self._file(_name(workspace, number), _OUTPUT))

    def notes(self, workspace: str, number: int) -> bytes:
        """What its writer noted so far."""
        try:
            with open(self._file(_name(workspace, number), _NOTES), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def discard(self, artifact: Artifact) -> None:
        """Delete the files of one that is committed; readers that have it open are not disturbed."""
        name = _name(artifact.workspace, artifact.number)
        for suffix in (_OUTPUT, _NOTES, _ABOUT):
            with suppress(FileNotFoundError):
                os.unlink(self._file(name, suffix))
        with self._lock:
            self._counts.pop(name, None)

    def sweep(self, older_than: float) -> None:
        """Delete what a process left that was killed while it began one; POSIX seconds."""
        try:
            entries = list(os.scandir(self._path))
        except FileNotFoundError:
            return
        begun = {entry.name.removesuffix(_OUTPUT) for entry in entries if entry.name.endswith(_OUTPUT)}
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.name.partition(".")[0] not in begun and entry.stat().st_mtime < older_than:
                    os.unlink(entry.path)

    def version(self, artifact: Artifact) -> Version | None:
        """Version 1 as far as it has come; None where it is here no more."""
        name = _name(artifact.workspace, artifact.number)
        try:
            fd = self._open(name, _OUTPUT, 0)
        except FileNotFoundError:
            return None
        try:
            size_bytes = os.fstat(fd).st_size
            newlines = self._newlines(name, fd, size_bytes)[0]
            ended = pread_all(fd, max(0, size_bytes - 1), size_bytes) in (b"", b"\n")
            binary = b"\0" in pread_all(fd, 0, min(size_bytes, _SNIFF_BYTES))
        finally:
            os.close(fd)
        return Version(
            number=artifact.number,
            version=1,
            blake3=f"{name}{size_bytes:024x}",
            view_blake3=None,
            encoding="binary" if binary else "utf-8",
            size_bytes=size_bytes,
            lines=newlines + int(not ended),
            language=None,
            created_at=artifact.created_at,
            growing=True,
        )

    def reader(self, version: Version) -> BlobReader | None:
        """The bytes of a version of one that grows; None where it is here no more."""
        name = version.blake3[:_NAME_CHARS]
        try:
            fd = self._open(name, _OUTPUT, 0)
        except FileNotFoundError:
            return None
        newlines, counts = self._newlines(name, fd, version.size_bytes)
        last = pread_all(fd, max(0, version.size_bytes - 1), version.size_bytes)
        return BlobReader(
            blake3=version.blake3,
            size_bytes=version.size_bytes,
            newlines=newlines,
            ends_with_newline=last == b"\n",
            counts=counts,
            fd=fd,
        )

    def _newlines(self, name: str, fd: int, size_bytes: int) -> tuple[int, bytes]:
        """Newlines in the first so many bytes, and the packed counts of the full blocks among them."""
        full = size_bytes // BLOCK_BYTES
        with self._lock:
            counts = self._counts.setdefault(name, array("Q"))
            while len(counts) < full:
                start = len(counts) * BLOCK_BYTES
                before = counts[-1] if counts else 0
                counts.append(before + pread_all(fd, start, start + BLOCK_BYTES).count(b"\n"))
            packed = counts[:full]
        newlines = packed[-1] if packed else 0
        newlines += pread_all(fd, full * BLOCK_BYTES, size_bytes).count(b"\n")
        if sys.byteorder == "big":
            packed.byteswap()
        return newlines, packed.tobytes()

    def _take(self, name: str) -> Growing | None:
        try:
            fd = self._open(name, _OUTPUT, 0)
        except FileNotFoundError:
            return None
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            artifact = self._artifact(name)
            if artifact is not None and os.fstat(fd).st_nlink:  # else somebody was faster
                return Growing(artifact, fd, self._open(name, _NOTES, os.O_CREAT))
        os.close(fd)
        return None

    def _artifact(self, name: str) -> Artifact | None:
        if not os.path.exists(self._file(name, _OUTPUT)):
            return None
        try:
            with open(self._file(name, _ABOUT), encoding="utf-8") as file:
                about = json.load(file)
        except (FileNotFoundError, ValueError):
            return None
        return growing_artifact(about["workspace"], about["number"], about["name"], about["created_at"])

    def _names(self) -> list[str]:
        try:
            files = os.listdir(self._path)
        except FileNotFoundError:
            return []
        return sorted(file.removesuffix(_OUTPUT) for file in files if file.endswith(_OUTPUT))

    def _open(self, name: str, suffix: str, flags: int) -> int:
        flags |= os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._file(name, suffix), flags, 0o600)

    def _file(self, name: str, suffix: str) -> str:
        return os.path.join(self._path, name + suffix)


def growing_artifact(workspace: str, number: int, name: str, created_at: float) -> Artifact:
    """A log that grows."""
    return Artifact(
        workspace=workspace,
        number=number,
        kind=Kind.LOG,
        name=name,
        source_path=None,
        latest=1,
        pinned=False,
        created_at=created_at,
        used_at=created_at,
        growing=True,
    )


def settled_key(version: Version) -> str:
    """Where the hash of the finished content is kept for who still holds a version from before."""
    return f"{version.blake3[:_NAME_CHARS]:0<64}:settled"


def settled_key_of(artifact: Artifact) -> str:
    """The same by the artifact."""
    return f"{_name(artifact.workspace, artifact.number):0<64}:settled"


def _name(workspace: str, number: int) -> str:
    """Of the files; the rest of a version's stand-in for a hash is its size, so nothing else collides."""
    key = f"{workspace}\0{number}".encode("utf-8", "surrogatepass")
    return blake3(key).hexdigest()[:_NAME_CHARS]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
