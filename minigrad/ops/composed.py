"""Functions that are composed of other ops, from which their derivatives of every order follow."""

from __future__ import annotations

from minigrad.core.roles import Scalar
from minigrad.declare.decorators import composed
from minigrad.runtime.tensor import Tensor


@composed(out=False)
def affine(input: Tensor, mul: Scalar, add: Scalar) -> Tensor:
    """Return input * mul + add."""
    return input * mul + add
