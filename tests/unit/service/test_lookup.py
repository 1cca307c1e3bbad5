"""Finding symbols by name and again in later content: never silently another one."""

from __future__ import annotations

import pytest

from mcp_offload.handle import SymbolSelector
from mcp_offload.models import Outline, Status
from mcp_offload.outline import outline
from mcp_offload.service.lookup import Snapshot, find, near, relocate

BEFORE = b'''\
import os


class Invoice:
    """An invoice."""

    def total(self, rate):
        lines = [line.amount for line in self.lines]
        return sum(lines) * rate

    def tax(self):
        return 0


class Order:
    def total(self):
        return 1
'''


def snapshot(source: bytes, language: str = "python") -> Snapshot:
    return Snapshot(outline(source, language), source)


def names(table: Outline, *path: str) -> list[str]:
    return [".".join(s.path) for s in find(table, SymbolSelector(path))]


def test_a_qualified_name_finds_one_symbol() -> None:
    assert names(outline(BEFORE, "python"), "Invoice", "total") == ["Invoice.total"]


def test_a_last_segment_finds_every_symbol_that_ends_so() -> None:
    table = outline(BEFORE, "python")
    assert names(table, "tax") == ["Invoice.tax"]
    assert names(table, "total") == ["Invoice.total", "Order.total"]
    assert names(table, "nope") == []


def test_a_whole_name_wins_over_a_last_segment() -> None:
    table = outline(b"def run():\n    pass\n\nclass A:\n    def run(self):\n        pass\n", "python")
    assert names(table, "run") == ["run"]


def test_a_definition_wins_over_its_declarations() -> None:
    table = outline(b"int f(int);\nint g(void);\nint f(int a) { return a; }\n", "c")
    found = find(table, SymbolSelector(("f",)))
    assert [s.start_line for s in found] == [3]


def test_overloads_are_all_candidates_until_their_parameters_are_named() -> None:
    source = b"class A {\n  void f(int a) { }\n  void f(String s) { }\n}\n"
    table = outline(source, "java")
    both = find(table, SymbolSelector(("A", "f")))
    assert [s.start_line for s in both] == [2, 3]
    assert [s.start_line for s in find(table, SymbolSelector(("A", "f"), both[1].params))] == [3]


def test_cobol_names_ignore_case() -> None:
    lines = (
        "IDENTIFICATION DIVISION.",
        "PROGRAM-ID. PAY.",
        "PROCEDURE DIVISION.",
        "CALC-PAY.",
        "    STOP RUN.",
    )
    source = "".join(f"       {line}\n" for line in lines).encode()
    assert len(find(outline(source, "cobol"), SymbolSelector(("pay", "calc-pay")))) == 1


def test_near_names_help_after_a_typo() -> None:
    close = near(outline(BEFORE, "python"), SymbolSelector(("Invoice", "totl")))
    assert close[0].path[-1] == "total"


EDITS = {
    "same": (BEFORE, Status.SAME),
    "moved": (b"# a\n# b\n\n" + BEFORE, Status.MOVED),
    "changed": (BEFORE.replace(b"* rate", b"* rate + 1"), Status.CHANGED),
    "white space only": (BEFORE.replace(b"sum(lines) * rate", b"sum(lines)  *  rate"), Status.SAME),
    "parameters changed": (
        BEFORE.replace(b"total(self, rate)", b"total(self, rate, day=None)"),
        Status.CHANGED,
    ),
    "renamed": (BEFORE.replace(b"total(self, rate)", b"grand_total(self, rate)"), Status.RENAMED),
    "gone": (
        BEFORE[: BEFORE.index(b"    def total(self, rate)")] + BEFORE[BEFORE.index(b"    def tax") :],
        Status.GONE,
    ),
}


@pytest.mark.parametrize(("after", "status"), EDITS.values(), ids=EDITS.keys())
def test_a_symbol_is_found_again_or_its_fate_is_told(after: bytes, status: Status) -> None:
    before = snapshot(BEFORE)
    symbol = find(before.outline, SymbolSelector(("Invoice", "total")))[0]
    relocated = relocate(symbol, before, snapshot(after))
    assert relocated.status is status
    if status is Status.RENAMED:
        assert [s.path for s in relocated.symbols] == [("Invoice", "grand_total")]
    if status is Status.GONE:
        assert relocated.symbols == ()


def test_two_new_twins_are_no_rename() -> None:
    start = BEFORE.index(b"    def total(self, rate)")
    twin = BEFORE[start : BEFORE.index(b"    def tax")].replace(b"total", b"a_total")
    after = EDITS["gone"][0] + b"\n\nclass More:\n" + twin + twin.replace(b"a_total", b"b_total")
    before = snapshot(BEFORE)
    symbol = find(before.outline, SymbolSelector(("Invoice", "total")))[0]
    assert relocate(symbol, before, snapshot(after)).status is Status.GONE


def test_a_new_definition_of_the_same_name_makes_it_ambiguous() -> None:
    source = b"if x:\n    def f(a):\n        return one(a)\nelse:\n    def f(b):\n        return two(b)\n"
    after = source.replace(b"f(a)", b"f(c)").replace(b"f(b)", b"f(d)")
    before = snapshot(source)
    symbol = before.outline.symbols[0]
    assert relocate(symbol, before, snapshot(after)).status is Status.AMBIGUOUS
