"""Metrics: what engines and the gate say, read and computed without a clock or a socket."""

from __future__ import annotations

from serving.telemetry.engine import EngineSample, Scrape, parse

__all__ = ["EngineSample", "Scrape", "parse"]
