"""The two conventions for gradients of complex tensors, and the conversion between them.

A user provides and receives the gradients of PyTorch, dL/dRe + i*dL/dIm, the direction in which a real loss L grows
fastest.  Inside a backward pass, a gradient is the factor u of dL = Re(u*dx), its conjugate.  With u, the rule of a
holomorphic op multiplies by its derivative, and that of a linear op is its transpose.  So the rules of real ops are
valid for complex operands, and the JVP of an elementwise op is its rule, applied to the tangent.

The modules where a gradient passes between a user and a backward pass import this module; the rules do not.
docs/decisions/102 lists these borders.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minigrad.ops.pointwise.complexes import conj_physical
from minigrad.runtime.tensor import Tensor


def conjugated(g: Tensor) -> Tensor:
    """Return a gradient in the other convention: the conjugate if it is complex, otherwise the gradient itself."""
    return conj_physical(g) if g.dtype.is_complex else g


def all_conjugated(gradients: Iterable[Tensor | None]) -> list[Tensor | None]:
    """Return gradients in the other convention; None stays None."""
    return [g if g is None else conjugated(g) for g in gradients]


def for_users(pairs: list[tuple[Any, Tensor]]) -> list[tuple[Any, Tensor]]:
    """Return the gradients of a backward pass, each with its target, as a user receives them."""
    return [(x, conjugated(g)) for x, g in pairs] if any(g.dtype.is_complex for _, g in pairs) else pairs
