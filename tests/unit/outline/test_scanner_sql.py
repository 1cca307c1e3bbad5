"""Plain SQL: created objects with columns, routines of several dialects, labelled statements."""

from __future__ import annotations

import pytest

from mcp_offload.outline.scanners.sql import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned, text_of

EXPECTED = {
    "sql/schema.sql": [
        "<begin> statement 3-3",
        "<set> statement 4-4",
        "customers table 6-13",
        "customers.id column 8-8",
        "customers.full name column 9-9",
        "customers.balance column 10-10",
        "copied table 15-15",
        "customers_name index 16-16",
        "rich view 17-18",
        "add_up function 20-26",
        "<insert:customers> statement 28-29",
        "<update:customers> statement 30-30",
        "<alter:customers> statement 31-31",
        "<copy:customers> statement 32-35",
        "totals view 37-37",
        "<commit> statement 38-38",
    ],
    "sql/mysql_routines.sql": [
        "orders table 1-6",
        "orders.id column 2-2",
        "orders.state column 3-3",
        "pay procedure 9-15",
        "orders_bi trigger 16-16",
        "<drop:old_orders> statement 18-18",
    ],
    "sql/tsql_batches.sql": [
        "Users table 1-4",
        "Users.Id column 2-2",
        "Users.Name column 3-3",
        "Get User procedure 6-15",
        "V view 17-17",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_a_function_has_its_parameters() -> None:
    assert named(scanned("sql/schema.sql").symbols, "add_up").params == "ainteger,binteger"


def test_a_column_is_its_definition_without_the_comma() -> None:
    view = sample("sql/schema.sql")
    column = named(scanned("sql/schema.sql").symbols, "customers", "full name")
    assert text_of(view, column.span) == b"    \"full name\" text NOT NULL DEFAULT 'a, b; c'"


def test_a_run_of_equal_statements_is_one_symbol() -> None:
    symbols = scan(b"INSERT INTO t VALUES (1);\n" * 1000 + b"INSERT INTO u VALUES (1);\n")
    assert [(s.path, s.start_line, s.end_line) for s in symbols] == [
        (("<insert:t>",), 1, 1000),
        (("<insert:u>",), 1001, 1001),
    ]


def test_a_transaction_is_no_block() -> None:
    assert [s.path for s in scan(b"BEGIN TRANSACTION;\nCREATE TABLE a (b int);\nEND;\n")] == [
        ("<begin>",),
        ("a",),
        ("a", "b"),
        ("<end>",),
    ]


def test_a_trigger_of_sqlite_holds_its_statements() -> None:
    view = (
        b"CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE a SET b = 1; DELETE FROM c; END;\nDROP TABLE d;\n"
    )
    assert [(s.path, s.start_line) for s in scan(view)] == [(("t",), 1), (("<drop:d>",), 2)]


def test_an_index_without_a_name_is_a_statement() -> None:
    assert [s.path for s in scan(b"CREATE INDEX ON t (a);")] == [("<create:t>",)]
