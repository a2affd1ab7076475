"""Small tensors by their values, in float64 on the device that compiles nothing."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def leaf(*values: float) -> Any:
    """A Var of one dim."""
    return mg.Var(list(values), dtype="float64", device="reference")


def row(*values: float) -> Any:
    """A tensor of one dim that requires no gradient."""
    return mg.tensor(list(values), dtype="float64", device="reference")
