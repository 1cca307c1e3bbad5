"""The tour of the examples is that of the README, and both say what really happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "examples" / "quickstart" / "tour.sh"


@pytest.mark.process
def test_the_tour_runs_the_commands_of_the_readme_with_their_output(tmp_path: Path) -> None:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [TOUR], capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": tools}, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = [command for command in _commands(readme) if not command.startswith("cat ")]
    assert _commands(done.stdout) == told
    for line in ("f1#Invoice.total m L7-8 21t", "+        return round(sum(self.lines) * (1 - rate), 2)",
                 "l2#L4321 compile unit 4321 error: no rule"):  # fmt: skip
        assert line in done.stdout.split("\n")
        assert line in readme
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_the_tour_is_that_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"\$ cat > invoice\.py <<'END'\n((?:>.*\n)+?)> END\n", readme)
    assert shown is not None
    text = re.sub(r"(?m)^> ?", "", shown[1])
    assert (TOUR.parent / "invoice.py").read_text(encoding="utf-8") == text


def _commands(text: str) -> list[str]:
    return re.findall(r"(?m)^\$ (.*)", text)
