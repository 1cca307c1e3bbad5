"""A contiguous static KV cache, as transformers has it: ``python contiguous.py JOB``, by vLLM's interpreter.

The baseline that paged caches are compared with: every sequence of a batch gets memory for the longest that
may come, and a batch runs until its last sequence is done before the next begins. JOB is a file with
``{"argv": [...], "result": PATH, "model": DIR, "positions": N}``: prompts are those that ``vllm bench serve``
would send for the same arguments, the outcome has the fields that it would write.

Runs where vLLM is installed; nothing else of the project imports this module, and it imports nothing of it.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, StaticCache
from transformers.generation.streamers import BaseStreamer
from vllm.benchmarks import serve
from vllm.benchmarks.datasets import get_samples
from vllm.utils.argparse_utils import FlexibleArgumentParser


class Clock(BaseStreamer):
    """Notes when each step of a batch wrote its tokens."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._prompt = True

    def put(self, value: Any) -> None:
        """Called once with the prompts, then once a step."""
        if self._prompt:
            self._prompt = False
            return
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """Called once after the last step."""


@dataclass
class Outcome:
    """What ``vllm bench serve`` tells of every request, in its order."""

    input_lens: list[int] = field(default_factory=list)
    output_lens: list[int] = field(default_factory=list)
    ttfts: list[float] = field(default_factory=list)
    itls: list[list[float]] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    start_times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def add(self, prompt_tokens: int, output_tokens: int, started: float, times: list[float]) -> None:
        """Note one request of a batch whose steps wrote at these times."""
        own = times[:output_tokens]
        self.input_lens.append(prompt_tokens)
        self.output_lens.append(len(own))
        self.ttfts.append(own[0] - started)
        self.itls.append([after - before for before, after in pairwise(own)])
        self.latencies.append(own[-1] - started)
        self.start_times.append(started)
        self.errors.append("")


def main() -> None:
    """Run the job and write what came out."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    parser = FlexibleArgumentParser()
    serve.add_cli_args(parser)
    args = parser.parse_args(job["argv"])
    if args.input_len is not None or args.dataset_name == "random":
        args.ignore_eos = True
    tokenizer = AutoTokenizer.from_pretrained(job["model"])
    prompts = [
        (tokenizer(sample.prompt).input_ids, sample.expected_output_len)
        for sample in get_samples(args, tokenizer)
    ]
    model = _model(job["model"])
    outcome = Outcome()
    began = time.perf_counter()
    for first in range(0, len(prompts), args.max_concurrency):
        _batch(model, prompts[first : first + args.max_concurrency], job["positions"], outcome)
        tell({"answered": len(outcome.ttfts)})
    seconds = time.perf_counter() - began
    told = {
        **vars(outcome),
        "duration": seconds,
        "completed": len(prompts),
        "failed": 0,
        "total_input_tokens": sum(outcome.input_lens),
        "total_output_tokens": sum(outcome.output_lens),
        "output_throughput": sum(outcome.output_lens) / seconds,
        "reserved_tokens": job["positions"] * min(args.max_concurrency, len(prompts)),
    }
    Path(job["result"]).write_text(json.dumps(told), encoding="utf-8")
    tell({"done": job["result"]})


def _model(path: str) -> Any:
    placed = {}
    if torch.cuda.is_available():
        placed["device_map"] = "auto" if find_spec("accelerate") else "cuda"
    model = AutoModelForCausalLM.from_pretrained(path, dtype="auto", **placed)
    return model.eval()


def _batch(model: Any, prompts: list[tuple[list[int], int]], positions: int, outcome: Outcome) -> None:
    """One batch, filled up on the left to its longest prompt, written to its longest answer."""
    longest, wanted = max(len(ids) for ids, _ in prompts), max(tokens for _, tokens in prompts)
    if longest + wanted > positions:
        raise SystemExit(f"a sequence of {longest + wanted} tokens exceeds the cache's {positions}")
    ids = torch.tensor([[0] * (longest - len(ids)) + ids for ids, _ in prompts], device=model.device)
    mask = torch.tensor(
        [[0] * (longest - len(ids)) + [1] * len(ids) for ids, _ in prompts], device=model.device
    )
    cache = StaticCache(config=model.config, max_cache_len=positions)
    config = GenerationConfig(
        max_new_tokens=wanted, min_new_tokens=wanted, do_sample=False, pad_token_id=0, eos_token_id=None,
        disable_compile=not torch.cuda.is_available(),
    )  # fmt: skip
    clock = Clock()
    started = time.perf_counter()
    with torch.inference_mode():
        model.generate(
            ids, attention_mask=mask, past_key_values=cache, generation_config=config, streamer=clock
        )
    for prompt, tokens in prompts:
        outcome.add(len(prompt), tokens, started, clock.times)


def tell(value: dict[str, Any]) -> None:
    """Say something to who started this."""
    sys.stdout.write(f"@@{json.dumps(value)}\n")  # noqa: TID251  a program of its own
    sys.stdout.flush()  # noqa: TID251


if __name__ == "__main__":
    main()
