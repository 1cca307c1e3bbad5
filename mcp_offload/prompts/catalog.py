"""The prompts: their arguments and what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp_types import Prompt, PromptArgument

from mcp_offload.models import Kind

LOGS: Final = (Kind.LOG, Kind.TEST)
MAX_ARGUMENT_CHARS: Final = 4_096


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """One argument.

    ``kinds`` are those whose handles complete it, None = nothing completes it. ``form`` is what stands
    in the text where it is given; where it is not, nothing does.
    """

    description: str
    kinds: tuple[Kind, ...] | None
    required: bool = True
    form: str = "{}"


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """One prompt; ``text`` names its arguments in braces."""

    title: str
    description: str
    arguments: Mapping[str, ArgumentSpec]
    text: str


PROMPTS: Final[Mapping[str, PromptSpec]] = {
    "triage_run": PromptSpec(
        "Triage a failing run",
        "Find the causes of a failing build or test run from its log.",
        {"handle": ArgumentSpec("log or test run: handle or path", LOGS)},
        """\
Triage the run {handle}.
1. outline_handle("{handle}"): verdict, failures, causes.
2. For each cause read one failure by its handle (t7#!1), then only the code it names (path#symbol).
3. Tell each cause with its file and line, and what fixes it. Change nothing yet.""",
    ),
    "refactor_symbol": PromptSpec(
        "Refactor by handle",
        "Change one symbol and its callers without reading whole files.",
        {
            "handle": ArgumentSpec("symbol: f12#Invoice.total or path#symbol", (Kind.FILE,)),
            "goal": ArgumentSpec("what to change", None),
        },
        """\
Refactor {handle}: {goal}
1. read_handle(["{handle}"]), then search_handles its name for callers.
2. edit_handle one symbol at a time with its new text alone; on a conflict read it again.
3. diff_handles each changed file, run the tests, store_artifact their log by path.""",
    ),
    "review_diff": PromptSpec(
        "Review a diff by handle",
        "Review what changed between two versions, symbol by symbol.",
        {
            "before": ArgumentSpec("handle or path", (Kind.FILE,)),
            "after": ArgumentSpec("default: the file on disk", (Kind.FILE,), required=False, form=', "{}"'),
        },
        """\
Review the changes: diff_handles("{before}"{after}).
1. For each changed symbol read it by handle where the hunk is not enough, and search for its callers.
2. Report defects only, worst first: handle, lines, what goes wrong and when. Quote no unchanged code.""",
    ),
}


def listed_prompts() -> list[Prompt]:
    """The prompts as sent."""
    return [
        Prompt(
            name=name,
            title=spec.title,
            description=spec.description,
            arguments=[
                PromptArgument(name=argument, description=one.description, required=one.required)
                for argument, one in spec.arguments.items()
            ],
        )
        for name, spec in PROMPTS.items()
    ]


def prompt_text(spec: PromptSpec, given: Mapping[str, str]) -> str:
    """What the prompt says for these arguments, all of which are known and there."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return spec.arguments[name].form.replace("{}", given[name]) if name in given else ""

    return re.sub(r"\{([a-z]+)\}", value, spec.text)
