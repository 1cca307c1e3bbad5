"""Provider dialects, and the histories that agents send in them."""

from __future__ import annotations
