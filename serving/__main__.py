"""``python -m serving`` and the ``mcp-offload-serving`` command."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line with this process's arguments and environment; returns the exit status."""
    from serving.cli.main import run

    return run(sys.argv[1:], os.environ)


if __name__ == "__main__":
    sys.exit(main())
