"""Forecasts: what an agent's run will need of the KV cache, and how well that is known beforehand. Pure."""
