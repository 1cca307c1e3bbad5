"""JSON reports of linters, type checkers and package managers, and SARIF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .jsonscan import Item
from .report import Tally, dict_of, first_line, int_of, list_of, text_of

Take = Callable[[Item, Tally], bool]


def _at(item: Item, message: str) -> int:
    """Return the log line of a message inside an item that holds several."""
    needle = message.split("\n")[0].split('"')[0].split("\\")[0].encode("utf-8", "replace")[:200]
    at = item.raw.find(needle) if needle else -1
    return item.line + item.raw.count(b"\n", 0, max(at, 0))


def _add(  # one diagnostic of any linter
    tally: Tally,
    item: Item,
    severity: str,
    name: str,
    where: tuple[str | None, int | None, int | None],
    message: str,
) -> None:
    """Count one diagnostic; it is a failure when its severity is an error."""
    tally.lint = True
    if severity not in ("error", "fatal", "critical", "blocker", "major"):
        tally.count("warnings")
        return
    tally.count("errors")
    at = _at(item, message)
    kind = "compile" if tally.tools and tally.tools[0].startswith(("rustc", "tsc")) else "lint"
    tally.fail(
        name or first_line(message), kind, where[:2], first_line(message), (at, item.line, item.end), where[2]
    )


def _eslint(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "filePath" not in value or "messages" not in value:
        return False
    tally.tool("eslint json")
    tally.lint = True
    path = text_of(value, "filePath") or None
    for row in list_of(value, "messages"):
        severity = "error" if int_of(row, "severity") == 2 or dict_of(row).get("fatal") else "warning"
        name = text_of(row, "ruleId") or ("parse error" if dict_of(row).get("fatal") else "")
        _add(
            tally,
            item,
            severity,
            name,
            (path, int_of(row, "line"), int_of(row, "column")),
            text_of(row, "message"),
        )
    return True


def _stylelint(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "source" not in value or "warnings" not in value:
        return False
    tally.tool("stylelint json")
    tally.lint = True
    path = text_of(value, "source") or None
    for row in list_of(value, "warnings"):
        where = (path, int_of(row, "line"), int_of(row, "column"))
        _add(tally, item, text_of(row, "severity"), text_of(row, "rule"), where, text_of(row, "text"))
    return True


def _ruff(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "filename" not in value or not isinstance(value.get("location"), dict):
        return False
    tally.tool("ruff json")
    where = (
        text_of(value, "filename"),
        int_of(value, "location", "row"),
        int_of(value, "location", "column"),
    )
    name = text_of(value, "code") or "invalid-syntax"
    _add(tally, item, "error", name, where, text_of(value, "message"))
    return True


def _pylint(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "symbol" not in value or "path" not in value:
        return False
    tally.tool("pylint json")
    severity = text_of(value, "type")
    where = (text_of(value, "path"), int_of(value, "line"), int_of(value, "column"))
    name = text_of(value, "message-id") or text_of(value, "messageId") or text_of(value, "symbol")
    _add(
        tally, item, severity, f"{name} {text_of(value, 'symbol')}".strip(), where, text_of(value, "message")
    )
    return True


def _shellcheck(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "level" not in value or "code" not in value or "file" not in value:
        return False
    code = value["code"]
    tally.tool("shellcheck json" if isinstance(code, int) else "hadolint json")
    name = f"SC{code}" if isinstance(code, int) else str(code)
    where = (text_of(value, "file"), int_of(value, "line"), int_of(value, "column"))
    _add(tally, item, text_of(value, "level"), name, where, text_of(value, "message"))
    return True


def _codequality(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "fingerprint" not in value or "location" not in value:
        return False
    tally.tool("code quality json")
    line = int_of(value, "location", "lines", "begin") or int_of(
        value, "location", "positions", "begin", "line"
    )
    where = (text_of(value, "location", "path"), line, None)
    _add(
        tally,
        item,
        text_of(value, "severity"),
        text_of(value, "check_name"),
        where,
        text_of(value, "description"),
    )
    return True


def _pyright(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "severity" not in value or "range" not in value:
        return False
    tally.tool("pyright json")
    line, column = int_of(value, "range", "start", "line"), int_of(value, "range", "start", "character")
    where = (
        text_of(value, "file"),
        None if line is None else line + 1,  # the language server counts from 0
        None if column is None else column + 1,
    )
    _add(tally, item, text_of(value, "severity"), text_of(value, "rule"), where, text_of(value, "message"))
    return True


def _pyright_summary(item: Item, tally: Tally) -> bool:
    if int_of(item.value, "errorCount") is None:
        return False
    tally.tool("pyright json")
    tally.lint = True
    tally.stated["errors"] = int_of(item.value, "errorCount") or 0
    tally.stated["warnings"] = int_of(item.value, "warningCount") or 0
    return True


def _golangci(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if "FromLinter" not in value:
        return False
    tally.tool("golangci-lint json")
    where = (text_of(value, "Pos", "Filename"), int_of(value, "Pos", "Line"), int_of(value, "Pos", "Column"))
    severity = text_of(value, "Severity") or "error"
    _add(tally, item, severity, text_of(value, "FromLinter"), where, text_of(value, "Text"))
    return True


def _rubocop(item: Item, tally: Tally) -> bool:
    """RuboCop's files (a list) and PHPStan's files (an object keyed by path)."""
    value = dict_of(item.value)
    if "offenses" in value:
        tally.tool("rubocop json")
        tally.lint = True
        for row in list_of(value, "offenses"):
            where = (
                text_of(value, "path"),
                int_of(row, "location", "line"),
                int_of(row, "location", "column"),
            )
            _add(tally, item, "error", text_of(row, "cop_name"), where, text_of(row, "message"))
        return True
    if "messages" in value and "errors" in value:
        tally.tool("phpstan json")
        for row in list_of(value, "messages"):
            where = (item.path[-1], int_of(row, "line"), None)
            _add(tally, item, "error", text_of(row, "identifier"), where, text_of(row, "message"))
        return True
    return False


def _results(item: Item, tally: Tally) -> bool:
    """Bandit and Semgrep."""
    value = dict_of(item.value)
    if "issue_text" in value:
        tally.tool("bandit json")
        where = (text_of(value, "filename"), int_of(value, "line_number"), None)
        _add(tally, item, "error", text_of(value, "test_id"), where, text_of(value, "issue_text"))
        return True
    if "check_id" in value:
        tally.tool("semgrep json")
        where = (text_of(value, "path"), int_of(value, "start", "line"), int_of(value, "start", "col"))
        severity = text_of(value, "extra", "severity").lower()
        _add(tally, item, severity, text_of(value, "check_id"), where, text_of(value, "extra", "message"))
        return True
    return False


def _diagnostics(item: Item, tally: Tally) -> bool:
    """Deno, oxlint and others that write ``diagnostics`` with a message and a file name."""
    value = dict_of(item.value)
    if "message" not in value or "filename" not in value:
        return False
    tally.tool("lint json")
    line = int_of(value, "range", "start", "line")
    labels = list_of(value, "labels")
    if line is None and labels:
        line = int_of(labels[0], "span", "line")
    where = (text_of(value, "filename"), line, None)
    _add(
        tally,
        item,
        text_of(value, "severity") or "error",
        text_of(value, "code"),
        where,
        text_of(value, "message"),
    )
    return True


# --- SARIF 2.1.0 (source: OASIS SARIF 2.1.0, 3.27 result object; a result without level is a warning) ---


def _sarif_tool(item: Item, tally: Tally) -> bool:
    if not isinstance(item.value, str):
        return False
    tally.tool(f"{item.value} sarif")
    tally.lint = True
    return True


def _sarif(item: Item, tally: Tally) -> bool:
    value = dict_of(item.value)
    if not isinstance(value.get("message"), dict):
        return False
    tally.tool("sarif")
    if value.get("suppressions") or text_of(value, "kind") in ("pass", "notApplicable", "informational"):
        return True
    places = list_of(value, "locations")
    place = dict_of(places[0], "physicalLocation") if places else {}
    where = (
        text_of(place, "artifactLocation", "uri") or None,
        int_of(place, "region", "startLine"),
        int_of(place, "region", "startColumn"),
    )
    name = text_of(value, "ruleId") or text_of(value, "rule", "id")
    message = text_of(value, "message", "text") or text_of(value, "message", "id")
    _add(tally, item, text_of(value, "level") or "warning", name, where, message)
    return True


# --- package managers, and commands that were wrapped as an object ---


def _npm_error(item: Item, tally: Tally) -> bool:
    code = text_of(item.value, "code")
    if not code or "summary" not in dict_of(item.value):
        return False
    tally.tool("npm json")
    tally.lint = True
    tally.count("errors")
    message = first_line(text_of(item.value, "summary"))
    tally.fail(code, "dependency", (None, None), message, (_at(item, message), item.line, item.end))
    return True


def _command(item: Item, tally: Tally) -> bool:
    """Take one part of a command's result that was wrapped as an object."""
    key = item.path[0]
    if key == "stderr":
        if isinstance(item.value, str) and item.value.strip():
            tally.command["stderr"] = item.value
            tally.command["line"] = item.line
    elif isinstance(item.value, int) and not isinstance(item.value, bool):
        tally.command["status"] = item.value
    return True


