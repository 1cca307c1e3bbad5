"""vLLM's metrics page, read into values."""

from __future__ import annotations

import pytest

from serving.telemetry import parse

PAGE = """# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",engine="0",\
kv_cache_size_tokens="479984",num_gpu_blocks="30000"} 1.0
vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="False",engine="1",\
num_gpu_blocks="None"} 1.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 5.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 2.0
vllm:spec_decode_num_drafts_total{engine="0"} 100.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 150.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01"} 900.0
vllm:inter_token_latency_seconds_sum{engine="0"} 12.5
vllm:inter_token_latency_seconds_count{engine="0"} 500.0
vllm:something_new_total{engine="0"} 1.0
process_start_time_seconds 1.7e9
"""


def test_a_page_is_read_by_engine() -> None:
    scrape = parse(PAGE)
    assert scrape.started_seconds == 1.7e9
    first, second = scrape.engines["0"], scrape.engines["1"]
    assert (first.blocks, first.block_tokens, first.kv_tokens) == (29_999, 16, 479_984)
    assert (first.cache_dtype, first.prefix_caching) == ("fp8", True)
    assert (first.running, second.running) == (3, 1)
    assert first.finished == 7
    assert first.tokens_per_step == 2.5
    assert (first.step_seconds, first.steps) == (12.5, 500)
    assert (second.blocks, second.prefix_caching, second.tokens_per_step) == (0, False, 1.0)


def test_a_page_without_vllms_names_has_no_engine() -> None:
    assert parse("# nothing\npython_info 1.0\n").engines == {}


def test_a_malformed_line_of_a_known_name_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"."):
        parse('vllm:num_requests_running{engine="0" 3.0\n')
