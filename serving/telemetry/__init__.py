"""Metrics: what engines and the gate say, read and computed without a clock or a socket."""

from __future__ import annotations

from serving.telemetry.engine import EngineSample, Scrape, parse, total
from serving.telemetry.node import Node
from serving.telemetry.reading import Reading
from serving.telemetry.report import Observed, readings
from serving.telemetry.requests import ServedRequest, parse_records

__all__ = [
    "EngineSample",
    "Node",
    "Observed",
    "Reading",
    "Scrape",
    "ServedRequest",
    "parse",
    "parse_records",
    "readings",
    "total",
]
