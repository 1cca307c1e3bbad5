"""What a query cannot reach: files, the network, extensions, settings, other statements."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_offload.parsing.queries import Form, Outcome, QueryLimits, run_query

pytestmark = pytest.mark.process


def ask(path: Path, query: str, form: Form, *, sql: bool = True, seconds: float = 20.0) -> Outcome:
    with path.open("rb") as file:
        size = path.stat().st_size
        limits = QueryLimits(seconds=seconds)
        return run_query(query, file.fileno(), size, form, sql=sql, limits=limits)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("id,city\n1,Rome\n2,Oslo\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('{secret}')",
        "select * from '{secret}'",
        "from read_text('{secret}')",
        "from read_blob('{secret}')",
        "from sniff_csv('{secret}')",
        "from read_json('{secret}')",
        "from parquet_metadata('{secret}')",
        "from glob('{folder}/*')",
        "from read_csv('/dev/fd/0')",
        "from read_text('/proc/self/environ')",
        "from query('attach ''{folder}/new.db''')",
        "select getenv('PATH')",
    ],
)
def test_no_file_is_read(table: Path, tmp_path: Path, query: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nxyzzy\n", encoding="utf-8")
    outcome = ask(table, query.format(secret=secret, folder=tmp_path), "csv")
    assert outcome.rows == b""
    assert outcome.wrong is not None
    assert "xyzzy" not in outcome.wrong


@pytest.mark.parametrize(
    "query",
    [
        "with a as (copy t to '{folder}/new.csv') select 1",
        "with a as (select 1) insert into t select 1, 'x'",
        "with a as (select 1) delete from t",
        "select 1; copy t to '{folder}/new.csv'",
        "select 1; attach '{folder}/new.db'",
        "select 1; install httpfs; load httpfs",
        "select 1; set lock_configuration = false",
        "from t; export database '{folder}/new'",
        "select 1; pragma database_list",
    ],
)
def test_nothing_is_written_and_no_other_statement_is_run(table: Path, tmp_path: Path, query: str) -> None:
    before = sorted(os.listdir(tmp_path))
    outcome = ask(table, query.format(folder=tmp_path), "csv")
    assert outcome.rows == b""
    assert outcome.wrong is not None
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "statement",
    [
        "copy t to '/dev/null'",
        "attach ':memory:' as other",
        "install httpfs",
        "load httpfs",
        "pragma version",
        "set memory_limit = '10GB'",
        "create table u as select 1",
        "call pragma_version()",
        "explain select 1",
        "",
        ";",
    ],
)
def test_only_a_select_is_run(table: Path, statement: str) -> None:
    outcome = ask(table, statement, "csv")
    assert outcome.wrong is not None
    assert "Only one SELECT" in outcome.wrong


@pytest.mark.parametrize("query", ["from 'https://127.0.0.1:9/x.csv'", "from read_parquet('s3://b/x')"])
def test_nothing_is_fetched(table: Path, query: str) -> None:
    outcome = ask(table, query, "csv")
    assert outcome.wrong is not None
    assert "disabled" in outcome.wrong


def test_the_database_keeps_to_its_settings(table: Path) -> None:
    names = "'enable_external_access', 'lock_configuration', 'autoload_known_extensions'"
    outcome = ask(table, f"select name, value from duckdb_settings() where name in ({names})", "csv")
    settings = {row["name"]: row["value"] for row in map(json.loads, outcome.rows.splitlines())}
    assert settings["enable_external_access"] == "false"
    assert settings["lock_configuration"] == "true"
    assert settings["autoload_known_extensions"] == "false"


def test_the_environment_is_not_seen(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERY_TEST_SECRET", "xyzzy")
    outcome = ask(table, "from read_blob('/proc/self/environ')", "csv")
    assert outcome.wrong is not None
    assert "xyzzy" not in outcome.wrong


def test_a_pattern_that_never_ends_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"s": "a" * 40 + "b"}]), encoding="utf-8")
    outcome = ask(path, "$[?match(@.s, '(a|aa)+$')]", "json", sql=False, seconds=1.0)
    assert outcome.wrong is not None
    assert "longer than 1 s" in outcome.wrong
