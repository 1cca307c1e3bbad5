"""Lines of any length, held in little."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.wrap.cut import END_BYTES, LineCutter, Oversized


@given(st.lists(st.binary(max_size=30)), st.integers(1, 20))
def test_lines_come_whole_or_as_their_ends(chunks: list[bytes], most: int) -> None:
    cutter = LineCutter(most)
    found = [line for chunk in chunks for line in cutter.feed(chunk)]
    wanted = b"".join(chunks).split(b"\n")[:-1]
    assert len(found) == len(wanted)
    for line, whole in zip(found, wanted, strict=True):
        if len(whole) <= most:
            assert line == whole
        else:
            assert isinstance(line, Oversized)
            assert line.size_bytes == len(whole)
            assert line.tail == whole[-END_BYTES:]
            assert whole.startswith(line.head)


@pytest.mark.parametrize("request_id", [7, 'a"b', "", -1])
@pytest.mark.parametrize("spelling", ["head", "bare", "tail", "last"])
def test_the_id_is_found_at_either_end(request_id: int | str, spelling: str) -> None:
    result = {"content": [{"type": "text", "text": "x" * 20_000, "id": 99}]}
    parts = {"jsonrpc": "2.0", "id": request_id, "result": result}
    order = {
        "head": ["jsonrpc", "id", "result"],
        "bare": ["id", "result", "jsonrpc"],
        "tail": ["jsonrpc", "result", "id"],
        "last": ["result", "id", "jsonrpc"],
    }[spelling]
    line = json.dumps({key: parts[key] for key in order}).encode()
    (oversized,) = LineCutter(100).feed(line + b"\n")
    assert isinstance(oversized, Oversized)
    assert oversized.request_id() == request_id


def test_an_id_inside_is_nobody_s() -> None:
    line = b'{"result":{"a":"' + b"x" * 9_000 + b'","id":5},"jsonrpc":"2.0","more":1,"id":6,"z":0}'
    (oversized,) = LineCutter(100).feed(line + b"\n")
    assert isinstance(oversized, Oversized)
    assert oversized.request_id() is None
