"""An OpenAI-compatible endpoint with recorded answers, found by what the conversation holds.

An answer is given only where the question contains what it is made of; anything else is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from mcp_offload.tokens import TokenCounter


class Recorded(NamedTuple):
    """An answer, and the words that must be in the last message for it."""

    words: tuple[str, ...]
    value: dict[str, Any] | str


def kernel(body: str) -> dict[str, Any]:
    return {
        "source": "__global__ void saxpy(const float *a, const float *b, float *out, float alpha, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"{body}"
        "}\n"
    }


PLAN = Recorded(
    ("Task: Compute alpha times a plus b", "- saxpy: alpha * a[i] + b[i]"),
    {"in_scope": True, "operation": "saxpy"},
)
CORRUPTED = Recorded(
    ("Generate the kernel", "void saxpy"),
    kernel("    if (i < n) {\n        out[i] = alpha * a[i] + c[i];\n    }\n"),
)
UNGUARDED = Recorded(
    ("Generate the whole kernel again", "void saxpy"), kernel("    out[i] = alpha * a[i] + b[i];\n")
)
RIGHT = Recorded(
    ("Generate the whole kernel again", "void saxpy"),
    kernel("    if (i < n) {\n        out[i] = alpha * a[i] + b[i];\n    }\n"),
)
UNDECLARED = Recorded(
    ("Criticise", "out[i] = alpha * a[i] + c[i];"), {"cause": "c is not a parameter", "again": True}
)
BEYOND = Recorded(
    ("Criticise", "out[1003] was written, and out has 1003 elements"),
    {"cause": "there is no guard", "again": True},
)
ANSWERS = [
    PLAN,
    Recorded(("Analyze", "out[i] = alpha * a[i] + b[i];"), {"facts": "thread i writes element i"}),
    Recorded(("Optimize",), {"strategy": "a thread for each element", "reason": "no reuse"}),
    CORRUPTED, UNDECLARED, UNGUARDED, BEYOND, RIGHT,
]  # fmt: skip


class Endpoint:
    """Gives each answer once, in any order, and remembers what was asked."""

    def __init__(self, answers: Sequence[Recorded]) -> None:
        self.left = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.url = ""

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked.append(body)
        question = body["messages"][-1]["content"]
        for answer in self.left:
            if all(word in question for word in answer.words):
                self.left.remove(answer)
                text = answer.value if isinstance(answer.value, str) else json.dumps(answer.value)
                return 200, _reply(body, text)
        return 422, {"error": {"message": f"nothing is recorded for this: {question}"}}


def _reply(body: dict[str, Any], text: str) -> dict[str, Any]:
    prompt = "".join(message["content"] for message in body["messages"])
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": TokenCounter().count(prompt),
            "completion_tokens": TokenCounter().count(text),
        },
    }


@contextmanager
def recorded(answers: Sequence[Recorded]) -> Iterator[Endpoint]:
    """The endpoint on a port of its own."""
    endpoint = Endpoint(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, reply = endpoint.answer(body)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield endpoint
        finally:
            server.shutdown()
            thread.join()
