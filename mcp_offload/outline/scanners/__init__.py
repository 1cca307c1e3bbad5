"""Scanners of languages that have no grammar here: each turns a view into symbols in linear time.

A scanner never raises, whatever the bytes, and gives at most ``MAX_SYMBOLS`` symbols; where there are
more, the deepest levels are left out first. ``overloaded``, ``ordinal`` and ``text_key`` are left for
the outline to fill.
"""

from __future__ import annotations
