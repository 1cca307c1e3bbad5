"""A server written by hand, whose every byte is known: what it says is spelled as no library would."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

#: Odd spacing, escapes, numbers and order; a proxy that reads and writes JSON anew would change each.
ODD = (
    b'{ "result" : {"z":1.0E5, "content":[{"text":"caf\\u00e9 \\/ 1e400","type":"text"}],"a":-0.0} ,'
    b'"id":%s, "jsonrpc":"2.0" }'
)
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 900}}


def say(message: object) -> None:
    raw(json.dumps(message).encode())


def raw(line: bytes) -> None:
    data = memoryview(line + b"\n")
    while data:
        data = data[os.write(1, data) :]


def text(request_id: object, words: str) -> None:
    say({"jsonrpc": "2.0", "id": request_id, "result": {"content": [{"type": "text", "text": words}]}})


def complain(*words: object) -> None:
    sys.stderr.write(" ".join(map(str, words)) + "\n")
    sys.stderr.flush()


def tools(names: list[str]) -> list[dict[str, Any]]:
    schema = {"type": "object"}
    return [{"name": name, "inputSchema": schema, "outputSchema": schema} for name in names]


def greeted(request_id: object, version: str) -> None:
    info = {"name": "raw", "version": "1"}
    result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    say({"jsonrpc": "2.0", "id": request_id, "result": result})


def listed(request_id: object, params: dict[str, Any]) -> None:
    """Two pages, the second with the tools that the environment names."""
    if "cursor" not in params:
        names, more = ["odd", "say", "quiet"], {"nextCursor": "2"}
    else:
        names, more = ["structured", *os.environ.get("RAW_TOOLS", "").split()], {}
    say({"jsonrpc": "2.0", "id": request_id, "result": {"tools": tools(names), **more}})


def structured(request_id: bytes, count: int) -> None:
    head = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"short"}],' % request_id
    raw(head + b'"structuredContent": {"n" : 1.50, "pad":"' + b"x y " * count + b'"}}}')


def big(request_id: bytes, size_bytes: int) -> None:
    head = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' % request_id
    raw(head + b"0123456789abcde\\n" * (size_bytes // 16) + b'"}]}}')


def flood(request_id: object, count: int) -> None:
    for _ in range(count):
        say(NOTE)
    text(request_id, "flooded")


def misbehave(request_id: object, name: str, arguments: dict[str, Any]) -> None:
    match name:
        case "junk":
            raw(b"Starting up... {not json")
            raw(b"[1,2]")
            text(request_id, "clean")
        case "quiet":
            pass
        case "deaf":
            text(request_id, "deaf now")
            time.sleep(1_000)
        case "die":
            sys.exit(arguments.get("code", 1))
        case _:
            text(request_id, name)


def call(request_id: object, name: str, arguments: dict[str, Any]) -> None:
    spelled = json.dumps(request_id).encode()
    match name:
        case "odd":
            raw(ODD % spelled)
        case "say":
            text(request_id, arguments["text"])
        case "structured":
            structured(spelled, arguments["count"])
        case "big":
            big(spelled, arguments["bytes"])
        case "flood":
            flood(request_id, arguments["count"])
        case "read_handle":
            text(request_id, "mine: " + json.dumps(arguments))
        case _:
            misbehave(request_id, name, arguments)


def main() -> None:
    if os.environ.get("RAW_DIES"):
        complain("cannot find my database")
        sys.exit(9)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        params = message.get("params", {})
        match message.get("method"):
            case "initialize":
                greeted(message["id"], params["protocolVersion"])
            case "tools/list":
                listed(message["id"], params)
            case "tools/call":
                call(message["id"], params["name"], params.get("arguments", {}))
            case "notifications/cancelled":
                complain("cancelled", params["requestId"])
            case _ if "id" in message:
                say({"jsonrpc": "2.0", "id": message["id"], "result": {"echo": message}})
            case _:
                complain(message.get("method"))


if __name__ == "__main__":
    main()
