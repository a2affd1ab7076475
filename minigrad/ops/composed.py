"""Functions made of other ops: no separate kernel and no separate derivative, so every order of derivative is there."""

from __future__ import annotations

from minigrad.core.roles import Scalar
from minigrad.declare.decorators import composed
from minigrad.runtime.tensor import Tensor


@composed(out=False)
def affine(input: Tensor, mul: Scalar, add: Scalar) -> Tensor:
    """Return input * mul + add."""
    return input * mul + add
