"""A number that says where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Basis(StrEnum):
    """How a number was come by."""

    COMPUTED = "computed"
    """Arithmetic over the model's configuration and the GPU's data sheet."""

    MEASURED = "measured"
    """Read from a run, whose source is told."""

    ASSUMED = "assumed"
    """Neither: a choice or a typical value that can be replaced by a measured one."""


@dataclass(frozen=True)
class Figure:
    """One number with its unit and its origin.

    Attributes:
        name: what it is, in snake case, stable in JSON.
        value: the number; None where it is not defined, and then ``formula`` says why.
        unit: as ``B``, ``tokens``, ``tok/s``, ``s``, ``agents``.
        basis: how it was come by. Arithmetic over an assumption is computed, and names the assumption.
        formula: how it follows from other figures.
        source: where the formula or the number is from; empty where it is arithmetic alone.
    """

    name: str
    value: float | None
    unit: str
    basis: Basis
    formula: str = ""
    source: str = ""
