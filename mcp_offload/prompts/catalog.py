"""The prompts: their arguments and what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from mcp_types import Icon, Prompt, PromptArgument

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
    """One prompt; ``text`` names its arguments in braces, ``icon`` is an SVG path on a grid of 24 by 24."""

    title: str
    description: str
    arguments: Mapping[str, ArgumentSpec]
    icon: str
    text: str


PROMPTS: Final[Mapping[str, PromptSpec]] = {
    "triage_run": PromptSpec(
        "Triage a failing run",
        "Find the causes of a failing build or test run from its log.",
        {"handle": ArgumentSpec("log or test run: handle or path", LOGS)},
        "M12 3l10 18H2zM12 10v5M12 18v.5",
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
        "M4 20l1-5L16 4l4 4L9 19z",
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
        "M12 3v12M6 9h12M6 20h12",
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
            icons=[_icon(spec.icon)],
        )
        for name, spec in PROMPTS.items()
    ]


def _icon(path: str) -> Icon:
    """A line drawing in grey, which shows on dark and on light.

    Prompts are what users choose from, so they have icons. Tools and resources have none: some clients pass
    all that they list to the model.
    """
    drawing = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'>"
        f"<path fill='none' stroke='#888' stroke-width='2' d='{path}'/></svg>"
    )
    return Icon(
        src="data:image/svg+xml," + quote(drawing, safe="/:='"),
        mime_type="image/svg+xml",
        sizes=["any"],
    )


def prompt_text(spec: PromptSpec, given: Mapping[str, str]) -> str:
    """What the prompt says for these arguments, all of which are known and there."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return spec.arguments[name].form.replace("{}", given[name]) if name in given else ""

    return re.sub(r"\{([a-z]+)\}", value, spec.text)
