"""Small float64 tensors from values, on the reference device, which compiles nothing."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def leaf(*values: float) -> Any:
    """Return a Var of one dim."""
    return mg.Var(list(values), dtype="float64", device="reference")


def row(*values: float) -> Any:
    """Return a tensor of one dim that requires no gradient."""
    return mg.tensor(list(values), dtype="float64", device="reference")
