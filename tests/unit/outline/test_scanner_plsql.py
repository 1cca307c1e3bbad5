"""PL/SQL: packages, bodies, types, triggers, nested and overloaded subprograms."""

from __future__ import annotations

import pytest

from mcp_offload.outline.scanners.plsql import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned, text_of

EXPECTED = {
    "plsql/payroll.pkb": [
        "payroll package 5-15",
        "payroll.t_row type 8-8",
        "payroll.c_open cursor 9-10",
        "payroll.raise_sal procedure declaration 11-12",
        "payroll.raise_sal procedure declaration 13-13",
        "payroll.total function declaration 14-14",
        "payroll package body 19-71",
        "payroll.audit procedure declaration 22-23",
        "payroll.total function 25-52",
        "payroll.total.add_up function 27-35",
        "payroll.audit procedure 54-60",
        "payroll.raise_sal procedure 62-65",
        "payroll.raise_sal procedure 67-67",
        "emp_bi trigger 74-83",
        "emp_compound trigger 85-97",
        "money_t type 99-104",
        "money_t.as_text function declaration 102-102",
        "money_t.register procedure declaration 103-103",
        "money_t type body 106-115",
        "money_t.as_text function 107-110",
        "money_t.register procedure 111-114",
        "number_list type 117-117",
        "Mixed Case procedure 119-129",
        "helper procedure 132-135",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_overloads_are_told_apart_by_their_types() -> None:
    symbols = scanned("plsql/payroll.pkb").symbols
    raises = [(s.kind, s.params) for s in symbols if s.path == ("payroll", "raise_sal")]
    assert raises == [
        ("procedure declaration", "NUMBER,NUMBER"),
        ("procedure declaration", "VARCHAR2"),
        ("procedure", "NUMBER,NUMBER"),
        ("procedure", "VARCHAR2"),
    ]
    assert named(symbols, "payroll", "c_open").params == "DATE"


def test_a_definition_ends_with_its_semicolon_and_has_its_comment() -> None:
    view = sample("plsql/payroll.pkb")
    inner = named(scanned("plsql/payroll.pkb").symbols, "payroll", "total", "add_up")
    assert text_of(view, inner.span).endswith(b"END add_up;")
    assert text_of(view, inner.doc) == b"-- Adds up, locally."
    assert text_of(view, inner.sig).endswith(b"IS")


@pytest.mark.parametrize(
    "quoted", ["q'[it's]'", "q'(a)b)'", "q'{'}'", "Q'<'>'", "nq'!'!'", "q'xPROCEDURE p IS'x'", "'a''b'"]
)
def test_a_literal_may_hold_anything(quoted: str) -> None:
    first = f"CREATE PROCEDURE a IS BEGIN x := {quoted}; END; /* ' */\n/\n"
    view = first.encode() + b"CREATE PROCEDURE b IS BEGIN NULL; END;"
    assert [(s.path, s.start_line) for s in scan(view)] == [(("a",), 1), (("b",), 3)]


def test_a_line_with_a_slash_ends_what_was_left_open() -> None:
    broken = b"CREATE PACKAGE BODY broken IS\nPROCEDURE p IS\nBEGIN\n  IF x THEN\n/\n"
    symbols = scan(broken + b"CREATE PROCEDURE whole IS\nBEGIN NULL; END;\n/\n")
    assert named(symbols, "broken").end_line == 4
    assert named(symbols, "whole").end_line == 7


def test_commands_that_only_name_a_unit_define_none() -> None:
    commands = [b"DROP PROCEDURE a;", b"ALTER PACKAGE b COMPILE;", b"GRANT EXECUTE ON PROCEDURE c TO d;"]
    assert scan(b"\n".join([*commands, b"COMMENT ON TYPE e IS 'x';"])) == []


def test_a_package_without_create_is_found() -> None:
    assert [
        s.path
        for s in scan(b"PACKAGE BODY p AS\n  FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END;\nEND p;\n")
    ] == [
        ("p", "f"),
        ("p",),
    ]


def test_the_comment_at_the_top_belongs_to_the_file() -> None:
    header = b"-- A script.\n"
    assert scan(header + b"CREATE PROCEDURE p IS BEGIN NULL; END;\n")[0].start_line == 2
