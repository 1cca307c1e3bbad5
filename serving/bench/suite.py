"""What each benchmark measures: its cells, each an engine, a gate or none, and a load. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from serving.errors import ServingUsageError
from serving.profile.model import GATE_MODES, GateMode, Profile, Speculation

Benchmark: TypeAlias = Literal["decode", "runtimes", "replay", "gate"]
Runtime: TypeAlias = Literal["vllm", "contiguous"]
Factor: TypeAlias = str | int

DEPTHS_TOKENS: Final = (2_048, 8_192, 16_384, 32_768, 65_536)
DEFAULT_SPECULATION: Final = Speculation("ngram", 3)
"""Where a profile has none: it needs no checkpoint, and any model runs it."""

_SLACK_TOKENS: Final = 64
_UNCHUNKED: Final = "--no-enable-chunked-prefill"


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a benchmark is.

    Attributes:
        depths_tokens: context of each stream at its first token, for ``decode``.
        output_tokens: that each stream of ``decode`` writes.
        concurrency: streams at once, the same for every cell.
        repeats: of every cell, with prompts of their own.
        prompts: of ``runtimes``.
        prompt_tokens: their mean; they lie within half of it.
        answer_tokens: what they ask for, likewise.
        block_tokens: that a trace's block becomes.
        agents: of the trace; None for all.
        turns: of each; None for all.
        sample_seconds: between two looks at the pool.
    """

    depths_tokens: tuple[int, ...] = DEPTHS_TOKENS
    output_tokens: int = 4_096
    concurrency: int = 4
    repeats: int = 3
    prompts: int = 32
    prompt_tokens: int = 8_192
    answer_tokens: int = 1_024
    block_tokens: int = 512
    agents: int | None = None
    turns: int | None = None
    sample_seconds: float = 1.0


SMOKE: Final = Scale(
    depths_tokens=(1_024, 4_096),
    output_tokens=48,
    concurrency=3,
    repeats=1,
    prompts=6,
    prompt_tokens=1_024,
    answer_tokens=40,
    block_tokens=32,
    agents=2,
    sample_seconds=0.25,
)
"""Runs every part in minutes without a GPU; what it measures is no velocity of anything."""

SMOKE_OPTIONS: Final = {
    "replay": ("--block-size", "32"),
    "gate": ("--num-gpu-blocks-override", "281", "--block-size", "32"),
}
"""Blocks as small as a CPU allows, as large as the trace's; 280 of them hold 8,960 tokens, while two agents
of the trace grow to 13,000 together."""


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine; cells with equal ones share it.

    Attributes:
        profile: its settings.
        options: further words for ``vllm serve``; later ones override.
        runtime: whose engine.
    """

    profile: Profile
    options: tuple[str, ...] = ()
    runtime: Runtime = "vllm"


@dataclass(frozen=True, slots=True)
class RandomLoad:
    """Prompts of random tokens, sent as fast as the concurrency allows."""

    prompt_tokens: int
    answer_tokens: int
    spread: float
    prompts: int
    concurrency: int

    def argv(self, seed: int) -> list[str]:
        """As ``vllm bench serve`` takes it."""
        return [
            "--dataset-name", "random",
            "--random-input-len", str(self.prompt_tokens),
            "--random-output-len", str(self.answer_tokens),
            "--random-range-ratio", f"{self.spread:g}",
            "--num-prompts", str(self.prompts),
            "--max-concurrency", str(self.concurrency),
            "--seed", str(seed),
        ]  # fmt: skip

    @property
    def most_tokens(self) -> int:
        """That all its streams can hold at once."""
        most = (self.prompt_tokens + self.answer_tokens) * (1 + self.spread)
        return int(most + 1) * min(self.concurrency, self.prompts)


@dataclass(frozen=True, slots=True)
class ReplayLoad:
    """A trace's agents, each waiting for its answers."""

    requests: int
    block_tokens: int


Load: TypeAlias = RandomLoad | ReplayLoad


