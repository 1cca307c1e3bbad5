"""What the bundle starts: the command line of the installed package."""

from __future__ import annotations

import sys

from mcp_offload.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
