"""Telling a language by what the first bytes say, where the name does not.

Every rule is a set of patterns that must all be found; each is searched once, so the time is linear.
"""

from __future__ import annotations

import re
from typing import Final

_CPP_MARKS: Final = re.compile(
    rb"^[ \t]*(?:(?:class|struct)[ \t]+(?:\w+[ \t]+){0,3}\w+[ \t]*:[^:]|class[ \t]+\w+[ \t]*[;{]?[ \t]*\r?$"
    rb"|namespace\b|template[ \t]*<|using[ \t]+\w|(?:public|private|protected)[ \t]*:"
    rb"|(?:inline[ \t]+)?constexpr\b|#[ \t]*include[ \t]*<[a-z_/]+>[ \t]*\r?$)"
    rb"|\bstd::|\bvirtual[ \t]+[\w~]|\boperator[ \t]*[=+<>(\[]|\bstatic_cast<",
    re.M,
)
_OBJC_MARKS: Final = re.compile(
    rb"^[ \t]*(?:@(?:interface|protocol|implementation|class|import)\b|#[ \t]*import\b)", re.M
)
_MATLAB_MARKS: Final = re.compile(rb"^[ \t]*(?:%|function\b|classdef\b|end[ \t]*\r?$)", re.M)
_INI_MARKS: Final = re.compile(rb"^[ \t]*(?:\[[^\]\r\n]+\][ \t]*\r?$|[\w.-]+[ \t]*=)", re.M)
_NGINX_MARKS: Final = re.compile(rb"^[ \t]*(?:server|http|location[ \t][^{\r\n]*|events)[ \t]*\{", re.M)

_PLSQL_SURE: Final = re.compile(
    rb"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:NON)?EDITIONABLE\s+)?(?:PACKAGE\b|TYPE\s+BODY\b)"
    rb"|^[ \t]*PACKAGE\s+(?:BODY\s+)?[\w.]+\s+(?:AS|IS)\b|\bDBMS_\w+\.",
    re.I | re.M,
)
_PLSQL_UNIT: Final = re.compile(
    rb"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:NON)?EDITIONABLE\s+)?(?:PROCEDURE|FUNCTION|TRIGGER|TYPE)\b"
    rb"|^[ \t]*(?:DECLARE|BEGIN|PROCEDURE|FUNCTION)\b",
    re.I | re.M,
)
_PLSQL_HINT: Final = re.compile(
    rb"^/[ \t]*\r?$|%(?:ROWTYPE|TYPE)\b|\bVARCHAR2\b|\bEXCEPTION\s+WHEN\b|\bEND\s+\w+\s*;\s*(?:/\s*)?\Z",
    re.I | re.M,
)
_OTHER_SQL: Final = re.compile(
    rb"\$\w*\$|\bLANGUAGE\s+'?(?:plpgsql|sql|c|plpython3?u|plperlu?)\b|\bRETURNS\b|^[ \t]*DELIMITER\b"
    rb"|^[ \t]*GO[ \t]*\r?$",
    re.I | re.M,
)

_JSON_START: Final = re.compile(
    rb"\s*(?:\{\s*(?:\"(?:[^\"\\\r\n]|\\.)*\"\s*:|\}\s*\Z)"
    rb"|\[\s*(?:\{\s*[\"}]|\[\s*[\"{\[\]\d-]|\"(?:[^\"\\\r\n]|\\.)*\"\s*[,\]]"
    rb"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*[,\]]|(?:true|false|null)\s*[,\]]|\]\s*\Z))"
)
_NOTEBOOK_START: Final = re.compile(rb"\s*\{\s*\"(?:cells|metadata|nbformat|nbformat_minor|worksheets)\"\s*:")
_NOTEBOOK_MARK: Final = re.compile(rb"\"(?:nbformat|cell_type)\"\s*:")
_XML_START: Final = re.compile(
    rb"\s*(?:<\?xml\s|<!DOCTYPE\s"
    rb"|<[A-Za-z_][\w.:-]*(?:\s+[\w.:-]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))*\s*/?>\s*(?:<[\w/!]|[^<]*</))"
)
_HTML_START: Final = re.compile(rb"\s*(?:<!--[^>]*-->\s*)?<(?:!doctype\s+html|html)\b", re.I)

_SQL_START: Final = re.compile(
    rb"(?:\s++|--[^\n]*+\n|/\*(?:[^*]|\*(?!/))*+\*/|(?:rem|set|prompt)\b[^\n]*+\n)*+"
    rb"(?:CREATE\s+(?:OR\s+REPLACE\s+)?\w|ALTER\s+TABLE\b|INSERT\s+INTO\b|DROP\s+TABLE\b"
    rb"|(?:SELECT|WITH)\b[^;]{1,4000}\bFROM\b[^;]{1,4000};)",
    re.I,
)


