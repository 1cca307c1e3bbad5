"""Queries by handle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.errors import InvalidArgumentError, OperationCancelledError
from mcp_offload.models import OutlineResult, StoreResult
from mcp_offload.parsing.queries import QueryLimits, run_query
from mcp_offload.service import OffloadService

ROWS: list[dict[str, Any]] = [{"id": n, "city": f"city {n % 3}", "size": (n * 37) % 101} for n in range(300)]
PARQUET = Path(__file__).parents[1] / "cards" / "data" / "people.parquet"


def ask(service: OffloadService, handle: str, query: str) -> list[object]:
    (result,) = service.read([f"{handle}#?{query}"], max_tokens=0)
    return [json.loads(line) for line in result.text.split("\n") if line]


def stored(service: OffloadService, content: str | bytes, name: str) -> str:
    result = service.store(content=content, name=name)
    assert isinstance(result, StoreResult)
    return result.handle


@pytest.fixture
def document(service: OffloadService) -> str:
    return stored(service, json.dumps({"total": 300, "rows": ROWS}), "answer.json")


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
        found = stored(service, text, name)
        assert ask(service, found, query) == expected
    people = stored(service, PARQUET.read_bytes(), "people.parquet")
    (count,) = ask(service, people, "select count(*) as n from t")
    assert isinstance(count, dict)
    assert count["n"] > 0


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
        ("$.rows[", "cannot be read: unexpected end"),
        ("$ | frob", "Unknown step 'frob'"),
    ],
)
def test_what_is_no_query_is_told(service: OffloadService, document: str, query: str, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint.replace("?", r"\?")):
        ask(service, document, query)


def test_what_does_not_fit_is_told(service: OffloadService) -> None:
    people = stored(service, PARQUET.read_bytes(), "people.parquet")
    with pytest.raises(InvalidArgumentError, match=r"Parquet only SQL; b1 people\.parquet"):
        service.read([f"{people}#?$.a"])
    source = stored(service, "def f(): pass\n", "a.py")
    with pytest.raises(InvalidArgumentError, match=r"SQL asks JSON, .*; f2 a\.py does not fit"):
        service.read([f"{source}#?select 1"])
    with pytest.raises(InvalidArgumentError, match="holds no JSON that begins a line"):
        service.read([f"{source}#?$.a"])
    packed = stored(service, bytes(range(256)), "x.bin")
    with pytest.raises(InvalidArgumentError, match="does not fit"):
        service.read([f"{packed}#?$.a"])


def test_paths_over_csv_and_json_lines(service: OffloadService) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    table = "id,city,size\n" + "".join(f"{r['id']},{r['city']},{r['size']}\n" for r in ROWS)
    for name, text in (("rows.jsonl", lines), ("rows.csv", table), ("rows.tsv", table.replace(",", "\t"))):
        handle = stored(service, text, name)
        large = [row["id"] for row in ROWS if row["size"] > 90]
        assert ask(service, handle, "$[?@.size > 90].id") == large
        assert ask(service, handle, "where @.size > 90 | count") == [len(large)]
        assert ask(service, handle, "$[-1].city") == [ROWS[-1]["city"]]
        assert ask(service, handle, "$[?@.size == $[7].size].id")[0] == 7
        assert ask(service, handle, "sort -size id | limit 1 | fields size") == [{"size": 100}]


def test_json_within_text_and_within_json(service: OffloadService) -> None:
    rows = json.dumps(ROWS, indent=1)
    log = stored(service, f"Found {len(ROWS)} rows:\n{rows}\nDone.\n", "tool.log")
    (result,) = service.read([f"{log}#?$[*]|count"])
    assert result.text == "300\n"
    assert result.note == "the JSON begins in line 2"
    block = {"content": [{"type": "text", "text": json.dumps({"items": ROWS})}], "isError": False}
    handle = stored(service, json.dumps(block), "result.json")
    outline = service.outline(handle, max_tokens=600)
    assert isinstance(outline, OutlineResult)
    assert outline.card is not None
    path = outline.card.text.split(" ")[0]
    assert path == "$.content[0].text|json|$.items[*]"
    assert ask(service, handle, f"{path}|count") == [300]
    assert ask(service, handle, "group city|count") == [3]


def test_where_nothing_is_found_it_is_told_what_there_is(service: OffloadService, document: str) -> None:
    (result,) = service.read([f"{document}#?$.row[*].id"])
    assert result.text == ""
    assert result.note == "no rows; there is $.rows[*] 300 rows with id, city, size"
    broken = 'no json\n{"a": 1}\n{"b"\n{"a": 2}\n'
    lines = stored(service, broken, "a.jsonl")
    (result,) = service.read([f"{lines}#?$[?@.b]"])
    assert result.note == "2 lines that are not JSON were passed over; no rows; the rows have a"
    plain = stored(service, '{"name": "x", "tags": {}}', "b.json")
    (result,) = service.read([f"{plain}#?$.nam"])
    assert result.note == "no rows; $ has name, tags"


def test_a_wrong_name_is_told_with_the_right_ones(service: OffloadService, document: str) -> None:
    with pytest.raises(InvalidArgumentError, match="No row has the field 'siz'; there are id, city, size"):
        ask(service, document, "sort siz|limit 3")
    with pytest.raises(InvalidArgumentError, match=r'column "siz" not found.*Candidate bindings: "size"'):
        ask(service, document, "select siz from t")


def test_every_column_and_number_of_sql_arrives(service: OffloadService, document: str) -> None:
    query = (
        "select id, id, 1.50 as price, 12345678901234567.25::decimal(30,2) as exact, 1e400::double as far, "
    )
    query += "'a'::blob as bytes, date '2026-01-31' as day, [id, 2] as list from t order by id limit 1"
    assert ask(service, document, query) == [
        {
            "id": 0,
            "id:2": 0,
            "price": 1.5,
            "exact": "12345678901234567.25",
            "far": "inf",
            "bytes": "61",
            "day": "2026-01-31",
            "list": [0, 2],
        }
    ]


def test_large_json_lines_are_asked_row_by_row_and_no_other_way(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    line = json.dumps({"n": 1, "text": "x" * 2_000}) + "\n"
    path.write_text(line * 35_000, encoding="utf-8")
    size = path.stat().st_size
    assert size > 64 << 20
    limits = QueryLimits(seconds=60.0, memory_bytes=192 << 20, memory_per_byte=0)
    with path.open("rb") as file:
        outcome = run_query("$[?@.n == 1]|count", file.fileno(), size, "jsonl", sql=False, limits=limits)
    assert outcome.rows == b"35000\n"
    with path.open("rb") as file:
        outcome = run_query("$[7]", file.fileno(), size, "jsonl", sql=False, limits=limits)
    assert outcome.wrong is not None
    assert "begins with $[*] or $[?...] is" in outcome.wrong


def test_a_query_is_stopped_by_who_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n', encoding="utf-8")
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i) from n"

    class Stopping:
        told = 0

        def advance(self, done: int, total: int | None, message: str = "") -> None:
            self.told += 1
            if self.told > 2:
                raise OperationCancelledError("stopped")

    with path.open("rb") as file, pytest.raises(OperationCancelledError):
        run_query(endless, file.fileno(), 9, "jsonl", sql=True, monitor=Stopping())


def test_broken_and_deep_documents_are_told_of(service: OffloadService) -> None:
    for text, complaint in (('{"a": [1, 2', "It is not JSON"), ("[" * 100_000, "It is not JSON|too deeply")):
        found = stored(service, text, "x.json")
        with pytest.raises(InvalidArgumentError, match=complaint):
            service.read([f"{found}#?$.a"])


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
    assert told[-1].startswith(f"query: read {document}#?$.rows[*]|limit 5")
    assert [symbol.name for symbol in outline.symbols] == ["total", "rows"]


def test_what_is_left_out_of_a_shape_is_counted(service: OffloadService, document: str) -> None:
    outline = service.outline(document, max_tokens=150)
    assert isinstance(outline, OutlineResult)
    assert outline.card is not None
    whole = service.outline(document, max_tokens=0)
    assert isinstance(whole, OutlineResult)
    assert whole.card is not None
    told, everything = outline.card.text.split("\n"), whole.card.text.split("\n")
    assert told[0] == everything[0]
    left = len(everything) - len(told) + 1
    assert left > 0
    assert told[-2] == f"... {left} lines left out; outline {document} with more max_tokens"


def test_rows_of_a_query_are_not_counted_as_kept_out(service: OffloadService, document: str) -> None:
    (result,) = service.read([f"{document}#?$.rows[*]"], max_tokens=300)
    assert service.entered(result.handle.partition("#")[0], "read_handle") is None
    assert service.entered(document, "read_handle") is not None


def test_what_is_configuration_keeps_its_outline(service: OffloadService) -> None:
    found = stored(service, json.dumps({"name": "x", "scripts": {"a": "b"}}), "package.json")
    outline = service.outline(found)
    assert isinstance(outline, OutlineResult)
    assert outline.card is None
    assert "scripts.a" in [symbol.name for symbol in outline.symbols]
