#!/usr/bin/env python3
"""Stands in for the ``vllm`` command where a test gives orders that a real engine cannot follow.

Orders come as words after the options: ``fail=FILE`` prints FILE and exits with 1; ``crash-times=N`` exits
with 3 after it was ready, the first N times; ``stubborn`` ignores SIGTERM; ``silent`` never gets ready,
``silent-times=N`` the first N times; ``stalled`` says that it has a request and makes no step. It has a
child of its own, as an engine's workers are; both process numbers stand in ``pids`` of its folder.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOME = Path(os.environ["FAKE_VLLM_HOME"])
ORDERS = dict(word.partition("=")[::2] for word in sys.argv if word.split("=")[0] in {
    "fail", "crash-times", "stubborn", "silent", "silent-times", "stalled",
})  # fmt: skip
GO = threading.Event()
METRICS = (
    'vllm:cache_config_info{engine="0",num_gpu_blocks="101",block_size="16",cache_dtype="fp8_e4m3",'
    'kv_cache_size_tokens="1600"} 1.0\n'
)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/go":
            GO.set()
        if self.path == "/crash":
            os._exit(3)
        stalled = 'vllm:num_requests_running{engine="0"} 1\n' if "stalled" in ORDERS else ""
        self._answer((METRICS + stalled).encode() if self.path == "/metrics" else b"{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/embeddings":  # a slow answer
            self._begin(chunked=True)
            self._chunk(b"begun")
            GO.wait()
            self._chunk(b" ended")
            self._chunk(b"")
            return
        self._answer(json.dumps({"usage": {"prompt_tokens": 3, "completion_tokens": 1}}).encode())

    def _begin(self, *, chunked: bool, length: int = 0) -> None:
        self.send_response(200)
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _answer(self, body: bytes) -> None:
        self._begin(chunked=False, length=len(body))
        self.wfile.write(body)


def main() -> int:
    if "stubborn" in ORDERS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    worker = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    starts = HOME / "starts"
    count = len(starts.read_text().split()) if starts.exists() else 0
    with starts.open("a") as file:
        file.write("x ")
    (HOME / "pids.new").write_text(f"{os.getpid()} {worker.pid}")
    os.replace(HOME / "pids.new", HOME / "pids")
    sys.stdout.write("(APIServer pid=1) INFO 11-30 21:31:37 [api_utils.py:286] non-default args: {}\n")
    sys.stdout.flush()
    if "fail" in ORDERS:
        sys.stdout.write(Path(ORDERS["fail"]).read_text())
        return 1
    if "silent" in ORDERS or count < int(ORDERS.get("silent-times", 0)):
        signal.pause()
    port = int(sys.argv[sys.argv.index("--port") + 1])
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if count < int(ORDERS.get("crash-times", 0)):
        sys.stdout.write("RuntimeError: the fake engine was told to crash.\n")
        return 3
    sys.stdout.write("INFO:     Application startup complete.\n")
    sys.stdout.flush()
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
