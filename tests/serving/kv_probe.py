"""Load models in one process, one after the other, and print what their KV caches take; run by vLLM's Python.

    python kv_probe.py '[{"model": FOLDER, "kv_cache_dtype": "auto", ...}, ...]'

Each object holds the arguments of ``vllm.LLM``. Prints one JSON list: for each, the blocks of the pool, the
tokens of a block, the bytes of all of them, and the tokens that vLLM itself logs as the pool's size.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

from vllm import LLM


def probe(arguments: dict[str, Any]) -> dict[str, Any]:
    """What one model's pool is."""
    llm = LLM(
        **{
            "dtype": "bfloat16",
            "enforce_eager": True,
            "max_num_seqs": 4,
            "max_num_batched_tokens": 256,
            "max_model_len": 2048,
            "enable_prefix_caching": False,
            **arguments,
        }
    )
    engine = llm.llm_engine.engine_core.engine_core
    config = engine.scheduler.kv_cache_config
    cache = llm.llm_engine.vllm_config.cache_config
    told = {
        "blocks": config.num_blocks,
        "block_tokens": [group.kv_cache_spec.block_size for group in config.kv_cache_groups],
        "bytes": sum(tensor.size for tensor in config.kv_cache_tensors),
        "tokens": cache.kv_cache_size_tokens,
    }
    del llm, engine
    gc.collect()
    return told


if __name__ == "__main__":
    results = [probe(arguments) for arguments in json.loads(sys.argv[1])]
    sys.stdout.write("\nPROBED " + json.dumps(results) + "\n")
