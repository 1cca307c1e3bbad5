"""Two bounds in closed form, for tokens instead of agents; what the gate's velocity limit is made of."""

from __future__ import annotations

from typing import NamedTuple


class Rates(NamedTuple):
    """What the velocity law needs.

    Attributes:
        bandwidth_bytes_per_second: of the whole group, at its peak.
        efficiency: the share of it that is reached.
        weight_bytes: read by each step.
        kv_bytes_per_token: read by each step for every token in context.
        tokens_per_step: of one stream; more than 1 under speculation.
    """

    bandwidth_bytes_per_second: float
    efficiency: float
    weight_bytes: float
    kv_bytes_per_token: float
    tokens_per_step: float = 1.0


def tokens_above(rates: Rates, floor_tokens_per_second: float) -> float:
    """The most tokens in all running contexts together at which each stream keeps the floor; 0 if none.

    (efficiency x bandwidth x tokens_per_step / floor - weight_bytes) / kv_bytes_per_token.
    """
    budget = rates.efficiency * rates.bandwidth_bytes_per_second * rates.tokens_per_step
    return max(0.0, (budget / floor_tokens_per_second - rates.weight_bytes) / rates.kv_bytes_per_token)


def full_pool_steps_per_second(bandwidth_bytes_per_second: float, usable_bytes: float) -> float:
    """Steps per second of a dense model whose pool is full, at most: each step reads all that is in use."""
    return bandwidth_bytes_per_second / usable_bytes
