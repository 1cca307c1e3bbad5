"""Handles whose content is gone: the error names the handle that was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.errors import HandleGoneError, HandleNotFoundError
from mcp_offload.service import OffloadService


def test_a_released_artifact_is_named_by_its_handle(service: OffloadService, project: Path) -> None:
    service.store(content="one\n", name="a.log")
    service.release(["l1"])
    for ask in (
        lambda: service.read(["l1"]),
        lambda: service.outline("l1#L1-2"),
        lambda: service.diff("l1"),
        lambda: service.pin(["l1"]),
    ):
        with pytest.raises(HandleGoneError, match=r"^l1 was released\.") as caught:
            ask()
        assert caught.value.reason == "released"


def test_what_was_never_issued_is_named_by_the_handle_given(service: OffloadService) -> None:
    with pytest.raises(HandleNotFoundError, match=r"\bf9\b"):
        service.read(["f9#total"])


def test_a_version_that_never_was_is_named_with_its_artifact(service: OffloadService) -> None:
    service.store(content="one\n", name="a.log")
    with pytest.raises(HandleNotFoundError, match=r"^l1 has no version 7"):
        service.read(["l1@7"])