def close_command(tally: Tally) -> None:
    """Turn a wrapped command into a finding; search tools say 1 for "nothing found"."""
    status = tally.command.get("status")
    if tally.tools or not isinstance(status, int) or ("line" not in tally.command and not status):
        return
    stderr, line = str(tally.command.get("stderr", "")), tally.command.get("line", 1)
    if status and stderr:
        tally.tool("command json")
        rows = [row.strip() for row in stderr.split("\n") if row.strip()]
        decisive = next((row for row in rows if row.lower().startswith(("error", "fatal"))), rows[0])
        at = line if isinstance(line, int) else 1
        tally.fail(f"exit {status}", "error", (None, None), decisive, (at, at, at))
    elif status:
        tally.tool("command json")
        tally.notes.append(f"the command ended with status {status}")
        tally.broken = status > 1


LINT: Final[dict[tuple[str, ...], tuple[Take, ...]]] = {
    ("#",): (_eslint, _stylelint, _ruff, _pylint, _shellcheck, _codequality),
    ("comments", "*"): (_shellcheck,),
    ("messages", "*"): (_pylint,),
    ("generalDiagnostics", "*"): (_pyright,),
    ("summary",): (_pyright_summary,),
    ("exit_code",): (_command,),
    ("exitCode",): (_command,),
    ("returncode",): (_command,),
    ("stderr",): (_command,),
    ("Issues", "*"): (_golangci,),
    ("files", "*"): (_rubocop,),
    ("results", "*"): (_results,),
    ("diagnostics", "*"): (_diagnostics,),
    ("runs", "*", "results", "*"): (_sarif,),
    ("runs", "*", "tool", "driver", "name"): (_sarif_tool,),
    ("error",): (_npm_error,),
}
