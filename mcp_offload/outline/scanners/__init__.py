"""Scanners of languages that have no grammar here: each turns a view into symbols in linear time.

A scanner never raises, whatever the bytes, and gives at most ``MAX_SYMBOLS`` symbols; where there are
more, the deepest levels are left out first. ``overloaded``, ``ordinal`` and ``text_key`` are left for
the outline to fill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mcp_offload.models import Symbol
from mcp_offload.outline.scanners import cobol, ini, json, markdown, notebook, plsql, sql, toml, xml, yaml

Scanner = Callable[[bytes], list[Symbol]]

SCANNERS: Final[Mapping[str, Scanner]] = {
    "cobol": cobol.scan,
    "html": xml.scan,
    "ini": ini.scan,
    "json": json.scan,
    "markdown": markdown.scan,
    "notebook": notebook.scan,
    "plsql": plsql.scan,
    "sql": sql.scan,
    "toml": toml.scan,
    "xml": xml.scan,
    "yaml": yaml.scan,
}
"""Languages read by scanners of our own."""
