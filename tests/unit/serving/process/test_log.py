"""Phases, facts and causes, read from logs that vLLM 0.32 on the CPU wrote; those of GPUs by its source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.process.log import LogReader, cause_of_exit

DATA = Path(__file__).with_name("data")


def read(name: str) -> LogReader:
    reader = LogReader()
    for line in (DATA / f"{name}.txt").read_text("utf-8").splitlines():
        reader.feed(line)
    return reader


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        (
            "port",
            "port_in_use",
            "the engine's port is in use; end what listens there, or give another with --port",
        ),
        (
            "bad-flag",
            "unknown_flag",
            "this vLLM does not know --no-such-flag; install the version that the profile names, or take"
            " it out",
        ),
        (
            "bad-value",
            "unknown_flag",
            "this vLLM refuses --kv-cache-dtype: invalid choice: 'fp9'; correct the profile",
        ),
        (
            "missing",
            "missing_weights",
            "there is no model folder /models/no-such-folder; name an existing one with --model",
        ),
        (
            "missing-hub",
            "missing_weights",
            "the checkpoint is neither on this disk nor can the hub be reached; download it, or name a folder"
            " with --model",
        ),
        (
            "no-weights",
            "missing_weights",
            "/models/noweights holds no weights; copy the whole checkpoint there",
        ),
        (
            "too-long-config",
            "context_too_long",
            "max_model_len 100000 is more than the model was made for; 8192 would fit: lower max_model_len",
        ),
        (
            "too-long-kv",
            "context_too_long",
            "max_model_len 100000 needs 0.02 GiB of KV cache and 0.0 GiB are there; 896 would fit:"
            " lower max_model_len, or plan again",
        ),
        (
            "oom",
            "out_of_memory",
            "a KV cache of 900.0 GiB does not fit the 21.72 GiB of memory that are free; lower"
            " cpu_kv_cache_gib",
        ),
    ],
)
def test_the_cause_of_a_captured_failure(name: str, kind: str, message: str) -> None:
    cause = cause_of_exit(1, read(name), was_ready=False)
    assert (cause.kind, cause.message) == (kind, message)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            "(Worker_TP0 pid=7) ERROR 11-30 21:35:20 [multiproc_executor.py:953] torch.OutOfMemoryError:"
            " CUDA out"
            " of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB",
            "out_of_memory",
        ),
        (
            "ValueError: Free memory on device cuda:0 (12.31/79.11 GiB) on startup is less than desired"
            " GPU memory"
            " utilization (0.92, 72.78 GiB). Decrease GPU memory utilization or reduce GPU memory used by"
            " other"
            " processes.",
            "out_of_memory",
        ),
        (
            "(EngineCore pid=9) ERROR 11-30 21:34:22 [core.py:1510] ValueError: No available memory for"
            " the cache"
            " blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
            "out_of_memory",
        ),
        ("importlib.metadata.PackageNotFoundError: No package metadata was found for vllm", "wrong_version"),
    ],
)
def test_causes_that_a_cpu_cannot_give(line: str, kind: str) -> None:
    reader = LogReader()
    reader.feed(line)
    assert reader.cause is not None
    assert reader.cause.kind == kind
    assert "\n" not in reader.cause.message


def test_a_good_start_has_phases_in_order_and_no_cause() -> None:
    reader = LogReader()
    phases: list[str] = []
    for line in (DATA / "served.txt").read_text("utf-8").splitlines():
        if reader.feed(line):
            phases.append(reader.phase)
    assert phases == [
        "importing",
        "starting the engine",
        "loading weights",
        *["loading weights"] * phases[3:].count("loading weights"),
        "profiling",
        "warming up",
        "opening its port",
        "ready",
    ]
    assert reader.cause is None
    assert reader.kv_tokens == 8_388_608
    assert reader.concurrency == 1024.0


def test_steps_tell_how_a_prompt_was_cut() -> None:
    """1,300 tokens in steps of 512, then 20 beside the prefix that was cached."""
    reader = read("served")
    assert (reader.steps, reader.prefill_steps, reader.largest_prefill_tokens) == (10, 4, 512)
    assert reader.mixed_steps == 0


def test_a_step_with_decoding_beside_is_mixed() -> None:
    reader = read("served")
    reader.feed(
        "(APIServer pid=1) INFO 11-30 21:39:47 [loggers.py:199] Engine 000: Iteration(9): 1 context"
        " requests, 508"
        " context tokens, 4 generation requests, 4 generation tokens, iteration elapsed time: 20.88 ms"
    )
    assert reader.mixed_steps == 1


@pytest.mark.parametrize(
    ("status", "was_ready", "kind", "lasting"),
    [(137, True, "killed", False), (139, False, "killed", False), (3, True, "failed", False)],
)
def test_an_end_that_the_log_does_not_explain(status: int, was_ready: bool, kind: str, lasting: bool) -> None:
    cause = cause_of_exit(status, LogReader(), was_ready=was_ready)
    assert (cause.kind, cause.lasting) == (kind, lasting)


def test_the_last_error_is_told_where_none_is_known() -> None:
    reader = LogReader()
    reader.feed(
        "(EngineCore pid=9) ERROR 11-30 21:34:22 [core.py:1510] RuntimeError: the moon is full. Wait."
    )
    reader.feed("RuntimeError: Engine core initialization failed. See root cause above.")
    cause = cause_of_exit(1, reader, was_ready=False)
    assert cause.message == "RuntimeError: the moon is full; the log tells more"


@given(st.lists(st.text(max_size=200), max_size=50))
def test_no_text_breaks_it(lines: list[str]) -> None:
    reader = LogReader()
    for line in lines:
        reader.feed(line)
    assert reader.cause is None or "\n" not in reader.cause.message
