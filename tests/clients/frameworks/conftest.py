"""Prepares the environments of the frameworks that are about to be run."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.clients.environments import Environment, frameworks, preparing


@pytest.fixture(scope="session")
def environments(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Environment]]]:
    """Those of the tests to come, prepared in their order, two at a time, while the first are run."""
    asked = [
        item.callspec.params.get("name")
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
    ]
    known = frameworks()
    with preparing(dict.fromkeys(name for name in asked if name in known)) as under_way:
        yield under_way
