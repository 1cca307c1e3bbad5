"""The shapes of answers as interfaces give them: connections, pages, texts, trees, many lists."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Any

from mcp_offload.distill import parse_pipeline, run_steps, shape_of, tables_in
from mcp_offload.parsing.query_path import Path


def lines(value: Any) -> list[str]:
    shape = shape_of(value)
    assert shape is not None
    return list(shape.lines)


def asked(value: object, query: str) -> list[Any]:
    pipeline = parse_pipeline(query)
    assert pipeline.path is not None
    return list(run_steps(Path(pipeline.path)(value), pipeline.steps, Path))


def issues(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "title": f"issue {n}", "author": {"login": f"user{n % 3}"}} for n in range(count)]


def test_a_graphql_connection_is_its_nodes() -> None:
    edges = [{"cursor": f"c{n}", "node": issue} for n, issue in enumerate(issues(20))]
    page = {"hasNextPage": True, "endCursor": "c19"}
    value = {"data": {"repository": {"issues": {"totalCount": 812, "pageInfo": page, "edges": edges}}}}
    told = lines(value)
    assert told[0] == ("$.data.repository.issues.edges[*].node 20 objects: id int, title str, author {login}")
    assert (
        told[1]
        == '$.data.repository.issues.edges[0].node {"id":0,"title":"issue 0","author":{"login":"user0"}}'
    )
    assert "$.data.repository.issues.totalCount 812" in told
    assert "$.data.repository.issues.pageInfo.hasNextPage true" in told


def test_nodes_and_edges_without_nodes_are_rows_as_they_are() -> None:
    assert lines({"data": {"issues": {"nodes": issues(5)}}})[0].startswith("$.data.issues.nodes[*] 5 objects")
    graph = {"edges": [{"from": n, "to": n + 1} for n in range(9)]}
    assert lines(graph)[0] == "$.edges[*] 9 objects: from int, to int"


def test_json_in_a_text_is_told_with_the_query_that_reaches_it() -> None:
    value = {"content": [{"type": "text", "text": json.dumps({"items": issues(30), "next": "n2"})}]}
    shape = shape_of(value)
    assert shape is not None
    assert shape.path == "$.content[0].text|json|$.items[*]"
    assert asked(value, shape.path) == issues(30)


def test_each_path_told_gives_the_row_beside_it() -> None:
    value = {
        "a": {"b c": issues(12)},
        "edges": [{"node": row} for row in issues(4)],
        "more": [{"x": issues(3)}],
    }
    for line in lines(value):
        path, _, rest = line.partition("] " if "] {" in line else "\n")
        if rest.startswith("{"):
            (row,) = asked(value, f"{path}]")
            assert json.dumps(row, separators=(",", ":")) == rest


def test_what_is_not_told_is_counted() -> None:
    value = {f"list{n}": issues(10 - n) for n in range(7)} | {f"member{n}": n for n in range(12)}
    told = lines(value)
    assert told[-1] == "4 more lists: $.list3[*] 7, $.list4[*] 6, $.list5[*] 5, $.list6[*] 4"
    assert told[-2] == "4 more plain members"


def test_the_same_value_has_the_same_shape() -> None:
    value = {"rows": issues(50), "total": 50}
    assert shape_of(value) == shape_of(json.loads(json.dumps(value)))


def test_a_tree_that_a_server_returned(corpus: FilePath) -> None:
    answer = json.loads((corpus / "mcp" / "fs_directory_tree.json").read_text("utf-8"))
    tree: Any = json.loads(answer["response"]["content"][0]["text"])

    def count(nodes: list[Any], kind: str) -> int:
        return sum((node["type"] == kind) + count(node.get("children", []), kind) for node in nodes)

    files, directories = count(tree, "file"), count(tree, "directory")
    told = lines(tree)
    assert told[0].startswith(f"$[*] {len(tree)} objects: name str, type str, children ")
    assert told[1].startswith(f"tree by children: {files + directories:,} nodes")
    assert f"in all nodes type: file {files:,}, directory {directories:,}" in told
    assert len("\n".join(told)) < 2_000
    assert asked(tree, "$..[?@.type == 'file'] | count") == [files]
    assert tables_in(answer)[0].path == "$.response.content[0].text|json|$"
