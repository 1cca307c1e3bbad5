"""What real servers answered, replayed through the relay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interaction.wrap.harness import Json, Server, relayed

NAMES = [
    "fs_directory_tree",
    "fs_list_node_modules",
    "fs_read_minified",
    "fs_read_utf16",
    "fs_search_files_dts",
    "git_log_60",
    "git_show_head",
]
#: Below the threshold, so they pass as they are.
SMALL = {"fs_read_utf16", "git_show_head"}


@pytest.mark.corpus
@pytest.mark.parametrize("name", NAMES)
def test_large_ones_become_a_few_lines_and_keep_every_byte(name: str, corpus: Path, tmp_path: Path) -> None:
    recorded = json.loads((corpus / "mcp" / f"{name}.json").read_text(encoding="utf-8"))
    response: Json = recorded["response"]

    def replay(server: Server, message: Json) -> None:
        server.say({"id": message["id"], "result": response})

    with relayed(tmp_path, replay) as client:
        request = recorded["request"]
        result = client.call(request["name"], **request["arguments"])
        if name in SMALL:
            assert result == response
            return
        assert "structuredContent" not in result
        assert len(json.dumps(result)) < 4_000
        handle = result["content"][0]["text"].split("\n")[1].split()[0]
        with client.service.content(handle) as content:
            assert content.read() == response["content"][0]["text"].encode()
        assert client.service.list_artifacts().total == 1
