from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_offload.errors import StoreError, StoreUnsafeError
from mcp_offload.store import places


def open_and_close(path: Path) -> None:
    os.close(places.ensure_private_dir(str(path)))


@pytest.fixture
def strict_umask() -> object:
    old = os.umask(0o777)
    yield
    os.umask(old)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_missing_directory_is_made_private_with_its_parents(tmp_path: Path) -> None:
    open_and_close(tmp_path / "a" / "b")
    assert mode(tmp_path / "a") == 0o700
    assert mode(tmp_path / "a" / "b") == 0o700


@pytest.mark.usefixtures("strict_umask")
def test_the_umask_does_not_matter(tmp_path: Path) -> None:
    open_and_close(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o700


def test_a_directory_open_to_the_group_is_refused_and_not_changed(tmp_path: Path) -> None:
    tmp_path.joinpath("open").mkdir()
    tmp_path.joinpath("open").chmod(0o750)
    with pytest.raises(StoreUnsafeError, match="open to other users"):
        open_and_close(tmp_path / "open")
    assert mode(tmp_path / "open") == 0o750


def test_a_link_is_refused_even_to_a_private_directory(tmp_path: Path) -> None:
    open_and_close(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StoreUnsafeError, match="symbolic link"):
        open_and_close(tmp_path / "link")


def test_a_dangling_link_is_refused_and_its_target_not_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreUnsafeError):
        open_and_close(tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnsafeError):
        open_and_close(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_another_owner_is_refused(tmp_path: Path) -> None:
    open_and_close(tmp_path / "a")
    os.chown(tmp_path / "a", 12345, 12345)
    with pytest.raises(StoreUnsafeError, match="another user"):
        open_and_close(tmp_path / "a")


def test_a_place_that_cannot_be_made_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError):
        open_and_close(tmp_path / "file" / "below")


MOUNTS = """\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:25 / /dev/shm rw shared:3 - tmpfs tmpfs rw
31 21 0:26 / /mnt/with\\040space rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "ram"),
    [("/", False), ("/var/tmp", False), ("/dev/shm", True), ("/dev/shm/x", True), ("/dev/shmem", False)],
)
def test_memory_file_systems_are_told_by_their_mount(tmp_path: Path, path: str, ram: bool) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert places.in_ram(path, str(tmp_path / "mountinfo")) is ram


def test_a_mount_point_with_a_space_is_read(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert places.in_ram("/mnt/with space/x", str(tmp_path / "mountinfo"))


def test_without_a_table_of_mounts_nothing_is_in_memory(tmp_path: Path) -> None:
    assert not places.in_ram("/dev/shm", str(tmp_path / "missing"))


def test_defaults_are_private_per_user_and_absolute() -> None:
    place = places.default_store_dir({"HOME": "/home/a"}, 4321)
    assert place in {
        "/var/tmp/mcp-offload-4321",
        "/tmp/mcp-offload-4321",
        "/home/a/.cache/mcp-offload/store",
    }


def test_the_default_on_macos_is_the_users_own_temporary_directory() -> None:
    place = places.default_store_dir({"TMPDIR": "/var/folders/x/T/"}, 501, darwin=True)
    assert place == "/var/folders/x/T/mcp-offload"


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({"HOME": "/home/a"}, "/home/a/.local/state/mcp-offload"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": "/s"}, "/s/mcp-offload"),
        ({"HOME": "/home/a", "XDG_STATE_HOME": "relative"}, "/home/a/.local/state/mcp-offload"),
        ({}, "/var/tmp/mcp-offload-7-state"),
    ],
)
def test_the_state_directory_follows_the_xdg_specification(env: dict[str, str], place: str) -> None:
    assert places.default_state_dir(env, 7) == place
