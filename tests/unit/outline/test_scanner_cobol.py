"""COBOL: fixed and free format, copybooks, EXEC blocks, nested programs and data items."""

from __future__ import annotations

import pytest

from mcp_offload.outline.scanners.cobol import scan
from tests.unit.outline.samples import listing, sample
from tests.unit.outline.scanned import named, scanned, text_of

EXPECTED = {
    "cobol/payroll.cbl": [
        "PAYROLL program 2-66",
        "PAYROLL.ENVIRONMENT-DIVISION division 5-8",
        "PAYROLL.INPUT-OUTPUT section 6-8",
        "PAYROLL.DATA-DIVISION division 9-31",
        "PAYROLL.FILE section 10-14",
        "PAYROLL.STAFF-FILE file 11-14",
        "PAYROLL.STAFF-FILE.STAFF-REC group item 12-14",
        "PAYROLL.STAFF-FILE.STAFF-REC.STAFF-NAME data item 13-13",
        "PAYROLL.WORKING-STORAGE section 15-29",
        "PAYROLL.RUN-TOTALS group item 16-25",
        "PAYROLL.RUN-TOTALS.TOTAL-PAID data item 19-20",
        "PAYROLL.RUN-TOTALS.STATE-CODE data item 21-23",
        "PAYROLL.RUN-TOTALS.STATE-CODE.STATE-OPEN condition 22-22",
        "PAYROLL.RUN-TOTALS.STATE-CODE.STATE-DONE condition 23-23",
        "PAYROLL.RUN-TOTALS.PART-A data item 25-25",
        "PAYROLL.LINE-COUNT data item 27-27",
        "PAYROLL.<copy:CUSTOMER> copy 28-28",
        "PAYROLL.LINKAGE section 30-31",
        "PAYROLL.PARM-AREA data item 31-31",
        "PAYROLL.PROCEDURE-DIVISION division 33-58",
        "PAYROLL.MAIN-LOGIC section 34-53",
        "PAYROLL.MAIN-LOGIC.START-UP paragraph 35-44",
        "PAYROLL.MAIN-LOGIC.CALC-PAY paragraph 46-53",
        "PAYROLL.WRAP-UP section 55-58",
        "PAYROLL.WRAP-UP.CALC-PAY paragraph 56-58",
        "PAYROLL.WRAP-UP.CALC-PAY.<copy:WRAPUP> copy 58-58",
        "PAYROLL.TAX-TABLE program 60-65",
        "PAYROLL.TAX-TABLE.PROCEDURE-DIVISION division 62-64",
        "PAYROLL.TAX-TABLE.LOOK-UP paragraph 63-64",
    ],
    "cobol/report.cob": [
        "monthly-report program 2-27",
        "monthly-report.DATA-DIVISION division 4-9",
        "monthly-report.WORKING-STORAGE section 5-9",
        "monthly-report.report-line group item 6-9",
        "monthly-report.report-line.customer-name data item 7-7",
        "monthly-report.report-line.amounts group item 8-9",
        "monthly-report.report-line.amounts.amount data item 9-9",
        "monthly-report.PROCEDURE-DIVISION division 10-27",
        "monthly-report.main-paragraph paragraph 11-22",
        "monthly-report.print-line paragraph 24-25",
        "monthly-report.last-one paragraph 26-27",
    ],
    "cobol/customer.cpy": [
        "CUSTOMER group item 2-14",
        "CUSTOMER.CUST-ID data item 3-3",
        "CUSTOMER.CUST-ADDRESS group item 4-9",
        "CUSTOMER.CUST-ADDRESS.CUST-STREET data item 5-5",
        "CUSTOMER.CUST-ADDRESS.CUST-CITY data item 6-6",
        "CUSTOMER.CUST-ADDRESS.CUST-ZIP data item 7-9",
        "CUSTOMER.CUST-ORDERS group item 10-11",
        "CUSTOMER.CUST-ORDERS.CUST-ORDER-NO data item 11-11",
        "CUSTOMER.CUST-KIND data item 12-13",
        "CUSTOMER.CUST-KIND.CUST-PRIVATE condition 13-13",
        "CUSTOMER.CUST-PLACE renames 14-14",
    ],
}


@pytest.mark.parametrize("path", EXPECTED)
def test_a_sample_is_listed_line_by_line(path: str) -> None:
    assert listing(scanned(path)) == EXPECTED[path]


def test_a_paragraph_has_its_comment_its_header_and_its_body() -> None:
    view = sample("cobol/payroll.cbl")
    paragraph = named(scanned("cobol/payroll.cbl").symbols, "PAYROLL", "MAIN-LOGIC", "CALC-PAY")
    assert text_of(view, paragraph.doc).count(b"\n") == 2
    assert text_of(view, paragraph.sig).strip() == b"004900 CALC-PAY."
    assert text_of(view, paragraph.body).endswith(b"EXIT.")


def test_what_looks_like_a_paragraph_is_none() -> None:
    view = b"""       PROCEDURE DIVISION.
       MAIN-PART.
           EVALUATE TRUE
       END-EVALUATE.
       END-PERFORM.
       EXIT.
       GOBACK.
       DECLARATIVES.
"""
    assert [symbol.path for symbol in scan(view)] == [("MAIN-PART",), ("PROCEDURE-DIVISION",)]


def test_programs_without_an_end_stand_side_by_side() -> None:
    header = b"       ID DIVISION.\n       PROGRAM-ID. %b.\n       PROCEDURE DIVISION.\n"
    program = header + b"       GO-ON.\n           STOP RUN.\n"
    symbols = scan(program % b"ONE" + program % b"TWO")
    assert named(symbols, "ONE").end_line == 5
    assert named(symbols, "TWO", "GO-ON").start_line == 9


def test_a_tab_counts_as_the_margin() -> None:
    symbols = scan(b"\tPROCEDURE DIVISION.\n\tFIRST-PART.\n\t    STOP RUN.\n")
    assert named(symbols, "FIRST-PART").end_line == 3


def test_text_right_of_column_72_is_no_code() -> None:
    view = b"       01  AREA-ONE." + b" " * 52 + b"05  CHANGED.\n           05  PART-ONE PIC X.\n"
    assert [symbol.path for symbol in scan(view)] == [("AREA-ONE", "PART-ONE"), ("AREA-ONE",)]


def test_the_source_directive_decides_the_format() -> None:
    view = b"      >>SOURCE FORMAT IS FREE\nprocedure division.\nfirst-part.\n  stop run.\n"
    assert named(scan(view), "first-part").start_line == 3
