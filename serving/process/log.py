"""What vLLM's log says while it starts and serves: phases, facts, and the one cause of a failure. Pure.

Source: logs of vLLM 0.32.0 and 0.33.0; wording of other releases may be missed, and is then only not told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_PREFIX: Final = re.compile(
    r"^(?:\x1b\[[\d;]*m)*(?:\((?P<process>\w+(?:[-_]?\w+)*) pid=\d+\)(?:\x1b\[[\d;]*m)* )?"
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?)?"
)
_KEPT_CHARS: Final = 2000


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the engine did not start or go on.

    Attributes:
        kind: a stable name: ``out_of_memory``, ``context_too_long``, ``missing_weights``, ``port_in_use``,
            ``unknown_flag``, ``wrong_version``, ``hung``, ``killed`` or ``failed``.
        message: what happened and what to do next, one line.
        lasting: starting again changes nothing.
    """

    kind: str
    message: str
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class _Sign:
    """A line that tells a cause; groups of the pattern fill the message."""

    kind: str
    pattern: re.Pattern[str]
    message: str
    lasting: bool = True


def _sign(kind: str, pattern: str, message: str, *, lasting: bool = True) -> _Sign:
    return _Sign(kind, re.compile(pattern), message, lasting)


_SIGNS: Final = (
    _sign(
        "context_too_long",
        r"max seq len \((?P<asked>\d+)\).*?\(?(?P<needed>[\d.]+) GiB KV cache is needed.*?"
        r"memory \((?P<there>[\d.]+) GiB\)(?:.*?model length is (?P<fits>\d+))?",
        "max_model_len {asked} needs {needed} GiB of KV cache and {there} GiB are there{fitting}:"
        " lower max_model_len, or plan again",
    ),
    _sign(
        "context_too_long",
        r"max_model_len \((?P<asked>[\d.]+)\) is greater than the derived max_model_len"
        r" \(\w+=(?P<fits>[\d.]+)",
        "max_model_len {asked} is more than the model was made for{fitting}: lower max_model_len",
    ),
    _sign(
        "out_of_memory",
        r"No available memory for the cache blocks",
        "the weights leave no memory for the KV cache; raise gpu_memory_utilization (cpu_kv_cache_gib without"
        " a GPU), or take more GPUs",
    ),
    _sign(
        "out_of_memory",
        r"Free memory on device \S* ?\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\).*?less than",
        "another program holds the GPU: {free} of {total} GiB are free, less than gpu_memory_utilization"
        " takes; end it (nvidia-smi), or lower the share",
        lasting=False,
    ),
    _sign(
        "out_of_memory",
        r"OutOfMemoryError: (?P<what>CUDA out of memory\.[^.]*)",
        "out of GPU memory: {what}; lower gpu_memory_utilization or max_num_seqs, or take more GPUs",
    ),
    _sign(
        "out_of_memory",
        r"Available memory on node \d+ \((?P<free>[\d.]+)/[\d.]+ GiB\).*?less than requested memory for \w+"
        r" \((?P<asked>[\d.]+) GiB\)",
        "a KV cache of {asked} GiB does not fit the {free} GiB of memory that are free;"
        " lower cpu_kv_cache_gib",
    ),
    _sign(
        "out_of_memory",
        r"(?:MemoryError\b|DefaultCPUAllocator: can't allocate memory|std::bad_alloc|Cannot allocate memory)",
        "out of main memory; lower cpu_kv_cache_gib, or free some",
    ),
    _sign(
        "missing_weights",
        r"Cannot find any model weights with [`'](?P<where>[^`']+)",
        "{where} holds no weights; copy the whole checkpoint there",
    ),
    _sign(
        "missing_weights",
        r"Repo id must be in the form .*?: '(?P<where>[^']+)'",
        "there is no model folder {where}; name an existing one with --model",
    ),
    _sign(
        "missing_weights",
        r"(?:LocalEntryNotFoundError|Cannot find an appropriate cached snapshot|OfflineModeIsEnabled"
        r"|RepositoryNotFoundError|couldn't connect to 'https://huggingface\.co')",
        "the checkpoint is neither on this disk nor can the hub be reached; download it, or name a folder"
        " with --model",
        lasting=False,
    ),
    _sign(
        "missing_weights",
        r"(?:GatedRepoError|401 Client Error|403 Client Error)",
        "the hub does not give this checkpoint out: accept its licence there and set HF_TOKEN",
    ),
    _sign(
        "port_in_use",
        r"\[Errno 98\] .*Address already in use",
        "the engine's port is in use; end what listens there, or give another with --port",
        lasting=False,
    ),
    _sign(
        "unknown_flag",
        r"error: unrecognized arguments: (?P<what>.+)",
        "this vLLM does not know {what}; install the version that the profile names, or take it out",
    ),
    _sign(
        "unknown_flag",
        r"error: argument (?P<what>\S+?): (?P<why>invalid [^(]+|expected [^(]+)",
        "this vLLM refuses {what}: {why}; correct the profile",
    ),
    _sign(
        "wrong_version",
        r"PackageNotFoundError: No package metadata was found for (?P<what>\S+)",
        "vLLM is not installed whole: it finds no metadata of {what}; install it anew",
    ),
)
_ERROR: Final = re.compile(
    r"^\s*(?P<error>(?:[A-Za-z_][\w]*\.)*[A-Z]\w*(?:Error|Exception))\s*:\s*(?P<text>\S.*)$"
)
_ECHO: Final = re.compile(r"See root cause above|Engine core initialization failed|WorkerProc initialization")

