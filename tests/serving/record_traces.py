"""Records traces of the kernel agent on a real vLLM.

``python -m tests.serving.record_traces MODEL CACHE OUT [SECONDS]``: MODEL is ``smollm2`` or ``tiny``, CACHE
``auto`` or ``fp8``; what OUT has already is not recorded again,
and no run begins after so many seconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.clients.environments import ROOT, prepare
from tests.serving import models, node

PORT = 8483
STRUCTURED = '{"backend": "xgrammar", "disable_any_whitespace": true}'
FLAGS = (
    "--max-model-len", "8192", "--block-size", "32", "--num-gpu-blocks-override", "1024",
    "--structured-outputs-config", STRUCTURED,
)  # fmt: skip


def main(model: str, cache: str, out: Path, seconds: str = "3600") -> int:
    folder = {"smollm2": models.smollm2, "tiny": models.tiny}[model]()
    with (
        tempfile.TemporaryDirectory() as home,
        node.engine(Path(home), folder, *FLAGS, "--kv-cache-dtype", cache, port=PORT) as engine,
    ):
        return subprocess.run(
            [
                str(prepare("langchain").python), "-m", "kernel_agent.record", "--url", f"{engine.url}/v1",
                "--metrics", f"{engine.url}/metrics", "--engine-pid", str(engine.process.pid),
                "--model", "m", "--name", model, "--out", str(out.resolve()), "--seconds", seconds,
                "--server", f"{sys.executable} -m mcp_offload",
            ],
            cwd=ROOT / "examples", check=False,
        ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
