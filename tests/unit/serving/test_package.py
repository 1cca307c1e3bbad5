"""The public API of the package and its command line's frame."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import mcp_offload
import serving
from serving import errors
from serving.cli.console import Console
from serving.cli.main import error_code, report
from serving.cli.parser import COMMANDS, build_parser


def test_every_public_name_is_there_and_is_what_it_says() -> None:
    for name in serving.__all__:
        value = getattr(serving, name)
        assert name == "__version__" or value.__name__ == name
        assert name in dir(serving)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = serving.nothing  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_one_distribution() -> None:
    assert serving.__version__ == mcp_offload.__version__
    assert Path(serving.__file__).with_name("py.typed").exists()


def test_every_error_is_public() -> None:
    declared = {name for name in vars(errors) if name.endswith("Error")}
    assert len(declared) > 5
    assert declared - set(serving.__all__) == set()


def test_every_command_tells_what_it_does_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            build_parser().parse_args([command.name, "--help"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert command.description.splitlines()[0] in shown
        assert command.examples and all(line in shown for line in command.examples)
        assert all(line.startswith("mcp-offload-serving ") for line in command.examples)


def test_a_refusal_says_what_would_fit() -> None:
    error = errors.DoesNotFitError("Too large.", alternatives=["two GPUs"])
    out, err = io.BytesIO(), io.BytesIO()
    report(error, Console(stdout=out, stderr=err))
    assert out.getvalue() == b""
    assert err.getvalue() == b"mcp-offload-serving: Too large.\nmcp-offload-serving: would fit: two GPUs\n"
    report(error, Console(as_json=True, stdout=out, stderr=err))
    assert json.loads(out.getvalue()) == {
        "error": {"type": "does_not_fit", "message": "Too large.", "alternatives": ["two GPUs"]}
    }
    assert error_code(errors.MissingExtraError) == "missing_extra"