def _rule(language: str, *patterns: bytes, flags: int = re.M) -> tuple[str, tuple[re.Pattern[bytes], ...]]:
    return language, tuple(re.compile(pattern, flags) for pattern in patterns)


_RULES: Final = (
    _rule("php", rb"\A\s*<\?php\b"),
    _rule(
        "cobol",
        rb"^(?:.{6})?[ \t]*(?:IDENTIFICATION|ID)\s+DIVISION\s*\.",
        rb"\bPROGRAM-ID\b",
        flags=re.M | re.I,
    ),
    _rule("diff", rb"\A(?:diff --git |Index: \S|--- \S)", rb"^\+\+\+ \S", rb"^@@ -\d"),
    _rule("go", rb"^package[ \t]+\w+[ \t]*\r?$", rb"^(?:func|type|var|const|import)\b"),
    _rule(
        "java",
        rb"^(?:package|import)[ \t]+[\w.*]+;",
        rb"^(?:[ \t]*@\w+|(?:\w+[ \t]+)*(?:class|interface|enum|record)[ \t]+\w)",
    ),
    _rule(
        "rust",
        rb"^(?:pub[ \t]+)?(?:use[ \t]+[\w:{}, *]+;|fn[ \t]+\w+[ \t]*[<(]|impl\b)",
        rb"\bfn[ \t]+\w+[ \t]*[<(]",
    ),
    _rule("cpp", rb"^[ \t]*#[ \t]*include[ \t]*[<\"]", rb"\bstd::|^[ \t]*namespace\b|^[ \t]*template[ \t]*<"),
    _rule("c", rb"^[ \t]*#[ \t]*include[ \t]*[<\"]", rb"[;{}][ \t]*\r?$"),
    _rule(
        "python",
        rb"^(?:from[ \t]+[\w.]+[ \t]+import[ \t]|import[ \t]+\w"
        rb"|(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w)",
        rb"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(.*|class[ \t]+\w+.*:[ \t]*(?:#.*)?\r?$)",
        rb":[ \t]*(?:#.*)?\r?$",
    ),
    _rule(
        "javascript",
        rb"^(?:import[ \t].*\bfrom[ \t]+['\"]|export[ \t]+(?:default|const|function|class|async)\b"
        rb"|(?:const|var|let)[ \t]+\w+[ \t]*=[ \t]*require\(|(?:async[ \t]+)?function[ \t]*\w*[ \t]*\()",
        rb"[;{}][ \t]*\r?$",
    ),
)


def by_content(head: bytes) -> str | None:
    """The language that ``head`` is surely written in, or None. Prose and logs give None."""
    structured = json_or_notebook(head)
    if structured is not None:
        return structured
    if _HTML_START.match(head):
        return "html"
    if _XML_START.match(head):
        return "xml"
    if _SQL_START.match(head):
        return sql_dialect(head)
    for language, patterns in _RULES:
        if all(pattern.search(head) for pattern in patterns):
            return language
    return None


def json_or_notebook(head: bytes) -> str | None:
    """``notebook``, ``json``, or None where ``head`` does not begin as a JSON document."""
    if not _JSON_START.match(head):
        return None
    if _NOTEBOOK_START.match(head) and _NOTEBOOK_MARK.search(head):
        return "notebook"
    return "json"


def c_header(head: bytes) -> str:
    """``c``, ``cpp`` or ``objective-c`` for a ``.h`` file."""
    if _OBJC_MARKS.search(head):
        return "objective-c"
    return "cpp" if _CPP_MARKS.search(head) else "c"


def sql_dialect(head: bytes) -> str:
    """``plsql`` where units of Oracle's PL/SQL are surely meant, else ``sql``."""
    if _PLSQL_SURE.search(head):
        return "plsql"
    if _OTHER_SQL.search(head):
        return "sql"
    return "plsql" if _PLSQL_UNIT.search(head) and _PLSQL_HINT.search(head) else "sql"


def dot_ts(head: bytes) -> str | None:
    """TypeScript, a Qt translation (``xml``), or None for an MPEG transport stream.

    Source: ISO/IEC 13818-1, packets of 188 bytes that begin with 0x47.
    """
    if head[:1] == b"\x47" and (head[188:189] == b"\x47" or b"\x00" in head[:188]):
        return None
    if _XML_START.match(head):
        return "xml"
    return "typescript"


def dot_m(head: bytes) -> str:
    """Objective-C or MATLAB."""
    if _OBJC_MARKS.search(head):
        return "objective-c"
    return "matlab" if _MATLAB_MARKS.search(head) else "objective-c"


def dot_conf(head: bytes) -> str | None:
    """``ini`` where sections or assignments stand, ``nginx`` where its blocks stand, else None."""
    if _NGINX_MARKS.search(head):
        return "nginx"
    return "ini" if _INI_MARKS.search(head) else None
