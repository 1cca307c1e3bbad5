"""The options of wrap, as settings."""

from __future__ import annotations

from pathlib import Path

from mcp_offload.cli.parser import parse
from mcp_offload.cli.settings_from import build_settings
from mcp_offload.cli.wrap_options import with_wrap_options
from mcp_offload.settings import WrapSettings


def _wrap(line: list[str], cwd: Path, environ: dict[str, str] | None = None) -> WrapSettings:
    args = parse(["wrap", *line])
    settings = with_wrap_options(build_settings(args, {}, str(cwd)), args, environ or {})
    assert settings.wrap is not None
    return settings.wrap


def test_a_command_line_and_what_is_not_told(tmp_path: Path) -> None:
    wrap = _wrap(["--", "npx", "-y", "--tool", "x"], tmp_path, {"A": "b"})
    assert wrap == WrapSettings(command=("npx", "-y", "--tool", "x"), environment={"A": "b"})
    assert wrap.threshold("any") == 2_000


def test_rules_of_tools(tmp_path: Path) -> None:
    line = ["--threshold-tokens", "900", "--tool", "a=never", "--tool", "b=always", "--tool", "c=d=70"]
    wrap = _wrap([*line, "--resolve", "e", "--resolve", "f", "--", "x"], tmp_path)
    assert [wrap.threshold(name) for name in ("a", "b", "c=d", "e")] == [None, 0, 70, 900]
    assert wrap.resolve == {"e", "f"}


def test_the_rest(tmp_path: Path) -> None:
    wrap = _wrap(["--no-tools", "--keep-all", "--silence", "2.5", "--", "x"], tmp_path)
    assert (wrap.with_tools, wrap.keep_all, wrap.silence_seconds) == (False, True, 2.5)


def test_a_url_and_its_headers_whose_secrets_stand_in_variables(tmp_path: Path) -> None:
    environ = {"T": "s3cret", "MCP_OFFLOAD_WRAP_HEADERS": "X-One: 1\nX-Two: ${T}"}
    wrap = _wrap(["--url", "https://x/mcp", "--header", "Authorization: Bearer ${T}"], tmp_path, environ)
    assert wrap.url == "https://x/mcp"
    assert wrap.headers == {"X-One": "1", "X-Two": "s3cret", "Authorization": "Bearer s3cret"}
    assert "s3cret" not in repr(wrap)


def test_what_a_model_is_answered_is_bounded_as_by_the_server(tmp_path: Path) -> None:
    settings = build_settings(parse(["wrap", "--", "x"]), {}, str(tmp_path))
    assert settings.max_tokens == build_settings(parse(["serve"]), {}, str(tmp_path)).max_tokens
