"""A half-typed handle is completed from what is stored, recent things first."""

from __future__ import annotations

from pathlib import Path

from mcp_offload.models import Kind
from mcp_offload.service import OffloadService

SOURCE = "class Invoice:\n    def total(self):\n        return 1\n\n\ndef report():\n    return 2\n"
LOG = "".join(f"src/m{n}.c:{n + 1}:5: error: use of undeclared identifier 'x{n}'\n" for n in range(3))


def _stored(service: OffloadService, project: Path) -> None:
    (project / "billing.py").write_text(SOURCE)
    service.store("billing.py")
    service.store(content=LOG, name="build.log", kind="log")
    service.store(content="a note\n", name="billing notes.txt")


def test_artifacts_by_handle_then_by_name(service: OffloadService, project: Path) -> None:
    _stored(service, project)
    assert service.complete_handle("").values == ("f3", "l2", "f1")
    assert service.complete_handle("f").values == ("f3", "f1")
    assert service.complete_handle("bill").values == ("f3", "f1")
    assert service.complete_handle("", [Kind.LOG]).values == ("l2",)
    assert service.complete_handle("nothing like it").total == 0


def test_symbols_and_failures_after_the_mark(service: OffloadService, project: Path) -> None:
    _stored(service, project)
    assert service.complete_handle("f1#").values == ("f1#Invoice", "f1#Invoice.total", "f1#report")
    assert service.complete_handle("f1#tot").values == ("f1#Invoice.total",)
    assert service.complete_handle("billing.py#rep").values == ("billing.py#report",)
    assert service.complete_handle("l2#").values == ("l2#!1", "l2#!2", "l2#!3")
    assert service.complete_selector("f1", "Inv").values == ("Invoice", "Invoice.total")


def test_versions_newest_first(service: OffloadService, project: Path) -> None:
    _stored(service, project)
    (project / "billing.py").write_text(SOURCE + "\n\nX = 1\n")
    service.store("billing.py")
    assert service.complete_version("f1", "").values == ("2", "1")
    assert service.complete_version("f1", "1").values == ("1",)


def test_what_is_not_there_completes_to_nothing_and_stores_nothing(
    service: OffloadService, project: Path
) -> None:
    (project / "billing.py").write_text(SOURCE)
    for typed in ("billing.py#", "f9#", "../../etc/passwd#", "#", "f1@7#x"):
        assert service.complete_handle(typed).values == ()
    assert service.complete_version("f9", "").values == ()
    assert service.list_artifacts().total == 0


def test_no_more_than_a_hundred_are_given(service: OffloadService) -> None:
    for number in range(103):
        service.store(content=f"{number}\n", name=f"n{number}")
    found = service.complete_handle("f")
    assert (len(found.values), found.total) == (100, 103)
