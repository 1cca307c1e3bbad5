"""Run by vLLM's own interpreter: greedy outputs of several engines, one after the other, as one JSON line.

Standard input holds a JSON object: ``engines``, a list of arguments of ``vllm.LLM``, and ``prompts``.
"""

from __future__ import annotations

import gc
import json
import sys

from vllm import LLM, SamplingParams

OUTPUT_TOKENS = 48


def answers(arguments: dict[str, object], prompts: list[str]) -> dict[str, object]:
    llm = LLM(**arguments, disable_log_stats=False)
    outputs = llm.generate(prompts, SamplingParams(temperature=0, max_tokens=OUTPUT_TOKENS), use_tqdm=False)
    counters = {metric.name: metric.value for metric in llm.get_metrics() if hasattr(metric, "value")}
    told = {
        "tokens": [list(output.outputs[0].token_ids) for output in outputs],
        "drafted": counters.get("vllm:spec_decode_num_draft_tokens", 0),
        "accepted": counters.get("vllm:spec_decode_num_accepted_tokens", 0),
    }
    del llm
    gc.collect()
    return told


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    told = [answers(engine, asked["prompts"]) for engine in asked["engines"]]
    sys.stdout.write("\nANSWERS " + json.dumps(told) + "\n")
