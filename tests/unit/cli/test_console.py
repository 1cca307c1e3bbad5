from __future__ import annotations

import io
import json
import os

from mcp_offload.cli.console import Console
from mcp_offload.cli.main import error_code
from mcp_offload.errors import HandleNotFoundError, NotTextError, OffloadError


def _console(*, as_json: bool = False) -> tuple[Console, io.BytesIO, io.BytesIO]:
    stdout, stderr = io.BytesIO(), io.BytesIO()
    return Console(as_json=as_json, stdin=io.BytesIO(), stdout=stdout, stderr=stderr), stdout, stderr


def test_text_ends_with_exactly_one_line_break_of_its_own() -> None:
    console, stdout, _ = _console()
    console.text("a")
    console.text("b\n")
    assert stdout.getvalue() == b"a\nb\n"


def test_text_that_is_no_unicode_is_printed_visibly() -> None:
    console, stdout, _ = _console()
    console.text("a\udc80")
    assert stdout.getvalue() == b"a\\udc80\n"


def test_json_is_one_line_whatever_it_holds() -> None:
    console, stdout, _ = _console()
    console.json({"text": "one\ntwo é"})
    assert stdout.getvalue().count(b"\n") == 1
    assert json.loads(stdout.getvalue()) == {"text": "one\ntwo é"}


def test_a_failure_is_a_line_for_people_and_an_object_for_programs() -> None:
    error = HandleNotFoundError("f9 was never issued here.")
    console, stdout, stderr = _console()
    console.fail(error, error_code(HandleNotFoundError))
    assert (stdout.getvalue(), stderr.getvalue()) == (b"", b"mcp-offload: f9 was never issued here.\n")
    console, stdout, stderr = _console(as_json=True)
    console.fail(error, error_code(HandleNotFoundError))
    expected = {"error": {"type": "handle_not_found", "message": "f9 was never issued here."}}
    assert (json.loads(stdout.getvalue()), stderr.getvalue()) == (expected, b"")


def test_error_codes_are_the_class_names_in_snake_case() -> None:
    assert error_code(NotTextError) == "not_text"
    assert error_code(OffloadError) == "offload"


def test_input_arrives_as_it_is_written() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as stdin, open(writing, "wb", buffering=0) as peer:
        console = Console(stdin=stdin, stdout=io.BytesIO(), stderr=io.BytesIO())  # type: ignore[arg-type]
        chunks = console.chunks()
        peer.write(b"first")
        assert next(chunks) == b"first"
        peer.write(b"second\n")
        peer.close()
        assert list(chunks) == [b"second\n"]
