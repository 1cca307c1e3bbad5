"""Machine-readable reports and event streams."""

from __future__ import annotations

from typing import Final

from ..family import Document, Family
from . import dartjson, gojson, jsonreport, pythonjson, rustjson, tap, workflow, xmlreport

FAMILIES: Final[tuple[Family, ...]] = (
    xmlreport.FAMILY,
    gojson.FAMILY,
    dartjson.FAMILY,
    pythonjson.REPORTLOG,
    rustjson.LIBTEST,
    rustjson.CARGO,
    pythonjson.MYPY,
    tap.FAMILY,
    workflow.FAMILY,
)
DOCUMENTS: Final[tuple[Document, ...]] = (xmlreport.DOCUMENT, jsonreport.DOCUMENT)
