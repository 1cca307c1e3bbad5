"""The audit of offloading, over the ledger that a real server wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.process.stdio.rig import PATIENCE_SECONDS, Rig, server_command

pytestmark = pytest.mark.process
PAGE = 'vllm:cache_config_info{block_size="16",cache_dtype="fp8",num_gpu_blocks="30001"} 1.0\n'


def audited(folder: Path) -> dict[str, Any]:
    page = folder / "page.txt"
    page.write_text(PAGE)
    line = [sys.executable, "-m", "serving", "--json", "audit", "--page", str(page)]
    done = subprocess.run(
        [*line, "--workspace", str(folder / "work"), "--store", str(folder / "store")],
        env=dict(os.environ) | {"MCP_OFFLOAD_STATE": str(folder / "state")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.stdout, done.stderr
    return {standard["name"]: standard for standard in json.loads(done.stdout)["standards"]}


def test_what_a_session_kept_out_is_found_in_the_ledger(tmp_path: Path) -> None:
    argv = server_command(tmp_path)
    large = "".join(f"def f{number}(x):\n    return x + {number}\n\n\n" for number in range(2000))
    (tmp_path / "work" / "large.py").write_text(large)
    with Rig(argv, tmp_path) as rig:
        rig.greet()
        assert "f1" in rig.call("store_artifact", path="large.py")
        assert "f1000" in rig.call("read_handle", handles=["f1#f1000"])
        rig.hang_up()
        assert rig.status() == 0
    found = audited(tmp_path)["offloading"]
    assert found["status"] == "passed", found
    kept = int(found["evidence"][0].split()[3].replace(",", ""))
    assert 20_000 < kept < 40_000  # some thirteen tokens a function, two thousand times
