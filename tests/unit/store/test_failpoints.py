from __future__ import annotations

import errno

import pytest

from mcp_offload.errors import SettingsError
from mcp_offload.store import Failpoints


def test_a_step_that_is_not_armed_does_nothing() -> None:
    failpoints = Failpoints(["commit.before=eio"])
    failpoints.hit("commit.after")


@pytest.mark.parametrize(
    ("action", "number"), [("enospc", errno.ENOSPC), ("edquot", errno.EDQUOT), ("eio", errno.EIO)]
)
def test_an_armed_step_fails_as_the_system_would(action: str, number: int) -> None:
    failpoints = Failpoints([f"blob.linked={action}"])
    with pytest.raises(OSError) as caught:
        failpoints.hit("blob.linked")
    assert caught.value.errno == number
    failpoints.hit("blob.linked")  # only the first time


def test_only_the_named_time_fails() -> None:
    failpoints = Failpoints(["blob.linked@3=eio"])
    failpoints.hit("blob.linked")
    failpoints.hit("blob.linked")
    with pytest.raises(OSError, match="Input/output"):
        failpoints.hit("blob.linked")


@pytest.mark.parametrize(
    "spec", ["", "commit.before", "commit.before=boom", "nowhere=kill", "blob.linked@0=eio"]
)
def test_a_malformed_text_is_refused(spec: str) -> None:
    with pytest.raises(SettingsError, match="failpoint"):
        Failpoints([spec])
