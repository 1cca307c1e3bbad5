"""What a result holds, each thing once."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mcp_offload.wrap.names import artifact_name
from mcp_offload.wrap.results import MOST_PIECES, Piece, read_result


def reading(content: Any, structured: Any = None) -> Any:
    result = {"content": content}
    if structured is not None:
        result["structuredContent"] = structured
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    return read_result(line, json.loads(line)["result"])


def texts(content: Any, structured: Any = None) -> list[str | None]:
    return [piece.text for piece in reading(content, structured).pieces]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_a_text_is_its_bytes() -> None:
    (piece,) = reading([text("caf\u00e9\r\n\x00")]).pieces
    assert piece.data == b"caf\xc3\xa9\r\n\x00"


@pytest.mark.parametrize(
    ("words", "structured"),
    [
        ("long text", {"content": "long text"}),
        ("long text", "long text"),
        ('[\n  {"a": 1}\n]', {"result": [{"a": 1}]}),
        ('{"rows": [1, 2]}', {"rows": [1, 2]}),
    ],
)
def test_structured_content_that_repeats_the_text_is_not_kept_twice(words: str, structured: Any) -> None:
    assert texts([text(words)], structured) == [words]


def test_structured_content_that_lists_the_texts_is_not_kept_twice() -> None:
    assert texts([text("a"), text("b")], {"result": ["a", "b"]}) == ["a", "b"]


@pytest.mark.parametrize("structured", [{"a": 1}, {"content": "long text", "more": 1}, [1], 0, False])
def test_structured_content_that_says_something_else_is_kept(structured: Any) -> None:
    assert texts([text("long text")], structured) == ["long text", json.dumps(structured)]


def test_structured_content_without_a_text_is_kept() -> None:
    assert texts([], {"a": [1, 2]}) == ['{"a": [1, 2]}']


def test_embedded_resources_are_kept_by_their_names() -> None:
    blob = base64.b64encode(b"\x00\x01").decode()
    pieces = reading(
        [
            {"type": "resource", "resource": {"uri": "file:///a/b.py?x#y", "text": "def f(): pass\n"}},
            {"type": "resource", "resource": {"uri": "x://", "blob": blob}},
        ]
    ).pieces
    assert [(piece.data, piece.name) for piece in pieces] == [
        (b"def f(): pass\n", "b.py"),
        (b"\x00\x01", "x:"),
    ]


def test_a_blob_that_is_none_is_kept_as_it_is() -> None:
    block = {"type": "resource", "resource": {"uri": "x://y", "blob": "not base64!"}}
    (piece,) = reading([block]).pieces
    assert json.loads(piece.data) == block


def test_pictures_and_sounds_are_shown_and_links_and_unknown_blocks_kept() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    link = {"type": "resource_link", "uri": "x://y", "name": "y"}
    found = reading([text("a"), image, link, {"type": "hologram", "z": 1}])
    assert found.shown == (image,)
    assert [json.loads(piece.data) for piece in found.pieces[1:]] == [link, {"type": "hologram", "z": 1}]


def test_many_blocks_are_one_list_in_their_own_spelling() -> None:
    blocks = [text(f"block {n}") for n in range(MOST_PIECES + 1)]
    (piece,) = reading(blocks).pieces
    assert piece.name == "content.json"
    assert piece.text == json.dumps(blocks)


@pytest.mark.parametrize("content", [None, "text", [1, None, "x"], {"type": "text"}])
def test_what_is_no_list_of_blocks_holds_nothing(content: Any) -> None:
    assert reading(content).pieces == ()


@pytest.mark.parametrize(
    ("tool", "arguments", "name"),
    [
        ("read_text_file", {"path": "/a/b/app.py"}, "read_text_file/app.py"),
        ("readFile", {"file_path": "C:\\x\\main.c"}, "readFile/main.c"),
        ("fetch", {"url": "https://x.example/a/page.html?q=1"}, "fetch/page.html"),
        ("search_files", {"path": "/a/b.py"}, "search_files.log"),
        ("read_dir", {"path": "/a/b"}, "read_dir.log"),
        ("thread", {"path": "/a/b.py"}, "thread.log"),
        ("read_file", {"path": "**/*.py"}, "read_file.log"),
        ("a tool/with: signs", {}, "a-tool-with-signs.log"),
        ("", {}, "result.log"),
    ],
)
def test_names_tell_what_was_read(tool: str, arguments: dict[str, object], name: str) -> None:
    assert artifact_name(tool, arguments, Piece(b"x", None, "x")) == name


def test_json_is_called_json() -> None:
    assert artifact_name("list", {}, Piece(b"", None, ' [{"a": 1}]\n')) == "list.json"