@dataclass(frozen=True, slots=True)
class Cell:
    """One thing that is measured, some times.

    Attributes:
        factors: what tells it from the others, by name.
        engine: that serves it.
        load: that is put on it.
        gate: the mode of the gate before the engine; None for no gate.
        seed: of the prompts, to which the repeat is added.
    """

    factors: Mapping[str, Factor] = field(hash=False)
    engine: EngineSpec
    load: Load
    gate: GateMode | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        """For people: its factors."""
        return ", ".join(f"{name} {value}" for name, value in self.factors.items())


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    Attributes:
        benchmark: its name.
        profile: the node.
        scale: how large.
        smoke: nothing of it may be quoted.
        options: words for every engine.
        trace_requests: lines of the trace; 0 where none is replayed.
        trace_tokens: its longest sequence.
    """

    benchmark: Benchmark
    profile: Profile
    scale: Scale = Scale()
    smoke: bool = False
    options: tuple[str, ...] = ()
    trace_requests: int = 0
    trace_tokens: int = 0

    @property
    def speculation(self) -> Speculation:
        """What cells with speculation use."""
        return self.profile.speculation or DEFAULT_SPECULATION


def cells(plan: Plan) -> list[Cell]:
    """The cells of a benchmark, those that share an engine one after the other.

    Raises:
        ServingUsageError: the profile's longest sequence is too short for one.
    """
    made = {"decode": _decode, "runtimes": _runtimes, "replay": _replay, "gate": _gate}[plan.benchmark]
    return list(made(plan))


def with_kv(profile: Profile, kv: str) -> Profile:
    """A profile with its KV cache in 16 bits, or in FP8 as it has it or as E4M3."""
    if kv == "16bit":
        return replace(profile, kv_cache_dtype="auto", kv_cache_dtype_skip_layers=())
    if profile.kv_cache_dtype.startswith("fp8"):
        return profile
    return replace(profile, kv_cache_dtype="fp8_e4m3")


def _decode(plan: Plan) -> Iterator[Cell]:
    scale = plan.scale
    needed = max(scale.depths_tokens) + scale.output_tokens + plan.speculation.tokens + _SLACK_TOKENS
    profile = _long_enough(plan, needed)
    for kv in ("16bit", "fp8"):
        for speculation in ("off", "on"):
            used = replace(
                with_kv(profile, kv), speculation=plan.speculation if speculation == "on" else None
            )
            engine = EngineSpec(used, plan.options)
            for depth in scale.depths_tokens:
                load = RandomLoad(depth, scale.output_tokens, 0.0, scale.concurrency, scale.concurrency)
                # Random prompts of one seed begin alike whatever their length.
                yield Cell({"depth": depth, "kv": kv, "speculation": speculation}, engine, load, seed=depth)


def _runtimes(plan: Plan) -> Iterator[Cell]:
    scale = plan.scale
    most = int((scale.prompt_tokens + scale.answer_tokens) * 1.5)
    profile = _long_enough(plan, most + plan.speculation.tokens + _SLACK_TOKENS)
    load = RandomLoad(scale.prompt_tokens, scale.answer_tokens, 0.5, scale.prompts, scale.concurrency)
    plain = replace(profile, speculation=None)
    whole = replace(plain, max_num_batched_tokens=max(profile.max_model_len, profile.max_num_batched_tokens))
    fp8 = with_kv(plain, "fp8")
    unchunked = (_UNCHUNKED, *plan.options)
    yield Cell({"runtime": "contiguous"}, EngineSpec(plain, runtime="contiguous"), load)
    yield Cell({"runtime": "paged 16-bit"}, EngineSpec(with_kv(whole, "16bit"), unchunked), load)
    yield Cell({"runtime": "paged FP8"}, EngineSpec(with_kv(whole, "fp8"), unchunked), load)
    yield Cell({"runtime": "chunked FP8"}, EngineSpec(fp8, plan.options), load)
    every = replace(fp8, speculation=plan.speculation)
    yield Cell(
        {"runtime": "chunked FP8, speculation, leases"}, EngineSpec(every, plan.options), load, gate="on"
    )


def _replay(plan: Plan) -> Iterator[Cell]:
    engine = EngineSpec(_long_enough(plan, plan.trace_tokens + _SLACK_TOKENS), plan.options)
    yield Cell({"agents": "replay"}, engine, ReplayLoad(plan.trace_requests, plan.scale.block_tokens))


def _gate(plan: Plan) -> Iterator[Cell]:
    engine = EngineSpec(_long_enough(plan, plan.trace_tokens + _SLACK_TOKENS), plan.options)
    load = ReplayLoad(plan.trace_requests, plan.scale.block_tokens)
    for mode in GATE_MODES:
        yield Cell({"gate": mode}, engine, load, gate=mode)


def _long_enough(plan: Plan, needed_tokens: int) -> Profile:
    """The profile, at smoke scale with sequences as long as needed."""
    profile = plan.profile
    if plan.smoke:
        return replace(profile, max_model_len=needed_tokens)
    if needed_tokens > profile.max_model_len:
        raise ServingUsageError(
            f"{plan.benchmark} needs sequences of {needed_tokens:,} tokens, profile {profile.name!r} allows"
            f" {profile.max_model_len:,}; give --max-model-len, or a smaller scale."
        )
    return profile


def groups(made: Sequence[Cell]) -> list[tuple[EngineSpec, list[Cell]]]:
    """Cells by their engines, in order."""
    found: list[tuple[EngineSpec, list[Cell]]] = []
    for cell in made:
        if not found or found[-1][0] != cell.engine:
            found.append((cell.engine, []))
        found[-1][1].append(cell)
    return found
