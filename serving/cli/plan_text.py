"""A plan as text for a terminal and as one JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from serving.plan.choice import Candidate
from serving.plan.plan import Plan
from serving.plan.speculation import SpeculationVerdict
from serving.profile.command import engine_argv, engine_flags, rendered
from serving.profile.figure import Figure


def as_text(plan: Plan, *, every_figure: bool = False) -> str:
    """The plan for a person: what, why, tables, and the command."""
    parts = [
        *_head(plan),
        "",
        *_topologies(plan),
        "",
        *_kv(plan),
        "",
        *_depths(plan),
        "",
        *_speculation(plan),
        "",
        *_advice(plan),
        "",
        *_command(plan),
        "",
        *(_every_figure(plan.figures) if every_figure else _assumed(plan.figures)),
    ]
    return "\n".join(parts)


def _head(plan: Plan) -> Iterator[str]:
    request, chosen = plan.request, plan.chosen
    model = request.model
    made = "written down, see docs" if model.reconstructed else "read"
    yield (
        f"{model.name}: {model.architecture.parameters.total / 1e9:.1f}B parameters,"
        f" {model.architecture.parameters.active / 1e9:.1f}B active, weights {model.weights.name};"
        f" configuration {made}"
    )
    load = request.load
    yield f"{request.gpus} x {request.gpu.title}, {load.agents} agents of {load.depth_tokens:,} tokens"
    if plan.carries:
        yield f"carried by {chosen.topology}: {_limits(chosen)}"
    else:
        yield f"NOT carried: at most {chosen.limit} agents with {chosen.topology}: {_limits(chosen)}"
    yield plan.why
    for alternative in plan.alternatives:
        yield f"would carry it: {alternative}"
    if not model.quantized_in_checkpoint:
        yield f"The checkpoint {model.checkpoint} is not stored in {model.weights.name}; take one that is."


def _limits(chosen: Candidate) -> str:
    return (
        f"{chosen.in_memory} fit in memory, {chosen.above_floor} keep the floor;"
        f" {chosen.velocity:.0f} tok/s each expected, {chosen.velocity_bound:.0f} at most"
    )


def _topologies(plan: Plan) -> Iterator[str]:
    rows = [("topology", "pool GB", "in memory", "above floor", "tok/s each", "bound", "KV stored")]
    for candidate in plan.candidates:
        mark = "*" if candidate is plan.chosen else " "
        if not candidate.weights_fit:
            rows.append((f"{mark} {candidate.topology}", "weights do not fit", "", "", "", "", ""))
            continue
        rows.append(
            (
                f"{mark} {candidate.topology}",
                f"{candidate.topology.pools} x {candidate.engine.pool_bytes / 1e9:.1f}",
                str(candidate.in_memory),
                str(candidate.above_floor),
                f"{candidate.velocity:.0f}",
                f"{candidate.velocity_bound:.0f}",
                f"{candidate.stored_times:g}x",
            )
        )
    yield from table(rows)


def _kv(plan: Plan) -> Iterator[str]:
    rows = [("KV cache", "B/token", "GB/agent", "in memory", "above floor")]
    chosen = plan.request.kv_format.name
    rows += [
        (
            f"{'*' if row.name == chosen else ' '} {row.name}",
            f"{row.bytes_per_token:,}",
            f"{row.bytes_per_agent / 1e9:.2f}",
            str(row.in_memory),
            str(row.above_floor),
        )
        for row in plan.kv
    ]
    yield from table(rows)


def _depths(plan: Plan) -> Iterator[str]:
    rows = [("depth", "in memory", "above floor", "alone tok/s", "bound", "full tok/s", "bound", "all tok/s")]
    rows += [
        (
            f"{row.depth_tokens:,}",
            str(row.in_memory),
            str(row.above_floor),
            f"{row.alone:.0f}",
            f"{row.alone_bound:.0f}",
            f"{row.full:.0f}" if row.in_memory else "-",
            f"{row.full_bound:.0f}" if row.in_memory else "-",
            f"{row.aggregate:,.0f}",
        )
        for row in plan.depths
    ]
    yield from table(rows)


def _speculation(plan: Plan) -> Iterator[str]:
    if not plan.speculation:
        yield "speculation: nothing to judge; name a draft model with --draft"
        return
    rows = [
        ("drafted by", "tokens", "acceptance", "alone", "loaded", "agents/pool", "breaks even at", "pays")
    ]
    for verdict in plan.speculation:
        even = verdict.break_even_acceptance
        rows.append(
            (
                verdict.draft.method,
                str(verdict.draft.tokens),
                f"{verdict.draft.acceptance:.2f}",
                f"{verdict.alone:.2f}x",
                f"{verdict.loaded:.2f}x",
                f"{verdict.agents_without} -> {verdict.agents_in_memory}",
                "never" if even is None else f"{even:.2f}",
                _pays(plan, verdict),
            )
        )
    yield from table(rows)


def _pays(plan: Plan, verdict: SpeculationVerdict) -> str:
    """An assumed acceptance is no reason to draft: it must be measured first."""
    if not verdict.pays(plan.chosen.agents_per_pool):
        return "no"
    return "yes" if plan.request.acceptance_measured else "if measured so"


def _advice(plan: Plan) -> Iterator[str]:
    yield f"gate        {plan.advice.gate}"
    yield f"CPU tier    {plan.advice.cpu_tier}"
    yield f"offloading  {plan.advice.offloading}"


def _command(plan: Plan) -> Iterator[str]:
    profile = plan.profile
    servers = f", {profile.replicas} times on ports from {profile.port}" if profile.replicas > 1 else ""
    yield f"vLLM {profile.engine_version}{servers}:"
    yield rendered(profile)
    yield ""
    flags = engine_flags(profile)
    width = max(len(flag.words[0]) for flag in flags)
    for flag in flags:
        yield f"{flag.words[0]:<{width}}  {flag.why}"


def _assumed(figures: Sequence[Figure]) -> Iterator[str]:
    yield "assumed; everything else is computed (--figures tells formulas and sources):"
    for figure in figures:
        if figure.basis == "assumed":
            yield f"  {figure.name} = {_number(figure)} {figure.unit}: {figure.source}"


def _every_figure(figures: Sequence[Figure]) -> Iterator[str]:
    for figure in figures:
        yield f"{figure.name} = {_number(figure)} {figure.unit} [{figure.basis}]"
        if figure.formula:
            yield f"    {figure.formula}"
        if figure.source:
            yield f"    source: {figure.source}"


def _number(figure: Figure) -> str:
    if figure.value is None:
        return "none"
    return f"{figure.value:,.0f}" if abs(figure.value) >= 1000 else f"{figure.value:.4g}"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as aligned lines: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def as_json(plan: Plan) -> dict[str, object]:
    """The plan as plain values; its names are stable."""
    request = plan.request
    return {
        "model": {
            "name": request.model.name,
            "checkpoint": request.model.checkpoint,
            "source": request.model.source,
            "reconstructed": request.model.reconstructed,
            "weights": request.model.weights.name,
        },
        "gpu": request.gpu.name,
        "gpus": request.gpus,
        "load": asdict(request.load),
        "kv": request.kv_format.name,
        "carries": plan.carries,
        "why": plan.why,
        "alternatives": list(plan.alternatives),
        "topologies": [
            _candidate(candidate, chosen=candidate is plan.chosen) for candidate in plan.candidates
        ],
        "kv_formats": [asdict(row) for row in plan.kv],
        "depths": [asdict(row) for row in plan.depths],
        "speculation": [_verdict(plan, verdict) for verdict in plan.speculation],
        "advice": asdict(plan.advice) | {"occupancy": _finite(plan.advice.occupancy)},
        "figures": [asdict(figure) for figure in plan.figures],
        "argv": engine_argv(plan.profile),
        "reasons": {flag.words[0]: flag.why for flag in engine_flags(plan.profile)},
    }


def _verdict(plan: Plan, verdict: SpeculationVerdict) -> dict[str, object]:
    return {
        "method": verdict.draft.method,
        "tokens": verdict.draft.tokens,
        "acceptance": verdict.draft.acceptance,
        "acceptance_measured": plan.request.acceptance_measured,
        "alone": verdict.alone,
        "loaded": verdict.loaded,
        "agents_in_memory": verdict.agents_in_memory,
        "agents_without": verdict.agents_without,
        "break_even_acceptance": verdict.break_even_acceptance,
        "pays": verdict.pays(plan.chosen.agents_per_pool),
    }


def _candidate(candidate: Candidate, *, chosen: bool) -> dict[str, object]:
    return {
        "topology": str(candidate.topology),
        **asdict(candidate.topology),
        "chosen": chosen,
        "weights_fit": candidate.weights_fit,
        "pool_bytes": candidate.engine.pool_bytes,
        "in_memory": candidate.in_memory,
        "above_floor": candidate.above_floor,
        "velocity": candidate.velocity,
        "velocity_bound": candidate.velocity_bound,
        "kv_stored_times": candidate.stored_times,
    }


def _finite(value: float) -> float | None:
    return value if value != float("inf") else None
