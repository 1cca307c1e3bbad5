"""Measurements as tables and as charts; pure: values in, text or the bytes of a picture out."""

from __future__ import annotations

from serving.report.chart import Axis, Chart, Panel, Series
from serving.report.drawing import FORMATS, draw
from serving.report.table import Table, number

__all__ = ["FORMATS", "Axis", "Chart", "Panel", "Series", "Table", "draw", "number"]
