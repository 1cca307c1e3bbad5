"""What is told about the symbols of two versions."""

from __future__ import annotations

from mcp_offload.models import Outline
from mcp_offload.outline import outline
from mcp_offload.service.symbol_changes import Side, symbol_changes

SOURCE = '''\
"""Invoices."""


class Invoice:
    """An invoice."""

    rate = 2

    def total(self, items):
        return sum(items) * self.rate

    def tax(self):
        return self.rate / 10


def parse(text):
    return [int(part) for part in text.split()]


def show(value):
    print(value)
'''


def changes(
    before: str, after: str, name: str = "invoice.py", language: str = "python"
) -> list[tuple[str, str, str]]:
    sides = [Side(outline(text.encode(), language, name), text.encode()) for text in (before, after)]
    return [
        (
            delta.change,
            ".".join(delta.before.path) if delta.before else "",
            ".".join(delta.after.path) if delta.after else "",
        )
        for delta in symbol_changes(*sides)
    ]


def test_equal_outlines_have_no_changes() -> None:
    assert changes(SOURCE, SOURCE) == []
    assert changes("", "") == []


def test_a_changed_method_does_not_make_its_class_changed() -> None:
    assert changes(SOURCE, SOURCE.replace("/ 10", "/ 100")) == [("changed", "Invoice.tax", "Invoice.tax")]


def test_a_class_that_changed_itself_is_told_beside_its_members() -> None:
    after = SOURCE.replace("class Invoice:", "class Invoice(Base):").replace("/ 10", "/ 100")
    assert changes(SOURCE, after) == [
        ("changed", "Invoice", "Invoice"),
        ("changed", "Invoice.tax", "Invoice.tax"),
    ]


def test_a_member_added_or_removed_is_told_alone() -> None:
    after = SOURCE.replace("    def tax", "    def net(self):\n        return 1\n\n    def tax")
    assert changes(SOURCE, after) == [("added", "", "Invoice.net")]
    assert changes(after, SOURCE) == [("removed", "Invoice.net", "")]


def test_members_of_a_class_that_comes_or_goes_are_not_told() -> None:
    tail = SOURCE[SOURCE.index("def parse") :]
    assert changes(tail, SOURCE) == [("added", "", "Invoice")]
    assert changes(SOURCE, tail) == [("removed", "Invoice", "")]


def test_lines_added_above_move_nothing() -> None:
    assert changes(SOURCE, "import os\nimport sys\n\n" + SOURCE) == []


def test_what_changed_its_place_among_the_others_has_moved() -> None:
    start, end = SOURCE.index("def parse"), SOURCE.index("def show")
    after = SOURCE[:start] + SOURCE[end:] + "\n\n" + SOURCE[start:end].rstrip() + "\n"
    assert changes(SOURCE, after) in ([("moved", "parse", "parse")], [("moved", "show", "show")])


def test_a_moved_class_is_told_without_its_members() -> None:
    start, end = SOURCE.index("class Invoice"), SOURCE.index("def parse")
    functions = "".join(f"def other_{n}():\n    return {n}\n\n\n" for n in range(9))
    after = SOURCE[:start] + functions + SOURCE[end:] + "\n\n" + SOURCE[start:end].rstrip() + "\n"
    before = SOURCE[:end] + functions + SOURCE[end:]
    told = changes(before, after)
    assert ("moved", "Invoice", "Invoice") in told
    assert not any("." in name for _, name, _ in told)


def test_a_new_name_for_the_same_text_is_offered() -> None:
    assert changes(SOURCE, SOURCE.replace("parse", "read")) == [("renamed?", "parse", "read")]
    assert changes(SOURCE, SOURCE.replace("class Invoice", "class Bill")) == [("renamed?", "Invoice", "Bill")]


def test_text_that_fits_two_names_is_not_called_renamed() -> None:
    after = SOURCE.replace("def parse", "def one") + SOURCE[SOURCE.index("def parse") :].replace(
        "parse", "two"
    )
    told = changes(SOURCE, after)
    assert ("removed", "parse", "") in told
    assert ("added", "", "one") in told
    assert not any(change == "renamed?" for change, *_ in told)


def test_new_parameters_are_a_change() -> None:
    after = SOURCE.replace("def parse(text)", "def parse(text, base)")
    assert changes(SOURCE, after) == [("changed", "parse", "parse")]


def test_overloads_are_told_apart_by_their_parameters() -> None:
    before = "class A { void f(int a) { g(1); } void f(long a) { g(2); } void f(char a) { g(3); } }"
    after = before.replace("g(2)", "g(20)")
    assert changes(before, after, "A.java", "java") == [("changed", "A.f", "A.f")]
    less = before.replace("void f(long a) { g(2); } ", "")
    assert changes(before, less, "A.java", "java") == [("removed", "A.f", "")]


def test_outlines_without_symbols_are_fine() -> None:
    empty = Side(Outline(None, parsed=False), b"text")
    assert symbol_changes(empty, empty) == ()
