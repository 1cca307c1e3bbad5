"""Have vLLM's own parser read command lines; run by vLLM's Python, lines as JSON on standard input."""

from __future__ import annotations

import json
import sys

from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

parser = make_arg_parser(FlexibleArgumentParser())
accepted = [vars(parser.parse_args(line[3:])) for line in json.load(sys.stdin)]
kept = ("max_model_len", "kv_cache_dtype", "max_num_batched_tokens", "speculative_config", "port")
sys.stdout.write(json.dumps([{name: entry[name] for name in kept} for entry in accepted]) + "\n")
