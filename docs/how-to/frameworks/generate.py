"""Puts the examples into the pages of this directory: the first block of Python of each.

Run by ``make docs``; a test holds the two equal.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples" / "frameworks"
_BLOCK = re.compile(r"^```python\n.*?^```$", re.MULTILINE | re.DOTALL)


def examples() -> dict[str, Path]:
    """The examples by the name of their page."""
    return {
        path.stem.removeprefix("with_").replace("_", "-"): path for path in sorted(EXAMPLES.glob("with_*.py"))
    }


def page(name: str) -> Path:
    """The page about a framework."""
    return HERE / f"{name}.md"


def quoted(text: str, example: str) -> str:
    """The page with its first block of Python written anew."""
    block = f"```python\n{example}```"
    return _BLOCK.sub(lambda _: block, text, count=1)


def main() -> int:
    for name, path in examples().items():
        text = page(name).read_text(encoding="utf-8")
        page(name).write_text(quoted(text, path.read_text(encoding="utf-8")), encoding="utf-8")
        sys.stdout.write(f"{page(name)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
