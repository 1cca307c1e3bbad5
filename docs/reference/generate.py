"""Writes docs/reference from the code: the parser, the settings, the errors, the results, the tools.

Run by ``make docs``; a test holds the pages equal to what this writes.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, cast

import mcp_offload.server
from mcp_offload import errors, models
from mcp_offload.cards.model import FACTS
from mcp_offload.cli.environment import VARIABLES
from mcp_offload.cli.examples import DESCRIPTIONS, EXAMPLES
from mcp_offload.cli.main import error_code
from mcp_offload.cli.parser import build_parser
from mcp_offload.settings import Settings
from serving import errors as serving_errors
from serving.cli import main as serving_main
from serving.cli import parser as serving_parser
from serving.profile.catalog import gpus, shipped_models
from serving.profile.fields import FIELDS
from serving.profile.load import load_profile, shipped_profiles
from serving.profile.model import Profile, Speculation
from serving.telemetry.definitions import DEFINITIONS

REFERENCE = Path(__file__).resolve().parent
NOTICE = "<!-- Written by `make docs`; edit the code instead. -->\n\n"

RESULTS = {
    "store": [
        models.StoreResult,
        models.StoreManyResult,
        models.SkippedFile,
        models.DigestResult,
        models.FailureEntry,
        models.CauseEntry,
        models.CardResult,
    ],
    "outline": [models.OutlineResult, models.SymbolEntry, models.MapResult, models.MapEntry],
    "read": [models.ReadResult, models.Rest],
    "search": [models.SearchResult, models.Hit, models.SymbolHits],
    "edit": [models.EditResult],
    "diff": [models.DiffResult, models.SymbolChange, models.CardChange],
    "export": [models.ExportResult],
    "list": [models.ListResult, models.ArtifactEntry],
    "release, pin, unpin, purge": [models.ReleaseResult],
    "run": [models.RunResult],
    "gc": [models.GcResult],
    "lease": [models.LeaseResult],
    "stats": [
        models.StatsResult,
        models.DeliveryStats,
        models.SessionUse,
        models.ToolUse,
        models.ArtifactUse,
    ],
}


def pages() -> dict[str, str]:
    """The text of every page by file name."""
    return {
        "cli.md": NOTICE + cli_page(),
        "errors.md": NOTICE + errors_page(),
        "json.md": NOTICE + json_page(),
        "metrics.md": NOTICE + metrics_page(),
        "serving-cli.md": NOTICE + serving_cli_page(),
        "serving-profile.md": NOTICE + serving_profile_page(),
        "settings.md": NOTICE + settings_page(),
        "tools.md": NOTICE + tools_page(),
    }


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _prose(text: str) -> str:
    """A docstring's reST literals as Markdown ones, roles as their names."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(text))
    return text.replace("``", "`")


# --- command line -------------------------------------------------------------------------------


def cli_page() -> str:
    parser = build_parser()
    parts = ["# Command line\n", DESCRIPTIONS[""] + "\n"]
    parts.append("## Exit statuses\n\n| status | meaning |\n|---|---|")
    parts.append("| 0 | done |\n| 1 | the request failed; standard error says why and what to do |")
    parts.append("| 2 | wrong usage, a malformed handle or pattern, or a wrong setting |")
    parts.append("| 130 | interrupted |\n")
    parts.append(
        "A closed pipe, as in `mcp-offload read f1 | head`, ends quietly with 0. With `--json` a failure is\n"
        'an object on standard output, `{"error": {"type": ..., "message": ...}}`; [errors](errors.md)\n'
        "lists the types.\n"
    )
    parts.append(
        "## Options of every command\n\nThey stand before or after the command; what comes later wins.\n"
    )
    parts.append(_options(parser, global_only=True))
    parts.append(
        "\nPaths that a command names must lie inside the roots: by default the workspace, which is the"
    )
    parts.append("git root or worktree around the current directory, else the directory itself.\n")
    commands = next(action for action in parser._actions if action.dest == "command")
    for name, command in cast("dict[str, argparse.ArgumentParser]", commands.choices).items():
        parts.append(f"## {name}\n\n{DESCRIPTIONS[name]}\n")
        options = _options(command, global_only=False)
        if options:
            parts.append(options + "\n")
        parts.append("```sh\n" + "\n".join(EXAMPLES[name]) + "\n```\n")
    return "\n".join(parts)


