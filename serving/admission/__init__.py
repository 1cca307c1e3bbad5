"""KV-cache leases: who may run now, decided without a clock, a thread or a socket."""

from __future__ import annotations

from serving.admission.controller import CapRule, SessionCap, Window, recompute_share
from serving.admission.history import History, Sample
from serving.admission.ledger import Ledger
from serving.admission.model import (
    Admitted,
    Ask,
    Counters,
    Outcome,
    Policy,
    Pool,
    Reason,
    Refused,
    Reserve,
    State,
)
from serving.admission.velocity import StepFit, StepTime

__all__ = [
    "Admitted",
    "Ask",
    "CapRule",
    "Counters",
    "History",
    "Ledger",
    "Outcome",
    "Policy",
    "Pool",
    "Reason",
    "Refused",
    "Reserve",
    "Sample",
    "SessionCap",
    "State",
    "StepFit",
    "StepTime",
    "Window",
    "recompute_share",
]
