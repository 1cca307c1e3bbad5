"""What is listed: one template, and three pages that are always there.

The list is the same for every client at any time. Nothing stored is ever listed one by one: lists may
not change as a side effect of a call, and a link to a resource need not be listed.
"""

from __future__ import annotations

from typing import Final

from mcp_types import Annotations, Resource, ResourceTemplate

from mcp_offload.wire.media import TEXT
from mcp_offload.wire.resource_uri import HERE, SCHEME, URI_TEMPLATE

INDEX: Final = "index"
HANDLES: Final = "handles"
STATS: Final = "stats"
PAGES: Final = (INDEX, HANDLES, STATS)

HANDLES_TEXT: Final = """\
A handle names an artifact, and after # a part of it.
f12  l2  t7  b3          file, log, test run, build artifact; @3 adds a version: f12@3
src/app.py               a path is a handle too; ./f12 is the path
f12#Invoice.total        a symbol; :sig :doc :body :head a part of it
f12#Invoice.total(int)   one overload; f12#total'2 the second of the same name
f12#L10-44  l2#L9812-    lines; l2#L-20 the last 20
f12#B2000-4096           bytes of the UTF-8 text
t7#!3                    a failure of a run; :tb its traceback, :out its output
f12#~text                the first place where the text stands
As a resource: offload://here/f12?v=3&sel=Invoice.total&part=sig
"""


def listed_resources() -> list[Resource]:
    """The fixed pages, in the order in which they are listed."""
    return [
        Resource(
            name=INDEX,
            title="Stored artifacts",
            uri=f"{SCHEME}://{HERE}/{INDEX}",
            description="What is stored in this workspace, most recently used first, with handles.",
            mime_type=TEXT,
            annotations=Annotations(audience=["user", "assistant"], priority=0.5),
        ),
        Resource(
            name=HANDLES,
            title="How handles are written",
            uri=f"{SCHEME}://{HERE}/{HANDLES}",
            description="The forms of a handle, one a line.",
            mime_type=TEXT,
            size=len(HANDLES_TEXT.encode()),
            annotations=Annotations(audience=["assistant"], priority=0.3),
        ),
        Resource(
            name=STATS,
            title="What was delivered",
            uri=f"{SCHEME}://{HERE}/{STATS}",
            description="What is stored, and what was delivered and kept out, by session, tool and artifact.",
            mime_type=TEXT,
            annotations=Annotations(audience=["user"], priority=0.2),
        ),
    ]


def listed_templates() -> list[ResourceTemplate]:
    """The one template. It has no media type, since what it names has many."""
    return [
        ResourceTemplate(
            name="artifact",
            title="Stored artifact",
            uri_template=URI_TEMPLATE,
            description="An artifact by handle (f12), or a part: v a version, sel a symbol or lines, "
            "part sig, doc, body or head.",
        )
    ]