def _options(parser: argparse.ArgumentParser, *, global_only: bool) -> str:
    rows = ["| argument | meaning |", "|---|---|"]
    shared = {"store", "state", "workspace", "json", "verbose", "roots_before", "roots_after"}
    for action in parser._actions:
        if action.dest in ("help", "version", "command") or (action.dest in shared) != global_only:
            continue
        rows.append(f"| `{_usage(action)}` | {_cell(_meaning(action))} |")
    return "\n".join(rows) if len(rows) > 2 else ""


def _usage(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        more = {"+": "...", "*": "...", "?": ""}.get(str(action.nargs), "")
        return f"{value}{more}"
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def _meaning(action: argparse.Action) -> str:
    text = action.help or "handle or path"
    if action.choices:
        text += f" ({', '.join(map(str, action.choices))})"
    return text


# --- settings, errors, results ------------------------------------------------------------------


def settings_page() -> str:
    meanings = _attributes(Settings)
    parts = ["# Settings\n"]
    parts.append(
        "The command line builds one frozen `Settings` from its options and these variables; options win."
    )
    parts.append(
        "Nothing else reads the environment. A variable that starts with `MCP_OFFLOAD_` and is not listed"
    )
    parts.append(
        "here is an error, so that a typing error is noticed; names that start with `MCP_OFFLOAD_TEST_`"
    )
    parts.append("are the test suite's and are ignored. `~` is expanded.\n")
    parts.append("| variable | meaning |\n|---|---|")
    parts += [f"| `{name}` | {_cell(meaning)} |" for name, meaning in VARIABLES.items()]
    parts.append("\n## Defaults\n\n| field | default | meaning |\n|---|---|---|")
    for field in fields(Settings):
        default = "" if field.default is MISSING else f"`{field.default!r}`"
        parts.append(f"| `{field.name}` | {default or _places(field.name)} | {_cell(meanings[field.name])} |")
    parts.append(
        "\nReplies are bounded in the server alone: in a shell no model's context is at stake, so commands"
    )
    parts.append("print everything unless `--max-tokens` says otherwise.\n")
    return "\n".join(parts)


def _places(name: str) -> str:
    return {
        "store_dir": "`/var/tmp/mcp-offload-UID`",
        "state_dir": "`$XDG_STATE_HOME/mcp-offload`, else `~/.local/state/mcp-offload`",
        "roots": "the workspace",
        "base_dir": "the current directory",
        "workspace": "the git root or worktree, else the directory",
        "rg_path": "`rg` beside Python, else on `PATH`",
        "run_allow": "none",
        "run_environment": "the environment without secrets in `run`, else nothing",
        "lease": "see [the context lease](../how-to/lease.md)",
        "identity": "the session that the client names, else the process that started this one",
        "failpoints": "none",
    }.get(name, "none")


def _attributes(cls: type) -> dict[str, str]:
    """The Attributes part of a docstring, by name."""
    text = _prose(cls.__doc__ or "").partition("Attributes:\n")[2]
    found: dict[str, str] = {}
    for match in re.finditer(r"(?m)^    ([\w, ]+): ((?:.|\n(?!    \w[\w, ]*: ))*)", text):
        for name in match[1].split(", "):
            found[name] = match[2]
    return found


def errors_page() -> str:
    parts = ["# Errors\n"]
    parts.append(
        "A tool answers with the message as a tool error; the command line prints it and ends with the"
    )
    parts.append("status. Each message says what happened and what to do next.\n")
    parts.append("| type | class | exit status | meaning |\n|---|---|---|---|")
    for cls in _tree(errors.OffloadError):
        status = 2 if issubclass(cls, errors.UsageError) else 1
        meaning = _cell(_prose(cls.__doc__ or "").split("\n\n")[0])
        parts.append(f"| `{error_code(cls)}` | `{cls.__name__}` | {status} | {meaning} |")
    return "\n".join(parts) + "\n"


def _tree(cls: type[errors.OffloadError]) -> Iterator[type[errors.OffloadError]]:
    for child in sorted(cls.__subclasses__(), key=lambda c: c.__name__):
        yield child
        yield from _tree(child)


def json_page() -> str:
    parts = [
        "# JSON\n",
        "With `--json` each command prints one object on one line: the fields of its result. Enumerations",
    ]
    parts.append(
        "are their values, and text that is not Unicode has U+FFFD in its place. `read` of several handles"
    )
    parts.append('prints `{"reads": [...]}`.\n')
    for command, classes in RESULTS.items():
        parts.append(f"## {command}\n")
        for cls in classes:
            parts.append(
                f"### {cls.__name__}\n\n{_prose(cls.__doc__ or '').partition('Attributes:')[0].strip()}\n"
            )
            meanings = _attributes(cls)
            parts.append("| field | type | meaning |\n|---|---|---|")
            for field in fields(cls):
                meaning = _cell(meanings.get(field.name, ""))
                parts.append(f"| `{field.name}` | `{_cell(str(field.type))}` | {meaning} |")
            parts.append("")
    parts.append("## Facts of cards\n\nThe names in `facts` of a `CardResult`.\n")
    parts.append("| fact | meaning |\n|---|---|")
    parts += [f"| `{name}` | {_cell(meaning)} |" for name, meaning in FACTS.items()]
    return "\n".join(parts) + "\n"


# --- serving ------------------------------------------------------------------------------------


def serving_cli_page() -> str:
    parser = serving_parser.build_parser()
    parts = ["# Command line of serving\n", serving_parser.DESCRIPTION + "\n"]
    parts.append("## Exit statuses\n\n| status | meaning |\n|---|---|")
    for line in serving_parser.EXIT_STATUSES.splitlines()[1:]:
        status, meaning = line.split(maxsplit=1)
        parts.append(f"| {status} | {meaning} |")
    parts.append(
        "\nWith `--json` a failure is an object on standard output,\n"
        '`{"error": {"type": ..., "message": ..., "alternatives": [...]}}`.\n'
    )
    parts.append("## Errors\n\n| type | class | exit status | meaning |\n|---|---|---|---|")
    for cls in _serving_tree(serving_errors.ServingError):
        status = 2 if issubclass(cls, serving_errors.ServingUsageError) else 1
        meaning = _cell(_prose(cls.__doc__ or "").split("\n\n")[0])
        parts.append(f"| `{serving_main.error_code(cls)}` | `{cls.__name__}` | {status} | {meaning} |")
    parts.append("\n## Options of every command\n\nThey stand before or after the command.\n")
    parts.append(_options(parser, global_only=True) + "\n")
    commands = next(action for action in parser._actions if action.dest == "command")
    choices = cast("dict[str, argparse.ArgumentParser]", commands.choices)
    for command in serving_parser.COMMANDS:
        parts.append(f"## {command.name}\n\n{command.description}\n")
        parts += _serving_options(choices[command.name], command.name)
        parts.append("```sh\n" + "\n".join(command.examples) + "\n```\n")
    parts.append("## What plans know\n")
    parts.append("Models: " + ", ".join(f"`{name}`" for name in shipped_models()) + ".\n")
    parts.append(
        "| GPU | | memory, bytes | bandwidth, B/s | bf16, FLOP/s | FP8, FLOP/s |\n|---|---|---|---|---|---|"
    )
    for gpu in gpus().values():
        fp8 = f"{gpu.fp8_flops:.4g}" if gpu.fp8_flops else "none"
        bandwidth = f"{gpu.bandwidth_bytes_per_second:.4g}"
        peaks = f"{bandwidth} | {gpu.bf16_flops:.4g} | {fp8}"
        parts.append(f"| `{gpu.name}` | {gpu.title} | {gpu.memory_bytes:.4g} | {peaks} |")
    return "\n".join(parts) + "\n"


def _serving_options(parser: argparse.ArgumentParser, title: str) -> Iterator[str]:
    """The arguments of a command, and of the commands below it."""
    if options := _options(parser, global_only=False):
        yield options + "\n"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in cast("dict[str, argparse.ArgumentParser]", action.choices).items():
                yield f"### {title} {name}\n"
                yield from _serving_options(below, f"{title} {name}")


def _serving_tree(
    cls: type[serving_errors.ServingError],
) -> Iterator[type[serving_errors.ServingError]]:
    for child in sorted(cls.__subclasses__(), key=lambda c: c.__name__):
        if child.__module__ == serving_errors.__name__:
            yield child
            yield from _serving_tree(child)


def serving_profile_page() -> str:
    parts = ["# Profiles\n"]
    parts.append(
        "A profile is a TOML file of these fields. `[speculation]` and `[notes]` are tables; a note is the"
    )
    parts.append("reason for a field, where it is not the one given here. An unknown field is an error.\n")
    parts.append(
        "| field | unit | default | meaning | why it is set | vLLM's option |\n|---|---|---|---|---|---|"
    )
    meanings = _attributes(Profile)
    for field in fields(Profile):
        known = FIELDS[field.name]
        default = "" if field.default is MISSING else f"`{field.default!r}`"
        flag = f"`{known.flag}`" if known.flag else ""
        why = _cell(f"{known.why} ({known.source})" if known.source else known.why)
        parts.append(
            f"| `{field.name}` | {known.unit} | {default} | {_cell(meanings[field.name])} | {why} | {flag} |"
        )
    parts.append("\n## speculation\n\n| field | default | meaning |\n|---|---|---|")
    meanings = _attributes(Speculation)
    for field in fields(Speculation):
        default = "" if field.default is MISSING else f"`{field.default!r}`"
        parts.append(f"| `{field.name}` | {default} | {_cell(meanings[field.name])} |")
    parts.append("\n## Shipped\n\n| profile | |\n|---|---|")
    parts += [f"| `{name}` | {_cell(load_profile(name).summary)} |" for name in shipped_profiles()]
    return "\n".join(parts) + "\n"


# --- metrics ------------------------------------------------------------------------------------


METRICS_TEXT = """# Metrics

What `mcp-offload-serving metrics` tells, one section a figure. Each comes with its basis: *measured* where
it was counted in a run, *computed* where a run was put into a formula, *assumed* where neither. A figure
that cannot be had says what is missing. One that no machine can have done is flagged `impossible`, with the
bound it breaks, and the exit status is 1: then the model, a format, the GPU or the records are not what was
said.

Records are what `mcp-offload-serving gate --record FILE` writes; the page is the engine's `/metrics`. For
figures that need both, they must cover the same time: keep a page from before the run and one from after
it, and give both with `--page`. A page alone counts since the engine started.

## Why vLLM's own estimates are not used

vLLM 0.33.0 can estimate operations and bytes itself (`--enable-mfu-metrics`). For plain decoding of a dense
model its bytes agree with ours within half a percent. They do not

- under speculation: a step that verifies drafts is billed as prefill, KV cache at two bytes whatever its
  format (59 % over for 70B with FP8 KV at 32,000 tokens), the head's work for one token, the draft not at
  all;
- for compressed-tensors FP8: weights at half a byte (20 % under);
- in models with linear layers or windows: every layer as full attention, KV cache up to four times over;
- for prefill: every prompt token as if it attended to the whole prompt, twice the causal work;
- for sparse models: each token of a step is taken to read experts of its own, up to all there are;
- where a configuration is not understood: in release 0.32 all of gpt-oss but its head is left out.

`make test-serving` asks vLLM's estimator itself, and holds ours to it in three dense models.
"""


def metrics_page() -> str:
    parts = [METRICS_TEXT]
    for name, known in DEFINITIONS.items():
        parts.append(f"## {name}\n\n{known.meaning}\n")
        parts.append(f"| | |\n|---|---|\n| unit | {known.unit} |\n| basis | {known.basis.value} |")
        parts.append(f"| formula | {_cell(known.formula)} |\n| source | {_cell(known.source)} |")
        parts.append(f"| pitfalls | {_cell(known.pitfalls)} |\n")
    return "\n".join(parts)


# --- tools --------------------------------------------------------------------------------------


def tools_page() -> str:
    recorded = Path(mcp_offload.server.__file__).with_name("snapshot.json").read_text(encoding="utf-8")
    profiles = json.loads(recorded)["profiles"]
    run_tool = _run_tool(json.loads(recorded))
    default = {tool["name"] for tool in _tools(profiles["default"])}
    parts = [
        "# Tools\n",
        "What a client lists. Replies are one block of text within `max_tokens`, by default 2,000, and",
    ]
    parts.append("10 KB; what does not fit is one line with a handle for the rest.\n")
    for tool in [*_tools(profiles["all"]), run_tool]:
        parts.append(f"## {tool['name']}\n\n{tool['description']}\n")
        hints = tool["annotations"]
        kind = "reads only" if hints["readOnlyHint"] else "writes" if hints["destructiveHint"] else "adds"
        listed = "" if tool["name"] in default else "; listed with `--tools all`"
        listed = "; listed with `--allow-run`" if tool is run_tool else listed
        parts.append(
            f"{kind.capitalize()}{'; may be repeated' if hints['idempotentHint'] else ''}{listed}.\n"
        )
        required = tool["inputSchema"].get("required", [])
        parts.append("| argument | type | |\n|---|---|---|")
        for name, schema in tool["inputSchema"]["properties"].items():
            must = "required" if name in required else ""
            told = "; ".join(filter(None, [must, schema.get("description", "")]))
            parts.append(f"| `{name}` | {_type(schema)} | {_cell(told)} |")
        parts.append("")
    return "\n".join(parts)


def _run_tool(recorded: Mapping[str, Any]) -> dict[str, Any]:
    return dict(recorded["run_tool"][-1]["result"])


def _tools(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(profile["lists"]["tools/list"][-1]["result"]["tools"])


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if schema["type"] == "array":
        return f"list of {schema['items']['type']}"
    return str(schema["type"])


def main() -> int:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
        print(REFERENCE / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
