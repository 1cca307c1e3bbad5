"""Languages told from names, shebangs, modelines and content."""

from __future__ import annotations

import pytest

from mcp_offload.outline.languages import detect, extension_of


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("dir.d/b.PYI", "python"),
        ("C:\\src\\main.RS", "rust"),
        ("x.test.ts", "typescript"),
        ("x.d.ts", "typescript"),
        ("App.tsx", "tsx"),
        ("a.jsx", "javascript"),
        ("a.mjs", "javascript"),
        ("A.java", "java"),
        ("a.cc", "cpp"),
        ("a.hpp", "cpp"),
        ("a.c", "c"),
        ("a.go", "go"),
        ("run.sh", "bash"),
        (".bashrc", "bash"),
        ("PAYROLL.CBL", "cobol"),
        ("cust.cpy", "cobol"),
        ("pkg.pkb", "plsql"),
        ("pkg.pks", "plsql"),
        ("package-lock.json", "json"),
        ("composer.lock", "json"),
        ("app.js.map", "json"),
        ("Cargo.lock", "toml"),
        ("pyproject.toml", "toml"),
        ("ci.yml", "yaml"),
        (".clang-format", "yaml"),
        ("setup.cfg", "ini"),
        (".env.local", "ini"),
        ("a.properties", "ini"),
        ("pom.xml", "xml"),
        ("icon.svg", "xml"),
        ("index.html", "html"),
        ("README.md", "markdown"),
        ("a.ipynb", "notebook"),
        ("setup.py.in", "python"),
        ("values.yaml.example", "yaml"),
        ("Dockerfile.dev", "dockerfile"),
        ("Makefile", "make"),
        ("CMakeLists.txt", "cmake"),
        ("main.zig", "zig"),
        ("a.kt", "kotlin"),
        ("a.rb", "ruby"),
        ("Gemfile", "ruby"),
        ("a.jl", "julia"),
        ("notes.txt", None),
        ("build.log", None),
        ("build.log.1", None),
        ("README", None),
        ("", None),
        (".hidden", None),
    ],
)
def test_a_name_tells_the_language(name: str, language: str | None) -> None:
    assert detect(name, b"") == language


@pytest.mark.parametrize(
    ("name", "head", "language"),
    [
        ("a.h", b'#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n', "c"),
        ("a.h", b"// the class of all\nstruct point { int x; };\n", "c"),
        ("a.h", b"namespace a {\nclass B;\n}\n", "cpp"),
        ("a.h", b"template <typename T> T max(T a, T b);\n", "cpp"),
        ("a.h", b"#include <vector>\n", "cpp"),
        ("a.h", b"// -*- C++ -*-\nint f();\n", "cpp"),
        ("a.h", b"@interface A : NSObject\n@end\n", "objective-c"),
        ("a.m", b"% adds\nfunction y = add(a, b)\ny = a + b;\n", "matlab"),
        ("a.m", b"#import <Foundation/Foundation.h>\n", "objective-c"),
        ("a.ts", b"const x = 1;\n", "typescript"),
        ("a.ts", b"\x47" + b"\x00" * 187 + b"\x47" + b"\x00" * 187, None),
        ("de.ts", b'<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS/>', "xml"),
        ("a.sql", b"CREATE TABLE a (b int);\n", "sql"),
        ("a.sql", b"create or replace package body p as\nend;\n/\n", "plsql"),
        (
            "a.sql",
            b"CREATE OR REPLACE FUNCTION f() RETURNS int AS $$ BEGIN RETURN 1; END $$ LANGUAGE plpgsql;",
            "sql",
        ),
        ("a.sql", b"CREATE OR REPLACE PROCEDURE p IS\nBEGIN\n  NULL;\nEND p;\n/\n", "plsql"),
        ("a.sql", b"BEGIN;\nUPDATE a SET b = 1;\nCOMMIT;\n", "sql"),
        ("a.conf", b"[main]\nkey = value\n", "ini"),
        ("a.conf", b"server {\n  listen 80;\n}\n", "nginx"),
        ("a.conf", b"just words\n", None),
        ("tool", b"#!/usr/bin/env python3\n", "python"),
        ("tool", b"#!/usr/bin/env -S uv run --script\n", "python"),
        ("tool", b"#! /bin/sh -e\n", "bash"),
        ("tool", b"#!/usr/local/bin/python3.12\n", "python"),
        ("tool", b"#!/usr/bin/env FOO=1 node\n", "javascript"),
        ("tool", b"#!/opt/unheard-of\n", None),
        ("tool", b"\xef\xbb\xbf#!/bin/bash\n", "bash"),
        ("tool", b"text\n# vim: set ft=ruby sw=2:\n", "ruby"),
        ("tool", b"# -*- mode: python; coding: utf-8 -*-\n", "python"),
        ("tool", b"# -*- coding: utf-8 -*-\n", None),
        ("vector", b"// -*- C++ -*-\n", "cpp"),
        ("notes.txt", b"#!/bin/sh\necho\n", "bash"),
        ("notes.txt", b'{"a": 1}\n', None),
    ],
)
def test_content_tells_what_the_name_leaves_open(name: str, head: bytes, language: str | None) -> None:
    assert detect(name, head) == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b' {"a": [1]}', "json"),
        (b"[1, 2]", "json"),
        (b'[{"a": 1}]', "json"),
        (b'{"cells": [{"cell_type": "code"}], "nbformat": 4}', "notebook"),
        (b"<?xml version='1.0'?><a/>", "xml"),
        (b"<project><a>1</a></project>", "xml"),
        (b"<!doctype html><html>", "html"),
        (b"import os\n\n\ndef main():\n    pass\n", "python"),
        (b"package main\n\nfunc main() {}\n", "go"),
        (b"package a.b;\n\npublic class C {}\n", "java"),
        (b"#include <stdio.h>\nint main(void) {\n}\n", "c"),
        (b"use std::io;\n\nfn main() {}\n", "rust"),
        (b"import x from 'y';\nx();\n", "javascript"),
        (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "diff"),
        (b"       IDENTIFICATION DIVISION.\n       PROGRAM-ID. A.\n", "cobol"),
        (b"-- a\nCREATE TABLE x (y int);\n", "sql"),
        (b"create or replace package p as end;\n", "plsql"),
        # Prose, logs and what only begins like something else.
        (b"[2024-01-01 10:00:00] INFO started\n", None),
        (b"[INFO] building\n", None),
        (b"[1/3] Compiling\n", None),
        (b"{placeholder} text\n", None),
        (b"<unknown>: error\n", None),
        (b"import the goods, then class them:\nas usual\n", None),
        (b"select the right one\n", None),
        (b"package mailed\n", None),
        (b"", None),
        (b"\x00\x01import os\ndef f():\n", None),
    ],
)
def test_content_alone_tells_it_only_where_it_is_sure(head: bytes, language: str | None) -> None:
    assert detect("", head) == language


def test_utf_16_is_read_through() -> None:
    assert detect("tool", "#!/bin/sh\n".encode("utf-16")) == "bash"


@pytest.mark.parametrize(
    ("name", "extension"),
    [("a.zig", ".zig"), ("A.TAR.GZ", ".gz"), (".bashrc", ""), ("noext", ""), ("d.ir/x", ""), ("a.", "")],
)
def test_the_extension_is_the_last_one(name: str, extension: str) -> None:
    assert extension_of(name) == extension