_PHASES: Final = (
    ("importing", re.compile(r"non-default args:|Resolved architecture")),
    ("starting the engine", re.compile(r"Initializing a V1 LLM engine")),
    ("loading weights", re.compile(r"Starting to load model|Loading safetensors checkpoint shards")),
    ("profiling", re.compile(r"Loading weights took|Model loading took")),
    ("compiling", re.compile(r"Dynamo bytecode transform|Compiling a graph|Capturing CUDA graph")),
    ("warming up", re.compile(r"KV cache size: [\d,]+ tokens")),
    ("opening its port", re.compile(r"init engine \(profile|Starting vLLM server on")),
    ("ready", re.compile(r"Application startup complete")),
)
_SHARDS: Final = re.compile(r"Loading safetensors checkpoint shards:\s+(\d+)% ")
_POOL: Final = re.compile(r"KV cache size: ([\d,]+) tokens")
_CONCURRENCY: Final = re.compile(r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")
_STEP: Final = re.compile(
    r"Iteration\(\d+\): (\d+) context requests, (\d+) context tokens, (\d+) generation requests, (\d+) gen"
)
_SCALES: Final = re.compile(
    r"(?:scal(?:e|ing factor)s?\b.*(?:1\.0|not (?:provide|calibrated))|[Uu]ncalibrated).*", re.IGNORECASE
)


@dataclass(slots=True)
class LogReader:
    """Reads an engine's log line by line; bounded memory.

    Attributes:
        phase: the last one reached.
        percent: of the weights, while they load.
        kv_tokens: tokens that the KV cache holds, as the engine says; None before.
        concurrency: sequences of the longest length that fit at once, as the engine says.
        steps: scheduler steps that were told of, with ``--enable-logging-iteration-details``.
        prefill_steps: of those, with prompt tokens in them.
        mixed_steps: of those, with decoding beside.
        largest_prefill_tokens: prompt tokens of one step at most.
        scales: what the engine warned of scales.
    """

    phase: str = "starting"
    percent: int | None = None
    kv_tokens: int | None = None
    concurrency: float | None = None
    steps: int = 0
    prefill_steps: int = 0
    mixed_steps: int = 0
    largest_prefill_tokens: int = 0
    scales: str | None = None
    _cause: Cause | None = None
    _error: str | None = None
    _reached: int = field(default=-1, repr=False)

    def feed(self, line: str) -> bool:
        """Take a line; True where the phase or its progress changed."""
        match = _PREFIX.match(line)
        text = line[match.end() if match else 0 :].rstrip()[:_KEPT_CHARS]
        if self._reached < len(_PHASES) - 1:
            changed = self._read_phase(text)
            self._read_facts(text)
        else:
            changed = False
            self._read_step(text)
        self._read_cause(text)
        return changed

    @property
    def cause(self) -> Cause | None:
        """Why it fails, as far as the log tells; the first specific cause counts, else the last error."""
        if self._cause is not None or self._error is None:
            return self._cause
        return Cause("failed", f"{self._error}; the log tells more", lasting=False)

    def _read_phase(self, text: str) -> bool:
        for index in range(len(_PHASES) - 1, self._reached, -1):
            name, pattern = _PHASES[index]
            if pattern.search(text):
                self._reached, self.phase, self.percent = index, name, None
                break
        else:
            index = -1
        shards = _SHARDS.search(text)
        if shards and self.phase == "loading weights" and self.percent != int(shards[1]):
            self.percent = int(shards[1])
            return True
        return index >= 0

    def _read_facts(self, text: str) -> None:
        if pool := _POOL.search(text):
            self.kv_tokens = int(pool[1].replace(",", ""))
        if concurrency := _CONCURRENCY.search(text):
            self.concurrency = float(concurrency[1])
        if self.scales is None and (scales := _SCALES.search(text)) and "args" not in text:
            self.scales = scales[0][:200]

    def _read_step(self, text: str) -> None:
        step = _STEP.search(text)
        if step is None:
            return
        self.steps += 1
        prompt_tokens, decoding = int(step[2]), int(step[3])
        if prompt_tokens:
            self.prefill_steps += 1
            self.mixed_steps += decoding > 0
            self.largest_prefill_tokens = max(self.largest_prefill_tokens, prompt_tokens)

    def _read_cause(self, text: str) -> None:
        if self._cause is None and ("rror" in text or "emory" in text or "KV cache is needed" in text):
            self._cause = _cause_in(text)
        error = _ERROR.match(text)
        if error and not _ECHO.search(text):
            name = error["error"].rpartition(".")[2]
            self._error = f"{name}: {_first_sentence(error['text'])}"


def _cause_in(text: str) -> Cause | None:
    for sign in _SIGNS:
        found = sign.pattern.search(text)
        if found:
            parts = {name: (value or "").strip().rstrip(".") for name, value in found.groupdict().items()}
            fits = parts.get("fits", "")
            parts["fitting"] = f"; {fits.removesuffix('.0')} would fit" if fits else ""
            return Cause(sign.kind, sign.message.format(**parts), sign.lasting)
    return None


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0].rstrip(".")[:300]


def cause_of_exit(status: int, log: LogReader, *, was_ready: bool) -> Cause:
    """Why an engine ended that nobody told to.

    Args:
        status: its exit status; 128 and a signal where one ended it.
        log: what it said.
        was_ready: it had served.
    """
    told = log.cause
    if status == 128 + 9:
        return Cause(
            "killed",
            "something killed the engine (signal 9), as the kernel does when memory is short; look at dmesg,"
            " and lower cpu_kv_cache_gib or give the machine more memory",
            lasting=False,
        )
    if told is not None:
        return told if not was_ready else Cause(told.kind, told.message, lasting=False)
    if status > 128:
        return Cause("killed", f"signal {status - 128} ended the engine; the log tells more", lasting=False)
    when = "while it served" if was_ready else f"in phase '{log.phase}'"
    return Cause("failed", f"the engine ended {when} with status {status}; the log tells more", lasting=False)
