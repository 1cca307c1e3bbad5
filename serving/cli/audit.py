"""``audit``: which claims no machine can reach, and whether a node keeps the standards."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

from serving import __version__
from serving.cli.command import Command, Context, Exit
from serving.cli.observe import add_observed, hub_cache, observe
from serving.errors import ServingUsageError
from serving.profile.model import Profile


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--claims",
        metavar="FILE",
        help="a table of claims, .toml, .json or .csv; `design` takes the one that is shipped",
    )
    parser.add_argument("--profile", metavar="PROFILE", help="shipped profile, or a .toml file")
    parser.add_argument(
        "--syntax", type=Path, metavar="FILE", help="counts of generations that do not parse, JSON"
    )
    parser.add_argument(
        "--offload-stats", type=Path, metavar="FILE", help="what `mcp-offload --json stats` prints"
    )
    for state in ("on", "off"):
        parser.add_argument(
            f"--generations-{state}",
            type=Path,
            metavar="FILE",
            help=f"generations with the low-bit KV cache {state}, JSON lines with text, to be parsed here",
        )
    parser.add_argument(
        "--language", default="python", metavar="NAME", help="of code that names none; default python"
    )
    parser.add_argument(
        "--workspace",
        type=Path,
        metavar="DIR",
        help="read the ledger of what mcp-offload delivered there, instead of --offload-stats",
    )
    parser.add_argument("--store", metavar="DIR", help="its store, if not the default")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    form.add_argument("--html", action="store_true", help="print a page that needs nothing from elsewhere")
    add_observed(parser)


def _run(args: argparse.Namespace, context: Context) -> int:
    if args.claims:
        return _claims(args, context)
    return _standards(args, context)


def _claims(args: argparse.Namespace, context: Context) -> int:
    from serving.audit.claim import SHIPPED, load_claims
    from serving.audit.claims import judge
    from serving.audit.finding import Verdict
    from serving.audit.rendering import claims_markdown, claims_text

    claims = load_claims(SHIPPED if args.claims == "design" else Path(args.claims))
    judged = judge(claims, hub_cache=hub_cache(context))
    if context.console.as_json:
        context.console.json({"claims": [{"verdict": claim.verdict, **asdict(claim)} for claim in judged]})
    elif args.html:
        from serving.audit.page import claims_html

        context.console.text(claims_html(judged, _made_by()))
    else:
        context.console.text("\n".join((claims_markdown if args.markdown else claims_text)(judged)))
    worst = {claim.verdict for claim in judged}
    return Exit.FAILED if worst & {Verdict.IMPOSSIBLE, Verdict.CONTRADICTORY} else Exit.DONE


def _standards(args: argparse.Namespace, context: Context) -> int:
    from serving.audit.rendering import standards_markdown, standards_text
    from serving.audit.standards import Evidence, audit, failed
    from serving.profile.load import load_profile

    profile = load_profile(args.profile) if args.profile else None
    if profile is not None:
        _fill(args, profile)
    evidence = Evidence(
        observe(args, context),
        profile,
        _syntax(args),
        _offload(args, context),
    )
    try:
        found = audit(evidence)
    except ValueError as error:
        raise ServingUsageError(f"{error}.") from error
    if context.console.as_json:
        context.console.json({"standards": [asdict(standard) for standard in found]})
    elif args.html:
        from serving.audit.page import standards_html

        context.console.text(standards_html(found, _made_by()))
    else:
        context.console.text("\n".join((standards_markdown if args.markdown else standards_text)(found)))
    return Exit.FAILED if failed(found) else Exit.DONE


def _made_by() -> str:
    return f"mcp-offload-serving audit, version {__version__}"


def _syntax(args: argparse.Namespace) -> dict[str, Any] | None:
    """Counts of generations that do not parse: told, or made here."""
    if (args.generations_on is None) != (args.generations_off is None):
        raise ServingUsageError("--generations-on and --generations-off go together.")
    if args.generations_on is None:
        return _object(args.syntax) if args.syntax else None
    from serving.audit.generations import count_file

    on, off = (count_file(path, args.language) for path in (args.generations_on, args.generations_off))
    return {"on": on.as_dict(), "off": off.as_dict()}


def _offload(args: argparse.Namespace, context: Context) -> dict[str, Any] | None:
    """What mcp-offload delivered: told, or read from its ledger."""
    if args.workspace is None:
        return _object(args.offload_stats) if args.offload_stats else None
    from mcp_offload import LeaseSettings, OffloadError, open_service, resolve_workspace
    from serving.cli.gate_compaction import store_settings

    if not args.workspace.is_dir():
        raise ServingUsageError(f"{args.workspace} is no folder.")
    named = argparse.Namespace(
        store=args.store,
        workspace=resolve_workspace(str(args.workspace)),
        context_lease_tokens=LeaseSettings().limit_tokens,
    )
    settings = store_settings(named, context)
    if not Path(settings.store_dir).is_dir():
        raise ServingUsageError(f"{settings.store_dir} is no store of mcp-offload; name it with --store.")
    try:
        with open_service(settings) as service:
            return asdict(service.stats())
    except OffloadError as error:
        raise ServingUsageError(f"The ledger cannot be read: {error}") from error


def _fill(args: argparse.Namespace, profile: Profile) -> None:
    """What the profile tells of the node, where the line does not."""
    if not args.model and not args.gpu and profile.gpu != "cpu":
        args.model = profile.architecture or profile.model
        args.gpu, args.weights = profile.gpu, args.weights or profile.weights
        args.gpus, args.copies = profile.tensor_parallel, profile.data_parallel * profile.replicas
        args.kv = args.kv or ("fp8" if profile.kv_cache_dtype.startswith("fp8") else None)


def _object(path: Path) -> dict[str, Any]:
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ServingUsageError(f"{path} cannot be read: {error}.") from error
    if not isinstance(value, dict):
        raise ServingUsageError(f"{path} holds no JSON object.")
    return cast("dict[str, Any]", value)


COMMAND: Final = Command(
    name="audit",
    help="say which claims no machine can reach, or whether a node keeps the five standards",
    description="""Say which claims no machine can reach, or whether a node keeps the five standards.

With --claims every figure of a table is held against memory, bandwidth and arithmetic; exit status 1 where
one is impossible or contradicts itself. Without, the node's records, metrics and profile are held against the
standards: each is passed, failed or not measurable, with the evidence and what is missing; exit status 1
where one failed.""",
    examples=(
        "mcp-offload-serving audit --claims design",
        "mcp-offload-serving audit --claims offer.csv --markdown",
        "mcp-offload-serving audit --records requests.jsonl --url http://127.0.0.1:8080"
        " --profile qwen3.6-27b-2xh100 --offload-stats stats.json",
        "mcp-offload-serving audit --records requests.jsonl --url http://127.0.0.1:8080 --workspace . --html"
        " --profile qwen3.6-27b-2xh100 --generations-on fp8.jsonl --generations-off bf16.jsonl > audit.html",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
