"""Benchmarks: the field's load generators and vLLM's own scheduler, with our workloads and reading."""

from __future__ import annotations
