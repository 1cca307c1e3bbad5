"""What the tests of clients share."""

from __future__ import annotations

from typing import Protocol

import pytest

from tests.clients.compatibility import Kind
from tests.clients.recording import PROPERTY


class Record(Protocol):
    """Tells what was seen, for docs/compatibility.md."""

    def __call__(
        self,
        client: str,
        version: str,
        what: str,
        *,
        kind: Kind = "client",
        protocol: str | None = None,
        transport: str = "stdio",
    ) -> None: ...


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    """``record(client, version, what)``: call it as often as you like, behind the assertions.

    ``client`` is the name that users know (``"Codex CLI"``), ``version`` the one that the program or
    package itself tells (never a literal), ``what`` a phrase without a full stop of what was asserted
    (``"stored a log and read a failure by handle"``). ``kind`` chooses the table: ``"checker"``,
    ``"client"`` or ``"framework"``. ``protocol`` is the revision seen on the wire (``"2026-07-28"``);
    leave it out where the test cannot tell. All that one version did is one line of the page.

    It counts only where the test passes. ``make compatibility`` runs the tests with
    ``--record-compatibility``, which writes data/compatibility.json, and writes the page; a test that
    did not run keeps what it recorded before, so a single file may be recorded alone::

        pytest -m clients --record-compatibility tests/clients/test_codex.py
        python -m tests.clients.compatibility
    """

    def recorded(
        client: str,
        version: str,
        what: str,
        *,
        kind: Kind = "client",
        protocol: str | None = None,
        transport: str = "stdio",
    ) -> None:
        assert version and not set("|\n") & set(client + version + what), (client, version, what)
        row = {"kind": kind, "client": client, "version": version, "what": what}
        request.node.user_properties.append((PROPERTY, {**row, "protocol": protocol, "transport": transport}))

    return recorded
