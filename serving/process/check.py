"""Asks a running node whether it runs what its profile says, each point with its evidence."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from serving.errors import EngineError
from serving.process.preflight import same_release
from serving.profile.model import Profile
from serving.telemetry import EngineSample, parse

Verdict = Literal["passed", "failed", "not measurable"]

BLOCKS_TOLERANCE: Final = 0.10
"""How far a pool may be from the plan's: what the engine keeps beside weights and pool is an assumption."""

_LOG_LAG_SECONDS: Final = 0.1
_LOG_LAG_STEPS: Final = 50

_COMPLETION: Final = "/v1/completions"
_TOKEN_IDS: Final = (1000, 9000)
"""Ordinary tokens of any vocabulary in use: the first hundreds are often special."""

_DTYPES_16BIT: Final = frozenset({"auto", "bfloat16", "float16"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One point.

    Attributes:
        name: as ``kv_cache_dtype``; stable.
        verdict: passed, failed, or not measurable.
        evidence: what was seen, and where it is not as it should be, what to do.
    """

    name: str
    verdict: Verdict
    evidence: str


class Client(Protocol):
    """Asks a node over HTTP."""

    def get(self, path: str) -> bytes:
        """The body of an answer with status 200; raises EngineError otherwise."""
        ...

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A JSON answer with status 200; raises EngineError otherwise."""
        ...


@dataclass(frozen=True, slots=True)
class Expected:
    """What a plan says of the pool.

    Attributes:
        tokens: that one pool holds; None where the model's shape is not known here.
        basis: how that was computed, for the evidence.
        exact: the pool's bytes are given rather than left over.
    """

    tokens: float | None
    basis: str
    exact: bool = False


class Check:
    """One round of questions.

    Args:
        client: asks the node.
        profile: what it should run.
        expected: what the plan says of its pool.
        has_kv_scales: whether the checkpoint carries scales for an FP8 cache; None where it is not here.
        salt: makes this round's prompts unlike those of any other.
    """

    def __init__(
        self,
        client: Client,
        profile: Profile,
        expected: Expected,
        *,
        has_kv_scales: bool | None,
        salt: int,
    ) -> None:
        self._client = client
        self._profile = profile
        self._expected = expected
        self._has_kv_scales = has_kv_scales
        self._salt = itertools.count(salt)
        self._model = ""

    def run(self) -> Iterator[Finding]:
        """Every point in turn; each takes up to a prompt.

        Raises:
            EngineError: the node cannot be asked at all.
        """
        self._model = self._serves()
        before = self._sample()
        gate_before = self._gate_status()
        yield self._version()
        yield self._kv_cache_dtype(before)
        yield self._scales()
        yield self._blocks(before)
        yield self._prefix_caching(before)
        yield self._chunked_prefill()
        yield self._speculation()
        yield self._counting(gate_before)

    # --- what is asked ----------------------------------------------------------------------------

    def _serves(self) -> str:
        models = parse_json(self._client.get("/v1/models"))
        return str(models["data"][0]["id"])

    def _sample(self) -> EngineSample:
        """All ranks as one: pools are those of the smallest."""
        engines = list(parse(self._client.get("/metrics").decode("utf-8", "replace")).engines.values())
        if not engines or not engines[0].blocks:
            raise EngineError("The node's metrics name no KV cache; is this an engine, or a gate before one?")
        return min(engines, key=lambda engine: engine.blocks)

    def _gate_status(self) -> Mapping[str, Any]:
        """What the gate tells, and what `up` adds of its engine; empty where this is no gate."""
        try:
            return parse_json(self._client.get("/gate/status"))
        except EngineError:
            return {}

    def _complete(self, prompt: list[int], output_tokens: int) -> Mapping[str, Any]:
        body = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": output_tokens,
            "temperature": 0,
            "ignore_eos": True,
        }
        return self._client.post(_COMPLETION, body)["usage"]

    def _prompt(self, tokens: int) -> list[int]:
        """A prompt that nobody sent before; the first token that differs is in its first block."""
        first, last = _TOKEN_IDS
        span = last - first
        start = next(self._salt)
        return [first + start % span, *(first + (start // span + 7 * i) % span for i in range(tokens - 1))]

    # --- the points ---------------------------------------------------------------------------------

    def _version(self) -> Finding:
        version = str(parse_json(self._client.get("/version")).get("version", ""))
        wanted = self._profile.engine_version
        if same_release(version, wanted):
            return Finding("version", "passed", f"vLLM {version}")
        return Finding("version", "failed", f"vLLM {version}; the profile is for {wanted}")

    def _kv_cache_dtype(self, sample: EngineSample) -> Finding:
        wanted, found = self._profile.kv_cache_dtype, sample.cache_dtype
        told = f"the engine's metrics say cache_dtype {found or 'nothing'}"
        aliases = {"fp8": "fp8_e4m3"}
        if found and aliases.get(found, found) == aliases.get(wanted, wanted):
            return Finding("kv_cache_dtype", "passed", told)
        if wanted in _DTYPES_16BIT and found in _DTYPES_16BIT:
            return Finding("kv_cache_dtype", "passed", told)
        return Finding("kv_cache_dtype", "failed", f"{told}; the profile wants {wanted}")

    def _scales(self) -> Finding:
        if self._profile.kv_cache_dtype in _DTYPES_16BIT:
            return Finding("kv_scales", "passed", "16 bits need none")
        if self._has_kv_scales is None:
            return Finding(
                "kv_scales", "not measurable", "the checkpoint's configuration is not on this disk"
            )
        if self._has_kv_scales:
            return Finding(
                "kv_scales", "passed", "the checkpoint's configuration states scales for the KV cache"
            )
        why = "the checkpoint carries none, so the engine takes 1.0: compare its output with 16 bits"
        return Finding("kv_scales", "passed", why)

    def _blocks(self, sample: EngineSample) -> Finding:
        found = sample.kv_tokens or sample.blocks * sample.block_tokens
        told = f"{sample.blocks:,} usable blocks of {sample.block_tokens}, {found:,} tokens"
        if self._expected.tokens is None:
            return Finding("blocks", "not measurable", f"{told}; {self._expected.basis}")
        off = found / self._expected.tokens - 1
        told += f"; planned {self._expected.tokens:,.0f} ({self._expected.basis}), {off:+.1%}"
        tolerance = 0.02 if self._expected.exact else BLOCKS_TOLERANCE
        if off < -tolerance or (self._expected.exact and off > tolerance):
            return Finding("blocks", "failed", f"{told}; plan again with what is really free")
        return Finding("blocks", "passed", told)

    def _prefix_caching(self, sample: EngineSample) -> Finding:
        prompt = self._prompt(3 * sample.block_tokens + 1)
        before = self._sample().prefix_hits
        self._complete(prompt, 1)
        cached = _cached_tokens(self._complete(prompt, 1))
        hits = self._sample().prefix_hits - before
        told = (
            f"a prompt of {len(prompt):,} tokens, twice: prefix_cache_hits rose by {hits:,.0f}, the second"
            f" usage counts {'no' if cached is None else cached} cached tokens"
        )
        works = max(hits, cached or 0) >= 2 * sample.block_tokens
        if works == self._profile.prefix_caching:
            return Finding("prefix_caching", "passed", told)
        return Finding("prefix_caching", "failed", told)

    def _chunked_prefill(self) -> Finding:
        name, budget = "chunked_prefill", self._profile.max_num_batched_tokens
        before: Mapping[str, Any] | None = self._gate_status().get("process")
        if before is None or not before.get("iteration_details"):
            why = "vLLM's metrics count a prompt whole however it was cut; start by `up --iteration-details`"
            return Finding(name, "not measurable", why)
        tokens = min(2 * budget + budget // 2, self._profile.max_model_len - 1)
        if tokens <= budget:
            why = f"no prompt of up to {self._profile.max_model_len:,} tokens exceeds a step's {budget:,}"
            return Finding(name, "not measurable", why)
        self._complete(self._prompt(tokens), 1)
        least = before["prefill_steps"] + -(-tokens // budget)
        after = self._process_after(least)
        steps, largest = after["prefill_steps"] - before["prefill_steps"], after["largest_prefill_tokens"]
        told = (
            f"a prompt of {tokens:,} tokens took {steps} steps with prompt tokens, none with more than"
            f" {largest:,}; a step may take {budget:,}"
        )
        passed = after["prefill_steps"] >= least and largest <= budget
        return Finding(name, "passed" if passed else "failed", told)

    def _process_after(self, prefill_steps: int) -> Mapping[str, Any]:
        """What `up` knows once it has read so many steps in the log, which lags behind the answers."""
        pause = threading.Event()
        told: Mapping[str, Any] = self._gate_status()["process"]
        for _ in range(_LOG_LAG_STEPS):
            if told["prefill_steps"] >= prefill_steps:
                break
            pause.wait(_LOG_LAG_SECONDS)
            told = self._gate_status()["process"]
        return told

    def _speculation(self) -> Finding:
        wanted = self._profile.speculation
        before = self._sample()
        self._complete(self._prompt(32), 64)
        after = self._sample()
        drafted = after.draft_tokens - before.draft_tokens
        accepted = after.accepted_tokens - before.accepted_tokens
        told = f"64 tokens written: {drafted:,.0f} drafted, {accepted:,.0f} accepted"
        if wanted is None:
            return Finding("speculation", "failed" if drafted else "passed", f"{told}; the profile has none")
        if drafted == 0 and wanted.method in {"ngram", "suffix"}:
            why = f"{told}; {wanted.method} drafts only what was said before"
            return Finding("speculation", "not measurable", why)
        if accepted:
            return Finding("speculation", "passed", f"{told} ({accepted / drafted:.0%})")
        return Finding("speculation", "failed", f"{told}; a draft that is never accepted only costs")

    def _counting(self, before: Mapping[str, Any]) -> Finding:
        if "outcomes" in before:
            outcomes: Mapping[str, int] = self._gate_status()["outcomes"]
            uncounted = outcomes.get("bypassed", 0) - before["outcomes"].get("bypassed", 0)
            told = f"{uncounted} of the requests above passed the gate uncounted"
            hint = "" if not uncounted else "; start the engine with --enable-scale-out"
            return Finding("counting", "failed" if uncounted else "passed", told + hint)
        body = {"model": self._model, "messages": [{"role": "user", "content": "Count me."}]}
        try:
            self._client.post("/v1/chat/completions/render", body)
        except EngineError as error:
            why = f"it does not render prompts for a gate; start it with --enable-scale-out ({error})"
            return Finding("counting", "failed", why)
        return Finding("counting", "passed", "the engine renders prompts for a gate")


def _cached_tokens(usage: Mapping[str, Any]) -> int | None:
    details: Mapping[str, Any] = usage.get("prompt_tokens_details") or {}
    return details.get("cached_tokens")


def parse_json(body: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises:
        EngineError: it is none.
    """
    try:
        told: object = json.loads(body)
    except ValueError as error:
        raise EngineError(f"The node answered no JSON: {body[:80]!r}.") from error
    if not isinstance(told, dict):
        raise EngineError(f"The node answered no JSON object: {body[:80]!r}.")
    return told  # pyright: ignore[reportUnknownVariableType]
