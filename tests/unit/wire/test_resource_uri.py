"""URIs and handles are two spellings of one thing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.errors import InvalidHandleError
from mcp_offload.handle import ArtifactRef, Handle, SearchSelector, SymbolSelector, format_handle
from mcp_offload.models import Kind
from mcp_offload.wire.resource_uri import format_uri, parse_uri, workspace_slug

PAIRS = [
    ("f12", "offload://w-0/f12"),
    ("f12@3", "offload://w-0/f12?v=3"),
    ("f12#Invoice.total", "offload://w-0/f12?sel=Invoice.total"),
    ("f12@3#Invoice.total:sig", "offload://w-0/f12?v=3&sel=Invoice.total&part=sig"),
    ("t7#!3:tb", "offload://w-0/t7?sel=%213&part=tb"),
    ("l2#L-20", "offload://w-0/l2?sel=L-20"),
    ("f1#~a+b & c#d", "offload://w-0/f1?sel=~a%2Bb%20%26%20c%23d"),
    ("f1#`größe.x`", "offload://w-0/f1?sel=%60gr%C3%B6%C3%9Fe.x%60"),
]


@pytest.mark.parametrize(("handle", "uri"), PAIRS)
def test_a_handle_and_its_uri(handle: str, uri: str) -> None:
    assert format_uri("w-0", handle) == uri
    ref = parse_uri(uri)
    assert (ref.workspace, ref.handle, ref.page, ref.fixed) == ("w-0", handle, None, "@" in handle)


@given(
    st.builds(ArtifactRef, st.sampled_from(Kind), st.integers(1, 9999), st.none() | st.integers(1, 99)),
    st.none()
    | st.builds(SearchSelector, st.text(min_size=1).filter(lambda text: text == text.strip()))
    | st.builds(SymbolSelector, st.tuples(st.from_regex(r"[A-Za-z_]\w*", fullmatch=True))),
)
def test_every_handle_comes_back(
    artifact: ArtifactRef, selector: SearchSelector | SymbolSelector | None
) -> None:
    handle = format_handle(Handle(artifact, selector))
    uri = format_uri("w-0", handle)
    assert re.fullmatch(r"[!-~]+", uri)
    assert parse_uri(uri).handle == handle


def test_the_query_may_stand_in_any_order_and_be_empty() -> None:
    assert parse_uri("offload://here/f12?part=sig&sel=a&v=2").handle == "f12@2#a:sig"
    assert parse_uri("offload://here/f12?v=&sel=&part=").handle == "f12"


def test_a_page_is_told_from_a_handle() -> None:
    assert parse_uri("offload://here/index").page == "index"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "offload:",
        "offload://here",
        "offload:///f12",
        "file://here/f12",
        "offload://here/f12#sym",
        "offload://here/f12@3",
        "offload://here/src/app.py",
        "offload://here/..%2Fetc",
        "offload://here/f0",
        "offload://here/f12?v=0",
        "offload://here/f12?v=x",
        "offload://here/f12?part=sig",
        "offload://here/f12?sel=a&sel=b",
        "offload://here/f12?other=1",
        "offload://here/f12?sel=L9-2",
        "offload://here/index?v=1",
        "offload://[here/f12",
    ],
)
def test_anything_else_is_refused(uri: str) -> None:
    with pytest.raises(InvalidHandleError):
        parse_uri(uri)


def test_a_path_has_no_uri() -> None:
    with pytest.raises(InvalidHandleError):
        format_uri("w-0", "src/app.py#main")


def test_a_slug_is_short_and_stable_and_tells_workspaces_apart() -> None:
    assert workspace_slug("/home/ann/My Project") == "my-project-9bebf3"
    slugs = {workspace_slug(key) for key in ("/a/app", "/b/app", "app", "/", "", "\udcff", "x" * 99)}
    assert len(slugs) == 7
    assert all(re.fullmatch(r"[a-z0-9-]{8,27}", slug) for slug in slugs)
    assert "here" not in slugs
