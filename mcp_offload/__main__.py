"""``python -m mcp_offload`` and the ``mcp-offload`` command."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line with this process's arguments and environment; returns the exit status."""
    if sys.argv[1:2] in (["hook"], ["capture"]) and not {"--help", "-h"}.intersection(sys.argv):
        # A client waits for these at every command that it runs: nothing else is loaded first.
        from mcp_offload.cli.hook.front import run_front

        return run_front(sys.argv[1:], os.environ)
    from mcp_offload.cli.main import run

    return run(sys.argv[1:], os.environ)


if __name__ == "__main__":
    sys.exit(main())
