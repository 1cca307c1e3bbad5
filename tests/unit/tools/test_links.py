"""Links name what was stored, with type and size, and are few."""

from __future__ import annotations

from mcp_offload.models import ExportResult, StoreManyResult, StoreResult
from mcp_offload.tools.links import MOST_LINKS, links_of


def _stored(number: int) -> StoreResult:
    return StoreResult(
        handle=f"f{number}@2",
        name=f"m{number}.py",
        kind="f",
        version=2,
        bytes=70,
        lines=3,
        tokens=20,
        blake3="",
        language="python",
        path=None,
        new=True,
    )


def test_a_link_has_name_type_and_size() -> None:
    (link,) = links_of(_stored(7), "w-1")
    assert (link.name, link.uri, link.mime_type, link.size) == (
        "m7.py",
        "offload://w-1/f7?v=2",
        "text/x-python",
        70,
    )


def test_many_have_eight_links_and_other_results_none() -> None:
    many = StoreManyResult(tuple(map(_stored, range(1, 20))), ())
    assert len(links_of(many, "w-1")) == MOST_LINKS
    assert links_of(ExportResult("f1", "/x", 1, ""), "w-1") == []
