"""Queries by handle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.models import OutlineResult
from mcp_offload.parsing.queries import QueryLimits, run_query
from mcp_offload.service import OffloadService

ROWS: list[dict[str, Any]] = [{"id": n, "city": f"city {n % 3}", "size": (n * 37) % 101} for n in range(300)]
PARQUET = Path(__file__).parents[1] / "cards" / "data" / "people.parquet"


def ask(service: OffloadService, handle: str, query: str) -> list[object]:
    (result,) = service.read([f"{handle}#?{query}"], max_tokens=0)
    return [json.loads(line) for line in result.text.split("\n") if line]


@pytest.fixture
def document(service: OffloadService) -> str:
    stored = service.store(content=json.dumps({"total": 300, "rows": ROWS}), name="answer.json")
    return stored.handle  # type: ignore[union-attr]


def test_a_path_and_steps(service: OffloadService, document: str) -> None:
    assert ask(service, document, "$.total") == [300]
    assert ask(service, document, "$.rows[?@.id > 297].city") == ["city 1", "city 2"]
    largest = min(ROWS, key=lambda row: (-row["size"], row["id"]))
    assert ask(service, document, "$.rows[*] | sort -size id | limit 1") == [largest]
    assert ask(service, document, "$.rows[*] | group city | sort city") == [
        {"city": f"city {n}", "count": 100} for n in range(3)
    ]


def test_the_rows_are_an_artifact_that_can_be_read_on_searched_and_asked_again(
    service: OffloadService, document: str
) -> None:
    (first,) = service.read([f"{document}#?$.rows[*]"], max_tokens=400)
    assert first.rest is not None
    (second,) = service.read([first.rest.handle], max_tokens=400)
    assert second.start_line == first.end_line + 1
    rows = first.handle.partition("#")[0]
    assert len(service.search('"id":299,', [rows]).hits) == 1
    assert ask(service, rows, "$[*] | count") == [300]


def test_sql_over_json_json_lines_csv_and_parquet(service: OffloadService, document: str) -> None:
    query = "select city, count(*) as n, max(size) as m from t group by city order by city"
    expected = [{"city": f"city {n}", "n": 100, "m": max(r["size"] for r in ROWS[n::3])} for n in range(3)]
    assert ask(service, document, query) == expected
    for name, text in (
        ("rows.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS)),
        ("rows.csv", "id,city,size\n" + "".join(f"{r['id']},{r['city']},{r['size']}\n" for r in ROWS)),
    ):
        stored = service.store(content=text, name=name)
        assert ask(service, stored.handle, query) == expected  # type: ignore[union-attr]
    people = service.store(content=PARQUET.read_bytes(), name="people.parquet")
    (count,) = ask(service, people.handle, "select count(*) as n from t")  # type: ignore[union-attr]
    assert count["n"] > 0  # type: ignore[index]


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv_auto('/etc/passwd')",
        "select * from read_text('/etc/hostname')",
        "select * from glob('/*')",
        "select * from 'https://example.com/x.parquet'",
        "select 1; select 2",
        "with x as (select 1) insert into t select * from x",
        "from t select nothing_like_that",
    ],
)
def test_sql_sees_nothing_but_the_table(service: OffloadService, document: str, query: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"The database says|Only one SELECT"):
        ask(service, document, query)


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("rows", "A query is a JSONPath or SQL: f1#?"),
        ("drop table t", "A query is a JSONPath or SQL"),
        ("$.rows[", "The path cannot be read"),
        ("$ | frob", "Unknown step 'frob'"),
    ],
)
def test_what_is_no_query_is_told(service: OffloadService, document: str, query: str, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint.replace("?", r"\?")):
        ask(service, document, query)


def test_what_holds_no_rows_is_not_asked(service: OffloadService) -> None:
    stored = service.store(content="def f(): pass\n", name="a.py")
    with pytest.raises(InvalidArgumentError, match=r"A JSONPath asks JSON and JSON lines; f1 a\.py is none"):
        service.read([f"{stored.handle}#?$.a"])  # type: ignore[union-attr]
    table = service.store(content="a,b\n1,2\n", name="a.csv")
    with pytest.raises(InvalidArgumentError, match="A JSONPath asks"):
        service.read([f"{table.handle}#?$.a"])  # type: ignore[union-attr]


def test_broken_and_deep_documents_are_told_of(service: OffloadService) -> None:
    for text, complaint in (('{"a": [1, 2', "It is not JSON"), ("[" * 100_000, "It is not JSON|too deeply")):
        stored = service.store(content=text, name="x.json", language="json")
        with pytest.raises(InvalidArgumentError, match=complaint):
            service.read([f"{stored.handle}#?$.a"])  # type: ignore[union-attr]


def test_a_query_that_takes_too_long_or_too_much_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n' * 1_000, encoding="utf-8")
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i) from n"
    huge = "select string_agg(repeat('x', 1000000), '') from range(2000)"
    for query, complaint in ((endless, "longer than 0.5 s"), (huge, "database says|memory|longer")):
        with path.open("rb") as file:
            limits = QueryLimits(seconds=0.5 if query is endless else 20.0)
            outcome = run_query(query, file.fileno(), path.stat().st_size, "jsonl", sql=True, limits=limits)
        assert outcome.wrong is not None
        assert any(word in outcome.wrong for word in complaint.split("|"))


def test_an_outline_of_rows_is_their_shape(service: OffloadService, document: str) -> None:
    outline = service.outline(document, max_tokens=500)
    assert isinstance(outline, OutlineResult)
    assert outline.card is not None
    assert outline.card.facts == {"rows": 300}
    told = outline.card.text.split("\n")
    assert told[0] == "$.rows[*] 300 objects: id int, city str, size int"
    assert told[-1].startswith(f"query: read {document}#?$.rows[*] | limit 5")
    assert [symbol.name for symbol in outline.symbols] == ["total", "rows"]


def test_what_is_configuration_keeps_its_outline(service: OffloadService) -> None:
    stored = service.store(content=json.dumps({"name": "x", "scripts": {"a": "b"}}), name="package.json")
    outline = service.outline(stored.handle)  # type: ignore[union-attr]
    assert isinstance(outline, OutlineResult)
    assert outline.card is None
    assert "scripts.a" in [symbol.name for symbol in outline.symbols]
