"""Telling the context lease what became of the context that a client's model has."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal


def report(
    event: Literal["compacted", "cleared"], options: Sequence[str], environ: Mapping[str, str]
) -> None:
    """Report to the lease of the session above this process; without one there is nothing to tell."""
    from mcp_offload.cli.console import Console
    from mcp_offload.cli.hook.storing import settings_of
    from mcp_offload.cli.lease import run_lease
    from mcp_offload.cli.parser import parse
    from mcp_offload.errors import LeaseNotFoundError

    args = parse(["lease", "report", f"--{event}", *options])
    with suppress(LeaseNotFoundError):
        # Some clients put what a hook prints into the model's context.
        run_lease(args, settings_of(options, environ), environ, Console(stdout=io.BytesIO()))
