"""``plan``: what fits on a node, how fast it can be, and how to run it."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from serving.cli.command import Command, Context, Exit
from serving.errors import ServingUsageError
from serving.plan.assumptions import DEFAULTS, Assumptions
from serving.plan.engine import Draft
from serving.plan.load import Load
from serving.plan.plan import make_plan
from serving.plan.request import Request
from serving.plan.speculation import GUESSED_ACCEPTANCE, candidate_drafts
from serving.profile.catalog import find_gpu, find_model, gpus
from serving.profile.checkpoint import Model
from serving.profile.formats import KV_FORMATS, WEIGHT_FORMATS
from serving.profile.model import Profile
from serving.profile.toml import as_toml


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="shipped model, folder or config.json, or a name in the hub's cache"
    )
    parser.add_argument("--gpu", metavar="NAME", required=True, help="as h100-sxm; a wrong name lists them")
    parser.add_argument("--gpus", type=_count, default=1, metavar="N", help="GPUs of the node; default 1")
    parser.add_argument(
        "--agents", type=_count, default=1, metavar="N", help="agents live at once; default 1"
    )
    parser.add_argument(
        "--depth", type=_tokens, default=18_000, metavar="TOKENS", help="context of each, as 41k; default 18k"
    )
    parser.add_argument(
        "--floor", type=_positive, default=30.0, metavar="TOK/S", help="decode velocity to keep; default 30"
    )
    parser.add_argument("--kv", choices=tuple(KV_FORMATS), help="KV cache format; default: what suits")
    parser.add_argument(
        "--weights", choices=tuple(WEIGHT_FORMATS), help="how weights are stored; default: the checkpoint's"
    )
    _add_refinements(parser)
    parser.add_argument("--figures", action="store_true", help="print every figure with formula and source")
    parser.add_argument("--plot", metavar="FILE", help="write a chart by depth: .svg, .png or .pdf")
    parser.add_argument("--write-profile", metavar="FILE", help="write the settings as a profile, .toml")


def _add_refinements(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--draft", metavar="MODEL", help="draft model to judge, named like MODEL")
    parser.add_argument(
        "--draft-tokens", type=_count, default=3, metavar="N", help="tokens it drafts a step; default 3"
    )
    parser.add_argument(
        "--acceptance",
        type=_share,
        metavar="P",
        help="measured share of drafted tokens accepted; without it a guess, and no drafting is recommended",
    )
    parser.add_argument(
        "--busy", type=_share, metavar="SHARE", help="share of the agents that decode at once; default 1"
    )
    parser.add_argument(
        "--utilization", type=_share, metavar="SHARE", help="GPU memory the engine takes; default 0.92"
    )
    parser.add_argument(
        "--overhead-gb",
        type=_positive,
        metavar="GB",
        help="of that, what is neither weights nor KV cache, per GPU; default 4",
    )
    parser.add_argument(
        "--efficiency", type=_share, metavar="SHARE", help="of the HBM's peak while decoding; default 0.75"
    )


def _run(args: argparse.Namespace, context: Context) -> int:
    from serving.cli.plan_text import as_json, as_text

    hub_cache = hub_cache_of(context)
    model = find_model(args.model, hub_cache=hub_cache, weights=args.weights)
    request = Request(
        model=model,
        gpu=find_gpu(args.gpu),
        gpus=args.gpus,
        load=Load(args.agents, args.depth, args.floor),
        kv=KV_FORMATS[args.kv] if args.kv else None,
        assume=_assumptions(args),
        acceptance_measured=args.acceptance is not None,
    )
    draft = find_model(args.draft, hub_cache=hub_cache) if args.draft else None
    request = replace(request, drafts=_drafts(args, request, draft))
    if draft is not None:
        request = replace(request, draft_checkpoint=draft.checkpoint)
    plan = make_plan(request, gpus().values())
    if args.plot:
        from serving.cli.plan_plot import write_plot

        write_plot(plan, args.plot)
        context.console.note(f"wrote {args.plot}")
    if args.write_profile:
        _write_profile(plan.profile, args.write_profile)
        context.console.note(f"wrote {args.write_profile}")
    if context.console.as_json:
        context.console.json(as_json(plan))
    else:
        context.console.text(as_text(plan, every_figure=args.figures))
    return Exit.DONE if plan.carries else Exit.FAILED


def _write_profile(profile: Profile, path: str) -> None:
    target = Path(path)
    if target.suffix != ".toml":
        raise ServingUsageError(f"{path} must end in .toml.")
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(as_toml(profile))
    except FileExistsError as error:
        raise ServingUsageError(f"{path} is there already; name another file.") from error
    except OSError as error:
        raise ServingUsageError(f"{path} cannot be written: {error.strerror}.") from error


def _assumptions(args: argparse.Namespace) -> Assumptions:
    stated = {
        "busy": args.busy,
        "utilization": args.utilization,
        "overhead_bytes": args.overhead_gb * 1e9 if args.overhead_gb else None,
        "bandwidth_efficiency": args.efficiency,
    }
    return replace(DEFAULTS, **{name: value for name, value in stated.items() if value is not None})


def _drafts(args: argparse.Namespace, request: Request, draft: Model | None) -> tuple[Draft, ...]:
    found = candidate_drafts(request.engine(), args.acceptance)
    if draft is None:
        return found
    if draft.architecture.vocabulary != request.model.architecture.vocabulary:
        raise ServingUsageError(
            f"{draft.name} has {draft.architecture.vocabulary:,} tokens, {request.model.name} has"
            f" {request.model.architecture.vocabulary:,}: a draft model must share the tokenizer."
        )
    own = Draft(
        "draft_model",
        args.draft_tokens,
        args.acceptance or GUESSED_ACCEPTANCE,
        draft.architecture,
        draft.weights,
    )
    return (own, *found)


def hub_cache_of(context: Context) -> str:
    """The folder of the hub's cache. Source: the variables that huggingface_hub reads."""
    environ = context.environ
    home = environ.get("HF_HOME") or os.path.join(environ.get("HOME", "~"), ".cache", "huggingface")
    return environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")


def _tokens(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kK]?)", text)
    number = float(match[1]) * (1000 if match[2] else 1) if match else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a number of tokens as 41000 or 41k: {text}")
    return int(number)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on: {text}")
    return int(text)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number: {text}")
    return number


def _share(text: str) -> float:
    number = _positive(text)
    if number > 1:
        raise argparse.ArgumentTypeError(f"must be a share of 1: {text}")
    return number


PLAN: Final = Command(
    name="plan",
    help="say what fits on a node, how fast it can be, and how to run it",
    description="""Say what fits on a node, how fast it can be at most and probably, and how to run it.

Needs a model's config.json alone, no weights, no GPU and no network; the configurations of common coders are
shipped. Exit status 1 where the load does not fit, with what would.""",
    examples=(
        "mcp-offload-serving plan llama-3.1-70b-fp8 --gpu h100-sxm --gpus 8 --agents 50 --depth 41k",
        "mcp-offload-serving plan qwen3.6-27b --gpu h100-sxm --gpus 2 --agents 40 --busy 0.5 --plot plan.svg",
        "mcp-offload-serving plan llama-3.1-70b-fp8 --gpu h100-sxm --gpus 8 --agents 20 --draft llama-3.1-8b",
        "mcp-offload-serving plan ./my-model --weights fp8 --gpu h200 --kv 16bit --figures",
        "mcp-offload-serving --json plan gpt-oss-120b --gpu h100-sxm --agents 8",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
