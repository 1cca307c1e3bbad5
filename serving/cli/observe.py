"""Reads what metrics and audits are made of: record files, metrics pages, the gate's status."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from serving.cli.command import Context
from serving.errors import EngineError, ServingUsageError

if TYPE_CHECKING:
    from serving.telemetry import EngineSample, Node, Observed, Scrape, ServedRequest

_TIMEOUT_SECONDS = 10.0


def add_observed(parser: argparse.ArgumentParser) -> None:
    """Arguments that name a run and the node it ran on."""
    parser.add_argument("--records", type=Path, metavar="FILE", help="what `gate --record` wrote, JSON lines")
    parser.add_argument("--url", metavar="URL", help="the gate or the engine, for /metrics and /gate/status")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="the gate's key, if it asks for one")
    parser.add_argument(
        "--page",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a kept /metrics page instead of --url; twice for one before and one after the run",
    )
    parser.add_argument("--model", metavar="MODEL", help="shipped model, folder or config.json, or hub name")
    parser.add_argument("--gpu", metavar="NAME", help="as h100-sxm; a wrong name lists them")
    parser.add_argument(
        "--gpus", type=int, default=1, metavar="N", help="GPUs that share one copy; default 1"
    )
    parser.add_argument("--copies", type=int, default=1, metavar="N", help="copies on the node; default 1")
    parser.add_argument("--kv", choices=("16bit", "fp8", "int8"), help="KV cache format; default: the page's")
    parser.add_argument(
        "--weights", metavar="FORMAT", help="how weights are stored; default: the checkpoint's"
    )
    parser.add_argument("--draft", metavar="MODEL", help="the draft model, named like MODEL")
    parser.add_argument(
        "--base-step-seconds",
        type=float,
        metavar="S",
        help="a stream's step without speculation under the same load, for speculation_gain",
    )
    parser.add_argument(
        "--price-per-hour", type=float, metavar="PRICE", help="of the node, for cost_per_session"
    )


def observe(args: argparse.Namespace, context: Context) -> Observed:
    """All that the arguments name.

    Raises:
        ServingUsageError: nothing is named, or a file cannot be read.
        EngineError: the address does not answer.
    """
    if not (args.records or args.url or args.page):
        raise ServingUsageError("Name what to read: --records FILE, --url URL or --page FILE.")
    engine, gate = _engine(args)
    return replace(
        base_of(args, context, engine),
        requests=tuple(records(args.records)) if args.records else (),
        engine=engine,
        gate=gate,
    )


def base_of(args: argparse.Namespace, context: Context, engine: EngineSample | None = None) -> Observed:
    """What the arguments tell of the node, before anything is seen of it."""
    from serving.telemetry import Observed

    return Observed(
        node=_node(args, context, engine),
        base_step_seconds=args.base_step_seconds,
        price_per_hour=args.price_per_hour,
    )


def key_of(args: argparse.Namespace) -> str | None:
    """The gate's key, where a file is named.

    Raises:
        ServingUsageError: it cannot be read.
    """
    if args.key_file is None:
        return None
    try:
        return str(args.key_file.read_text("utf-8").strip())
    except OSError as error:
        raise ServingUsageError(f"{args.key_file} cannot be read: {error.strerror}.") from error


def records(path: Path) -> Iterator[ServedRequest]:
    """Requests of a record file.

    Raises:
        ServingUsageError: it cannot be read.
    """
    try:
        with path.open(encoding="utf-8") as file:
            yield from records_in(file, str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ServingUsageError(f"{path} cannot be read: {error}.") from error


def records_in(lines: Iterable[str], name: str) -> Iterator[ServedRequest]:
    """Requests of some lines of a record file.

    Raises:
        ServingUsageError: one is no record.
    """
    from serving.telemetry import parse_records

    try:
        yield from parse_records(lines)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise ServingUsageError(f"{name} cannot be read: {error}.") from error


def _engine(args: argparse.Namespace) -> tuple[EngineSample | None, dict[str, Any] | None]:
    from serving.telemetry import total

    if len(args.page) > 2:
        raise ServingUsageError("Give --page once, or twice: before and after the run.")
    pages = [_page(path.read_text, str(path)) for path in args.page]
    gate = None
    if args.url:
        key = key_of(args)
        pages.append(page_of(args.url, key))
        gate = status_of(args.url, key)
    if not pages:
        return None, gate
    sample = total(pages[-1], pages[0] if len(pages) > 1 else None)
    return (sample if pages[-1].engines else None), gate


def page_of(url: str, key: str | None = None) -> Scrape:
    """The metrics page of a gate or an engine, now.

    Raises:
        ServingUsageError: the address is malformed, or no metrics page is there.
        EngineError: it does not answer.
    """
    base = url.rstrip("/")
    return _page(lambda: _get(f"{base}/metrics", key), base)


def status_of(url: str, key: str | None = None) -> dict[str, Any] | None:
    """The gate's status; None where the address is an engine's.

    Raises:
        EngineError: it does not answer.
    """
    address = f"{url.rstrip('/')}/gate/status"
    try:
        value: object = json.loads(_get(address, key))
    except (HTTPError, ValueError):
        return None
    except OSError as error:
        raise EngineError(f"{address} cannot be read: {error}.") from error
    return cast("dict[str, Any]", value) if isinstance(value, dict) and "ranks" in value else None


def _page(read: Callable[[], str], name: str) -> Scrape:
    from serving.telemetry import parse

    try:
        return parse(read())
    except HTTPError as error:
        hint = "give its key with --key-file" if error.code == 401 else "is it a gate or a vLLM server?"
        raise EngineError(f"{name} answers {error.code} to /metrics; {hint}") from error
    except OSError as error:
        raise EngineError(f"{name} cannot be read: {error}.") from error
    except ValueError as error:
        raise ServingUsageError(f"{name} holds no metrics page: {error}.") from error


def _get(url: str, key: str | None) -> str:
    if not url.startswith(("http://", "https://")):
        raise ServingUsageError(f"--url is an http:// or https:// address, not {url}.")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    asked = Request(url, headers=headers)  # noqa: S310 - the scheme was checked
    with urlopen(asked, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - the scheme was checked
        return str(answer.read().decode("utf-8", "replace"))


def _node(args: argparse.Namespace, context: Context, engine: EngineSample | None) -> Node | None:
    from serving.profile.catalog import find_gpu, find_model
    from serving.profile.formats import KV_16BIT, KV_FORMATS, KV_FP8
    from serving.telemetry import Node

    if not args.model and not args.gpu:
        return None
    if not args.model or not args.gpu:
        raise ServingUsageError("--model and --gpu go together.")
    if args.gpus < 1 or args.copies < 1:
        raise ServingUsageError("--gpus and --copies are whole numbers from 1 on.")
    cache = hub_cache(context)
    model = find_model(args.model, hub_cache=cache, weights=args.weights)
    draft = find_model(args.draft, hub_cache=cache) if args.draft else None
    told = engine is not None and engine.cache_dtype.startswith("fp8")
    kv = KV_FORMATS[args.kv] if args.kv else KV_FP8 if told else KV_16BIT
    return Node(
        model=model.architecture,
        weights=model.weights,
        kv=kv,
        gpu=find_gpu(args.gpu),
        tensor_parallel=args.gpus,
        copies=args.copies,
        draft=draft.architecture if draft else None,
        draft_weights=draft.weights if draft else None,
    )


def hub_cache(context: Context) -> str:
    """The folder of the hub's cache. Source: the variables that huggingface_hub reads."""
    environ = context.environ
    home = environ.get("HF_HOME") or str(Path(environ.get("HOME", "~")) / ".cache" / "huggingface")
    return environ.get("HF_HUB_CACHE") or str(Path(home) / "hub")
